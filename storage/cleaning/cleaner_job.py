"""A job of compaction and its result: plain values, sent between processes as JSON.

Owns nothing. Never: refers to an open log. The files of a job do not change while it runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from protocol.record_scan import RECORD_BYTES_MAX
from storage.log.cleaned_group import CleanedGroup

SourceSegment = tuple[int, int]
"""Base offset, size in bytes."""
LastRecord = tuple[int, int, int]
"""Producer id, offset of its last record (-1: it has none), producer epoch."""


class CleaningFailed(Exception):
    """Damage in a log's files, because of which it cannot be cleaned. A retry does not help."""


@dataclass(frozen=True, slots=True)
class CleanJob:
    """One round of compaction of one log."""

    directory: str
    segments: tuple[SourceSegment, ...]
    """The segments below `first_uncleanable_offset`, from the log's first on."""
    later_segments: tuple[int, ...]
    """Base offsets of all other segments.

    Transactions of the segments to clean may have their markers there.
    """
    first_dirty_offset: int
    first_uncleanable_offset: int
    """The offset before which the round ends: the base offset of a segment."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    index_bytes_max: int
    index_interval_bytes: int
    dedupe_bytes: int
    load_factor: float
    io_buffer_bytes: int
    io_bytes_per_second: float
    producers: tuple[LastRecord, ...] = ()
    record_bytes_max: int = RECORD_BYTES_MAX
    """The size of a record in a compressed batch above which the round fails."""


@dataclass(frozen=True, slots=True)
class CleanResult:
    """The result of a round. Bytes are those of `.log` files."""

    end_offset: int
    """The offset up to which, exclusively, the log is clean."""
    groups: tuple[CleanedGroup, ...]
    bytes_read: int
    bytes_written: int
    records_read: int
    records_kept: int
    keyless_dropped: int
    keys: int


def encode_job(job: CleanJob) -> str:
    """Return the job as one line of JSON."""
    return json.dumps(asdict(job))


def decode_job(text: str) -> CleanJob:
    """Return the job that `encode_job` wrote."""
    fields = json.loads(text)
    for name in ("segments", "producers"):
        fields[name] = tuple(tuple(pair) for pair in fields[name])
    fields["later_segments"] = tuple(fields["later_segments"])
    return CleanJob(**fields)


def encode_result(result: CleanResult) -> str:
    """Return the result as one line of JSON."""
    return json.dumps(asdict(result))


def decode_result(text: str) -> CleanResult:
    """Return the result that `encode_result` wrote.

    Raises ValueError, TypeError or KeyError for any other text.
    """
    fields = json.loads(text)
    for group in fields["groups"]:
        group |= {name: tuple(group[name]) for name in ("sources", "files")}
    fields["groups"] = tuple(CleanedGroup(**group) for group in fields["groups"])
    return CleanResult(**fields)

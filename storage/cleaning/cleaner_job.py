"""What a log hands to compaction, and what comes back: plain values, as text between processes.

Owns nothing. Never: refers to an open log; a job speaks of files that do not change while it runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from storage.log.cleaned_group import CleanedGroup

SourceSegment = tuple[int, int]
"""Base offset, bytes."""
LastRecord = tuple[int, int, int]
"""Producer id, offset of its last record or -1, producer epoch."""


class CleaningFailed(Exception):
    """The log cannot be cleaned: its files contradict themselves. Trying again does not help."""


@dataclass(frozen=True, slots=True)
class CleanJob:
    """One round of compaction of one log."""

    directory: str
    segments: tuple[SourceSegment, ...]
    """From the log's first on, below `first_uncleanable_offset`."""
    later_segments: tuple[int, ...]
    """Base offsets of all others: markers of transactions that began before may lie there."""
    first_dirty_offset: int
    first_uncleanable_offset: int
    """A border of segments."""
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


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What one round did. Bytes are those of `.log` files."""

    end_offset: int
    """Up to here the log is clean."""
    groups: tuple[CleanedGroup, ...]
    bytes_read: int
    bytes_written: int
    records_read: int
    records_kept: int
    keyless_dropped: int
    keys: int


def encode_job(job: CleanJob) -> str:
    """A line of text."""
    return json.dumps(asdict(job))


def decode_job(text: str) -> CleanJob:
    """What `encode_job` wrote."""
    fields = json.loads(text)
    for name in ("segments", "producers"):
        fields[name] = tuple(tuple(one) for one in fields[name])
    fields["later_segments"] = tuple(fields["later_segments"])
    return CleanJob(**fields)


def encode_result(result: CleanResult) -> str:
    """A line of text."""
    return json.dumps(asdict(result))


def decode_result(text: str) -> CleanResult:
    """What `encode_result` wrote. ValueError, TypeError or KeyError for anything else."""
    fields = json.loads(text)
    for group in fields["groups"]:
        group |= {name: tuple(group[name]) for name in ("sources", "files")}
    fields["groups"] = tuple(CleanedGroup(**group) for group in fields["groups"])
    return CleanResult(**fields)

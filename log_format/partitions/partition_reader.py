"""Parts of partitions, and the records that a consumer is given of one.

Owns what a consumer sees: no control records; with read_committed none of aborted transactions and
none from where a transaction is open (KIP-98). A part is what one task of Spark reads: small, and
sure of nothing but its files. Every batch is checked anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from log_format.files import Files
from log_format.partitions.partition_log import PartitionLog, Range
from log_format.partitions.transactions import AbortedBatches
from log_format.records.arrow_batches import ArrowDecoder
from log_format.records.segment_pieces import Crc, pieces
from log_format.transaction_index import AbortedTxn


@dataclass(frozen=True, slots=True)
class Part:
    """Records of one partition with offsets from `start` to before `end`, in `ranges`."""

    topic: str
    partition: int
    ranges: tuple[Range, ...]
    start: int
    end: int
    aborted: tuple[AbortedTxn, ...] = ()
    """Those whose records are hidden."""


def parts_of(
    log: PartitionLog, start: int, end: int, *, committed: bool, step_bytes: int
) -> Iterator[Part]:
    """A log from `start` to before `end`, cut where batches begin into some `step_bytes` each.

    `end` is the last stable offset at most, where only what is committed is wanted.
    """
    start, end = max(start, log.log_start), min(end, log.stable_end if committed else log.end)
    if start >= end:
        return
    aborted = [
        one
        for one in (log.aborted if committed else ())
        if one.last_offset >= start and one.first_offset < end
    ]
    for ranges in log.ranges(start, end, step_bytes):
        least = min(one.least for one in ranges)
        mine = tuple(one for one in aborted if one.last_offset >= least)
        yield Part(log.topic, log.partition, tuple(ranges), start, end, mine)


def read_part(files: Files, part: Part, crc: Crc | None) -> Iterator[pa.RecordBatch]:
    """The records, in the order of their offsets. Raises LogError."""
    decoder = ArrowDecoder(part.topic, part.partition)
    hidden = AbortedBatches(list(part.aborted))
    for one in part.ranges:
        with files.opened(one.path) as file:
            for piece in pieces(one.path, file.read, one.start, one.end, crc, one.least):
                yield from decoder.batches(hidden.visible(piece), part.start, part.end)

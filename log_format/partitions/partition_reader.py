"""The parts of partitions, and the records of a part that a consumer would get.

Owns the records that a consumer sees: no control records; with read_committed none of aborted
transactions and none from the first open transaction on (KIP-98). One Spark task reads one part,
which is small and depends on nothing but its files. Never relies on earlier checks: every batch is
checked again.
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
class PartitionSlice:
    """The records of one partition with offsets from `start` to before `end`, in `ranges`."""

    topic: str
    partition: int
    ranges: tuple[Range, ...]
    start: int
    end: int
    aborted: tuple[AbortedTxn, ...] = ()
    """The aborted transactions whose records are hidden."""


def parts_of(
    log: PartitionLog, start: int, end: int, *, committed: bool, step_bytes: int
) -> Iterator[PartitionSlice]:
    """Yield the parts of a log from `start`, or the log's start if later, to before `end`, each of
    about `step_bytes`.

    With `committed`, they end at the last stable offset at the latest.
    """
    start, end = max(start, log.log_start), min(end, log.stable_end if committed else log.end)
    if start >= end:
        return
    aborted = [
        transaction
        for transaction in (log.aborted if committed else ())
        if transaction.last_offset >= start and transaction.first_offset < end
    ]
    for ranges in log.ranges(start, end, step_bytes):
        least = min(segment_range.least for segment_range in ranges)
        hidden = tuple(transaction for transaction in aborted if transaction.last_offset >= least)
        yield PartitionSlice(log.topic, log.partition, tuple(ranges), start, end, hidden)


def read_part(files: Files, part: PartitionSlice, crc: Crc | None) -> Iterator[pa.RecordBatch]:
    """Yield the records of a part as rows of Arrow, in the order of their offsets.

    Control records and the part's aborted transactions are left out. Raises LogError at damage.
    """
    decoder = ArrowDecoder(part.topic, part.partition)
    hidden = AbortedBatches(list(part.aborted))
    for span in part.ranges:
        with files.opened(span.path) as file:
            for piece in pieces(span.path, file.read, span.start, span.end, crc, span.least):
                yield from decoder.batches(hidden.visible(piece), part.start, part.end)

"""From batch to batch through a segment, by their headers alone.

A segment may be a gigabyte. Bodies are passed over by position; where batches are small, one read
brings the headers of many. Who begins at a byte that somebody named is brought to the batch around
it. Owns no state. Damage ends a walk: `CorruptBatch` passes through, zeros at the end do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from log_format.files import Read
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordBatchHeader,
    TruncatedBatch,
    read_header,
)

_SMALL_BATCH_BYTES = 2048
_READ_BYTES = 4096
_READ_MANY_BYTES = 64 * 1024
HEADERS_MAX = 100_000
"""Passed on the way to a position: without an index a walk is not to go on for ever."""


class Batch(NamedTuple):
    """One of a segment, at byte `position` of its file."""

    position: int
    header: RecordBatchHeader

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.position + self.header.size_in_bytes


def walk(read: Read, size: int, start: int) -> Iterator[Batch]:
    """Every batch from `start` on, which begins one, that lies whole before byte `size`.

    A batch that is being written, and room that was not used yet, end it quietly. Raises
    CorruptBatch.
    """
    position, held, data, at_once = start, start, b"", _READ_BYTES
    while position + HEADER_SIZE <= size:
        if position + HEADER_SIZE > held + len(data) or position < held:
            held, data = position, read(min(at_once, size - position), position)
        at = position - held
        if len(data) - at < HEADER_SIZE or not any(data[at : at + HEADER_SIZE]):
            return
        try:
            header = read_header(data, at, size - position)
        except TruncatedBatch:
            return
        yield Batch(position, header)
        position += header.size_in_bytes
        at_once = _READ_MANY_BYTES if header.size_in_bytes < _SMALL_BATCH_BYTES else _READ_BYTES


def batch_around(read: Read, size: int, known: int, position: int) -> Batch | None:
    """The batch that byte `position` lies in, looked for from `known` on, where one begins at or
    before it; None where there is none. Raises CorruptBatch."""
    for passed, batch in enumerate(walk(read, size, known)):
        if position < batch.end:
            return batch if position >= batch.position else None
        if passed >= HEADERS_MAX:
            raise CorruptBatch(f"the index has no entry near byte {position}")
    return None

"""A walk from batch to batch through a segment that reads headers only.

A segment may have a gigabyte, so the walk skips the bodies by position. If batches are small, one
read brings many headers. Damage ends a walk with CorruptBatch, and zeros end it without an error:
they are preallocated space. Owns no state.
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
"""The most batches on the way to a position: without an index, a walk could be very long."""


class Batch(NamedTuple):
    """The header of a batch at byte `position` of a segment's file."""

    position: int
    header: RecordBatchHeader

    @property
    def end(self) -> int:
        """The position of the next batch."""
        return self.position + self.header.size_in_bytes


def walk(read: Read, size: int, start: int) -> Iterator[Batch]:
    """Yield the batches from byte `start`, where a batch begins, to byte `size`.

    An incomplete batch or preallocated space ends the walk without an error. Raises CorruptBatch.
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


def batch_around(read: Read, size: int, start: int, position: int) -> Batch | None:
    """Return the batch that contains byte `position`, None if there is none.

    The search walks from byte `start`, where a batch begins at or before `position`. Raises
    CorruptBatch, also after more than HEADERS_MAX batches.
    """
    for passed, batch in enumerate(walk(read, size, start)):
        if position < batch.end:
            return batch if position >= batch.position else None
        if passed >= HEADERS_MAX:
            raise CorruptBatch(f"the index has no entry near byte {position}")
    return None

"""The decompressed records of a batch. A small batch is decompressed at once, others by threads.

Owns the buffer between `open` and `close`. Never: allocates more than `UNPACKED_LIMIT_BYTES`, or
the size that the compressed bytes *claim*: a buffer that is too small is replaced by a larger one.
"""

from __future__ import annotations

from functools import partial

from ground.sliced_work import Job, Steps
from protocol.compression import DecompressionLimit, unpack_into
from protocol.frames.frame_memory import Allocate, Buffer
from protocol.record_batch import HEADER_SIZE, RecordBatchHeader
from protocol.records import UNPACKED_LIMIT_BYTES

SLICE_BYTES = 256 * 1024
"""The most bytes that the loop decompresses, or compresses, at a time."""
_GUESS_BYTES = 16 * 1024
_GUESS_FACTOR = 4
_GROWTH_FACTOR = 8


class BatchBody:
    """The body of one batch: `open` it, read `view`, and `close` it."""

    def __init__(self, batch: memoryview, header: RecordBatchHeader, allocate: Allocate) -> None:
        self._packed = batch[HEADER_SIZE : header.size_in_bytes]
        self._codec = header.compression
        self._allocate = allocate
        self._buffer: Buffer = None
        self._by_threads = False
        self.view = self._packed

    def open(self) -> Steps[None]:
        """Decompress the records into `view`; records that are not compressed are there already.
        Raises CorruptBatch."""
        if not self._codec:
            return
        room = max(_GUESS_BYTES, min(len(self._packed) * _GUESS_FACTOR, UNPACKED_LIMIT_BYTES))
        size: int | None
        if room <= SLICE_BYTES:
            # Nearly every batch fits into one of these two.
            for short in (room, SLICE_BYTES):
                self._buffer = bytearray(short)
                size = unpack_into(self._codec, self._packed, memoryview(self._buffer))
                if size is not None:
                    self.view = memoryview(self._buffer)[:size]
                    return
        room = max(room, SLICE_BYTES)
        self._by_threads = True
        while True:
            room = min(room * _GROWTH_FACTOR, UNPACKED_LIMIT_BYTES)
            size = yield Job(partial(self._unpack, room), room)
            if size is not None:
                self.view = memoryview(self._buffer)[:size]
                return
            if room == UNPACKED_LIMIT_BYTES:
                raise DecompressionLimit(f"records unpack to over {room} bytes")

    def close(self) -> Steps[None]:
        """Free the buffer. A large one is freed by a thread, because that takes long."""
        self.view = self._packed
        if self._by_threads:
            yield Job(self._drop)
        else:
            self._drop()

    def _unpack(self, room: int) -> int | None:
        """Decompress the body into a new buffer of `room` bytes. Return the size of the body, None
        if it does not fit."""
        buffer = self._allocate(room)
        size = unpack_into(self._codec, self._packed, memoryview(buffer))
        if size is not None:
            self._buffer = buffer
        return size

    def _drop(self) -> None:
        """Drop the buffer, which frees its memory."""
        self._buffer = None

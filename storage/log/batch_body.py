"""The records of a compressed batch, unpacked: at once where that is short, by threads otherwise.

Owns the buffer while somebody looks into it. Never: more than `UNPACKED_LIMIT_BYTES` of it, or
what the packed bytes *say* that they hold: a buffer that proves too small is made again, larger.
"""

from __future__ import annotations

from functools import partial

from ground.sliced_work import Job, Steps
from protocol.compression import DecompressionLimit, unpack_into
from protocol.frames.frame_memory import Allocate, Buffer
from protocol.record_batch import HEADER_SIZE, RecordBatchHeader
from protocol.records import UNPACKED_LIMIT_BYTES

SLICE_BYTES = 256 * 1024
"""The most that is unpacked, or packed, on the loop at a time."""
_GUESS_BYTES = 16 * 1024
_GUESS_FACTOR = 4
_GROWTH_FACTOR = 8


class BatchBody:
    """See the module: `open` it, look at `view`, and `close` it."""

    def __init__(self, batch: memoryview, header: RecordBatchHeader, allocate: Allocate) -> None:
        self._packed = batch[HEADER_SIZE : header.size_in_bytes]
        self._codec = header.compression
        self._allocate = allocate
        self._buffer: Buffer = None
        self._by_threads = False
        self.view = self._packed

    def open(self) -> Steps[None]:
        """Unpack. Raises CorruptBatch."""
        if not self._codec:
            return
        room = max(_GUESS_BYTES, min(len(self._packed) * _GUESS_FACTOR, UNPACKED_LIMIT_BYTES))
        size: int | None
        if room <= SLICE_BYTES:
            # Nearly every batch ends here.
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
        """Let go of what was unpacked; also of a large buffer, which takes its time."""
        self.view = self._packed
        if self._by_threads:
            yield Job(self._drop)
        else:
            self._drop()

    def _unpack(self, room: int) -> int | None:
        buffer = self._allocate(room)
        size = unpack_into(self._codec, self._packed, memoryview(buffer))
        if size is not None:
            self._buffer = buffer
        return size

    def _drop(self) -> None:
        self._buffer = None

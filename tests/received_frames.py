"""Frames from bytes that a test already has, and the memory that a frame reader holds."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.frames.framing import FrameReader


def frames_in(reader: FrameReader, data: bytes) -> Iterator[memoryview]:
    """Yield the frames that `data` completes, for a caller with bytes instead of a socket.

    Copies `data`; each frame is valid until the next one is requested. Consume all of them.
    """
    rest = memoryview(data)
    while rest:
        room = reader.get_buffer()
        nbytes = min(len(room), len(rest))
        room[:nbytes] = rest[:nbytes]
        rest = rest[nbytes:]
        reader.buffer_updated(nbytes)
        while (frame := reader.next_frame()) is not None:
            yield frame


def reserved_bytes(reader: FrameReader) -> int:
    """Return the bytes of memory that the reader's connection holds until `release`."""
    buffers = (reader._own, reader._given_away)
    reserved = sum(len(buffer) for buffer in buffers if buffer is not None)
    if reader._source is not reader._scratch and reader._source.obj is not reader._own:
        reserved += len(reader._source)
    return reserved

"""Frames of bytes that were received elsewhere, and the memory that a reader of frames holds."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.frames.framing import FrameReader


def frames_in(reader: FrameReader, data: bytes) -> Iterator[memoryview]:
    """The frames that `data` completes, for who has bytes and no buffer to fill.

    Copies `data`; each frame is good until the next is asked for. Take all of them.
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
    """Memory that its connection holds, and does not let go before `release`."""
    reserved = sum(len(buffer) for buffer in (reader._own, reader._given) if buffer is not None)
    if reader._source is not reader._scratch and reader._source.obj is not reader._own:
        reserved += len(reader._source)
    return reserved

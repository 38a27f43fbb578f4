"""Frames of bytes that were received elsewhere."""

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

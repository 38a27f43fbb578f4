"""A part of an answer's bytes: what a client has when the connection ends in the middle."""

from __future__ import annotations

from protocol.frames.message_codec import ResponseParts

_SIZE_BYTES = 4


def cut(parts: ResponseParts, share: float) -> bytes:
    """The first bytes of a whole answer: its size at least, and all but one byte at most."""
    pieces = [parts] if isinstance(parts, (bytes, bytearray, memoryview)) else parts
    whole = b"".join(
        one if isinstance(one, (bytes, bytearray, memoryview)) else one.read() for one in pieces
    )
    return whole[: min(max(_SIZE_BYTES, int(len(whole) * share)), len(whole) - 1)]

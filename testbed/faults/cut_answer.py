"""The first part of a response's bytes, as a client has it when the connection ends too early."""

from __future__ import annotations

from protocol.frames.message_codec import ResponseParts

_SIZE_BYTES = 4


def cut(parts: ResponseParts, share: float) -> bytes:
    """Return the first bytes of a whole response, `share` (0 to 1) of them: at least its size
    field, at most all bytes but the last. Parts in files are read."""
    pieces = [parts] if isinstance(parts, (bytes, bytearray, memoryview)) else parts
    whole = b"".join(
        piece if isinstance(piece, (bytes, bytearray, memoryview)) else piece.read()
        for piece in pieces
    )
    return whole[: min(max(_SIZE_BYTES, int(len(whole) * share)), len(whole) - 1)]

"""The control channel's frames: four bytes of length, then JSON.

Both ends use this module. The first frame each way is `HELLO`. Then requests `{"id", "op", "args"}`
go one way, and answers `{"id", "result"}` or `{"id", "error": {"kind", "text"}}` the other. Bytes
are encoded as `{"b64": "…"}`. It never reads or writes a socket.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

VERSION = 1
HELLO = {"version": VERSION}
FRAME_BYTES_MAX = 256 * 1024 * 1024
_SIZE_BYTES = 4

Json = Any
"""A JSON value, which may also contain bytes."""
JsonMessage = dict[str, Any]


class BrokenFrame(Exception):
    """The other end does not speak this protocol, or not this version."""


def encode(message: JsonMessage) -> bytes:
    """Return the frame of a message: its length in four bytes, then JSON, with bytes as base64.
    Raises TypeError for a value that has no JSON form."""
    text = json.dumps(message, default=_as_json, separators=(",", ":")).encode()
    return len(text).to_bytes(_SIZE_BYTES, "big") + text


class JsonFrameReader:
    """A parser that cuts messages out of received bytes, in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[JsonMessage]:
        """Yield the messages that are complete with `data`; store the rest for the next call.
        Raises BrokenFrame if a frame is too long or no JSON object."""
        self._buffer += data
        while len(self._buffer) >= _SIZE_BYTES:
            size = int.from_bytes(self._buffer[:_SIZE_BYTES], "big")
            if size > FRAME_BYTES_MAX:
                raise BrokenFrame(f"a frame of {size} bytes")
            end = _SIZE_BYTES + size
            if len(self._buffer) < end:
                return
            text = bytes(self._buffer[_SIZE_BYTES:end])
            del self._buffer[:end]
            yield _decode(text)


def check_hello(message: JsonMessage) -> None:
    """Raise BrokenFrame unless the other end speaks this version."""
    if message.get("version") != VERSION:
        raise BrokenFrame(
            f"version {message.get('version')} of the control channel, not {VERSION}: "
            "two installations of Ottla are mixed"
        )


def _decode(text: bytes) -> JsonMessage:
    """Return the message of a frame. Raises BrokenFrame if it is no JSON object."""
    try:
        message = json.loads(text, object_hook=_from_json)
    except ValueError as error:
        raise BrokenFrame(f"a frame that is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise BrokenFrame("a frame that is no JSON object")
    return message


def _as_json(value: object) -> dict[str, str]:
    """Return bytes as base64. Raises TypeError for anything else that JSON lacks."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"b64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} cannot go over the control channel")


def _from_json(value: dict[str, Any]) -> object:
    """Return the bytes of an object `{"b64": …}`, and any other object unchanged."""
    if len(value) == 1 and isinstance(value.get("b64"), str):
        return base64.b64decode(value["b64"])
    return value

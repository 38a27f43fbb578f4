"""Responses made of messages alone, for code that reads or changes them before they are encoded.

The broker encodes items of a long response while it makes them (`protocol.frames.encoded_items`);
such items cannot be read or changed.
"""

from __future__ import annotations

from typing import Any

from protocol.frames.encoded_items import EncodedItems
from protocol.message import M, Message
from protocol.primitives import MessageBuffer


def decoded_response(response: M, version: int) -> M:
    """Return a response as a client of that version decodes it, or `response` itself if no part of
    it is encoded yet."""
    if not _is_partly_written(response):
        return response
    out = MessageBuffer()
    message: Any = response
    message.write(out, version)
    read: M = message.read(memoryview(out.joined()), 0, version)[0]
    return read


def _is_partly_written(message: Message) -> bool:
    """Return whether the message holds items that are already encoded, at any depth."""
    for value in (getattr(message, field) for field in message.__slots__):
        if isinstance(value, EncodedItems):
            return True
        holds = isinstance(value, list) and value and isinstance(value[0], Message)
        if holds and any(map(_is_partly_written, value)):
            return True
    return False

"""Answers of messages alone, for who looks into them, or changes them, before they are written.

The broker writes items of a long answer as it makes it (`protocol.frames.encoded_items`).
"""

from __future__ import annotations

from typing import Any

from protocol.frames.encoded_items import EncodedItems
from protocol.message import M, Message
from protocol.primitives import MessageBuffer


def spelled_out(response: M, version: int) -> M:
    """The same answer as a client of that version reads it; `response` itself where none of it is
    written already."""
    if not _is_partly_written(response):
        return response
    out = MessageBuffer()
    message: Any = response
    message.write(out, version)
    read: M = message.read(memoryview(out.joined()), 0, version)[0]
    return read


def _is_partly_written(message: Message) -> bool:
    for value in (getattr(message, field) for field in message.__slots__):
        if isinstance(value, EncodedItems):
            return True
        holds = isinstance(value, list) and value and isinstance(value[0], Message)
        if holds and any(map(_is_partly_written, value)):
            return True
    return False

"""Records as a test writes and reads them.

A key or a value may be given as bytes, text (UTF-8), None, or anything that JSON can say, which is
written as JSON. Reading gives bytes; `Record.json` and `Record.text` read on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json

Content = object
"""Bytes, text, None, or what JSON can say."""
Headers = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class Message:
    """A record that is to be written, where a pair of key and value does not say enough."""

    value: Content = None
    key: Content = None
    headers: Headers = ()
    timestamp: datetime | int | None = None
    """Milliseconds since the epoch, or a time; None: now, by the broker's clock."""
    partition: int | None = None
    """None: by the key, as Java's clients choose it; in turn for those without one."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since the epoch."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def json(self) -> Json:
        """The value, read as JSON; AssertionError where it is none."""
        try:
            return json.loads(self.value or b"")
        except ValueError as error:
            raise AssertionError(f"the value of {self} is no JSON: {error}") from None

    def text(self) -> str:
        """The value, read as UTF-8; AssertionError where it is none."""
        try:
            return (self.value or b"").decode()
        except UnicodeDecodeError as error:
            raise AssertionError(f"the value of {self} is no UTF-8: {error}") from None

    def header(self, name: str) -> bytes | None:
        """The last header of that name; None where there is none, or where it is null."""
        found = [value for key, value in self.headers if key == name]
        return found[-1] if found else None

    def __str__(self) -> str:
        headers = f" headers={dict(self.headers)}" if self.headers else ""
        place = f"{self.topic}-{self.partition}@{self.offset}"
        return f"{place} key={_short(self.key)} value={_short(self.value)}{headers}"


def content(given: Content) -> bytes | None:
    """The bytes of a key or value."""
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    if isinstance(given, str):
        return given.encode()
    try:
        return json.dumps(given).encode()
    except (TypeError, ValueError) as error:
        raise Misuse(f"{given!r} is neither bytes nor text, nor can JSON say it: {error}") from None


def message_of(given: Content) -> Message:
    """What is to be written: a `Message`, a `Record`, a pair (key, value), (key, value, headers),
    or a value alone."""
    if isinstance(given, Message):
        return given
    if isinstance(given, Record):
        return Message(given.value, given.key, given.headers, given.timestamp)
    if isinstance(given, tuple):
        if len(given) not in (2, 3):
            raise Misuse(f"{given!r}: a tuple is (key, value) or (key, value, headers)")
        return Message(given[1], given[0], *given[2:])
    return Message(given)


def to_channel(messages: Iterable[Content]) -> list[dict[str, Json]]:
    """Messages as the control channel takes them."""
    return [_on_channel(message_of(one)) for one in messages]


def from_channel(topic: str, found: Sequence[Mapping[str, Json]]) -> list[Record]:
    """Records as the control channel gives them."""
    return [
        Record(
            topic,
            one["partition"],
            one["offset"],
            one["timestamp"],
            one["key"],
            one["value"],
            headers_from(one["headers"]),
        )
        for one in found
    ]


def headers_from(found: Iterable[Sequence[Json]]) -> tuple[tuple[str, bytes | None], ...]:
    """Headers as the control channel gives them."""
    return tuple((name, value) for name, value in found)


def _on_channel(message: Message) -> dict[str, Json]:
    headers = message.headers
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    timestamp = message.timestamp
    if isinstance(timestamp, datetime):
        timestamp = round(timestamp.timestamp() * 1000)
    return {
        "key": content(message.key),
        "value": content(message.value),
        "headers": [[name, content(value)] for name, value in pairs],
        "timestamp": timestamp,
        "partition": message.partition,
    }


def _short(data: bytes | None) -> str:
    if data is None:
        return "null"
    if len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{data[:_SHOWN_BYTES]!r}… ({len(data)} bytes)"

"""The records that a test writes and reads.

A key or a value may be bytes, text (encoded as UTF-8), None, or a JSON value, which is written as
JSON. Records that are read have bytes; `Record.json` and `Record.text` decode them.

`Record` is the same concept as `protocol.records.Record`, with the place from which it was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json

Content = object
"""Bytes, text, None, or a JSON value."""
Headers = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class Message:
    """A record to write, with more than a key and a value."""

    value: Content = None
    key: Content = None
    headers: Headers = ()
    timestamp: datetime | int | None = None
    """Milliseconds since 1970, or a datetime; None: the broker's current time."""
    partition: int | None = None
    """None: by the key, as Java's clients choose it; without a key, the partitions in turn."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read or written."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def json(self) -> Json:
        """Return the value, parsed as JSON. Raises AssertionError if it is no JSON, or null (a
        tombstone)."""
        try:
            return json.loads(self.value or b"")
        except ValueError as error:
            raise AssertionError(f"the value of {self} is no JSON: {error}") from None

    def text(self) -> str:
        """Return the value, decoded as UTF-8; an empty text for null. Raises AssertionError if it
        is no UTF-8."""
        try:
            return (self.value or b"").decode()
        except UnicodeDecodeError as error:
            raise AssertionError(f"the value of {self} is no UTF-8: {error}") from None

    def header(self, name: str) -> bytes | None:
        """Return the value of the last header of this name; None if there is no such header, or its
        value is null."""
        values = [value for key, value in self.headers if key == name]
        return values[-1] if values else None

    def __str__(self) -> str:
        headers = f" headers={dict(self.headers)}" if self.headers else ""
        place = f"{self.topic}-{self.partition}@{self.offset}"
        return f"{place} key={_shortened(self.key)} value={_shortened(self.value)}{headers}"


def content(value: Content) -> bytes | None:
    """Return the bytes of a key or value: bytes as they are, text as UTF-8, other values as JSON;
    None for None. Raises Misuse if the value has no JSON form."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError) as error:
        raise Misuse(f"{value!r} is neither bytes nor text, nor can JSON say it: {error}") from None


def message_of(content: Content) -> Message:
    """Return a message for a `Message`, a `Record`, a tuple (key, value) or (key, value, headers),
    or a value alone. A Record's partition is left out. Raises Misuse for other tuples."""
    if isinstance(content, Message):
        return content
    if isinstance(content, Record):
        return Message(content.value, content.key, content.headers, content.timestamp)
    if isinstance(content, tuple):
        if len(content) not in (2, 3):
            raise Misuse(f"{content!r}: a tuple is (key, value) or (key, value, headers)")
        return Message(content[1], content[0], *content[2:])
    return Message(content)


def to_channel(messages: Iterable[Content]) -> list[dict[str, Json]]:
    """Return messages, of any form that `message_of` takes, as the control channel takes them: a
    dict each, with key and value as bytes. Raises Misuse."""
    return [_to_channel(message_of(message)) for message in messages]


def from_channel(topic: str, records: Sequence[Mapping[str, Json]]) -> list[Record]:
    """Return the records of a topic that the control channel has returned as dicts."""
    return [
        Record(
            topic,
            record["partition"],
            record["offset"],
            record["timestamp"],
            record["key"],
            record["value"],
            headers_from(record["headers"]),
        )
        for record in records
    ]


def headers_from(headers: Iterable[Sequence[Json]]) -> tuple[tuple[str, bytes | None], ...]:
    """Return headers as pairs of name and value, from the lists of the control channel."""
    return tuple((name, value) for name, value in headers)


def _to_channel(message: Message) -> dict[str, Json]:
    """Return the message as a dict for the control channel: contents as bytes, and the time in ms
    since the epoch (None: the broker's time)."""
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


def _shortened(data: bytes | None) -> str:
    """Return the data as text, with at most its first _SHOWN_BYTES bytes and then its length;
    "null" for None."""
    if data is None:
        return "null"
    if len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{data[:_SHOWN_BYTES]!r}… ({len(data)} bytes)"

"""The records of dead letters, and the batch in which they are written.

Owns the headers of a dead letter (KIP-1191), which name the original record and the reason, and the
limit on the size of a batch. The headers of the original record are not copied. Key and value are
left out if the topic would reject the record because of its size: such a letter still names the
original record. Never reads a log or sends a batch. Follows Kafka's `ShareGroupDLQStateManager`.

A record is written by hand here, because its headers are the same for all offsets of a letter but
for one number; `protocol.records` has the layout.
"""

from __future__ import annotations

from typing import NamedTuple

from protocol.plain_batch import finish_plain_batch
from protocol.record_batch import HEADER_SIZE
from protocol.records import write_varint

REJECTED = "Offset rejected by client."
DELIVERED_TOO_OFTEN = "Offset delivery count exceeded the threshold."

_TOPIC = "__dlq.errors.topic"
_PARTITION = "__dlq.errors.partition"
_OFFSET = "__dlq.errors.offset"
_GROUP = "__dlq.errors.group"
_DELIVERY_COUNT = "__dlq.errors.delivery.count"
_MESSAGE = "__dlq.errors.message"

Content = tuple[bytes | None, bytes | None]
"""The key and the value of an original record."""
NO_CONTENT: Content = (None, None)


class LetterHeaders(NamedTuple):
    """The encoded headers of a letter's records: those before the offset, and those after it."""

    before: bytes
    after: bytes

    def at(self, offset: int) -> bytes:
        """Return the headers of the record about `offset`, with their number first."""
        return self.before + _header(_OFFSET, str(offset)) + self.after


def letter_headers(
    topic: str, partition: int, group_id: str, deliveries: int, message: str
) -> LetterHeaders:
    """Return the headers about records of a partition that a group gave up.

    `deliveries` is the delivery count, `message` is REJECTED or DELIVERED_TOO_OFTEN.
    """
    before = bytearray()
    write_varint(before, 6)
    before += _header(_TOPIC, topic) + _header(_PARTITION, str(partition))
    after = _header(_GROUP, group_id) + _header(_DELIVERY_COUNT, str(deliveries))
    return LetterHeaders(bytes(before), after + _header(_MESSAGE, message))


class LetterBatch:
    """A batch of dead letters that grows up to the limit of its topic."""

    def __init__(self, max_bytes: int) -> None:
        """Begin an empty batch. `max_bytes` is `max.message.bytes` of the topic."""
        self._max_bytes = max_bytes
        self._batch = bytearray(HEADER_SIZE)
        self.count = 0

    @property
    def room(self) -> int:
        """The number of bytes that can be added."""
        return self._max_bytes - len(self._batch)

    @property
    def size(self) -> int:
        """The size of the batch so far, in bytes."""
        return len(self._batch)

    def add(self, content: Content, headers: bytes) -> bool:
        """Add a record, and return True. Return False if the batch has no room for it.

        A record that is too large for any batch is added without key and value. The first record is
        always added, because then only the leader can judge its size.
        """
        record = _record(self.count, content, headers)
        if HEADER_SIZE + len(record) > self._max_bytes and content != NO_CONTENT:
            record = _record(self.count, NO_CONTENT, headers)
        if self.count and len(record) > self.room:
            return False
        self._batch += record
        self.count += 1
        return True

    def finish(self, now_ms: int) -> memoryview:
        """Return the whole batch, whose records have the timestamp `now_ms`."""
        return memoryview(finish_plain_batch(self._batch, self.count, now_ms))


def _record(offset_delta: int, content: Content, headers: bytes) -> bytearray:
    """Return the encoded record with its length first. Its timestamp is the batch's."""
    body = bytearray(b"\0\0")  # attributes, timestamp delta
    write_varint(body, offset_delta)
    for data in content:
        if data is None:
            write_varint(body, -1)
        else:
            write_varint(body, len(data))
            body += data
    body += headers
    record = bytearray()
    write_varint(record, len(body))
    return record + body


def _header(name: str, value: str) -> bytes:
    """Return an encoded header."""
    encoded = bytearray()
    for text in (name, value):
        data = text.encode()
        write_varint(encoded, len(data))
        encoded += data
    return bytes(encoded)

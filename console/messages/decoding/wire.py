"""The schema id that serializers with a schema registry write before the data.

It has a zero byte, the id in four bytes, and with Protobuf the place of the message type. Pure.

Follows the wire format of Confluent's serializers.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from protocol.record_batch import CorruptBatch
from protocol.record_scan import read_varint

_HEAD = Struct(">bI")
HEAD_SIZE = _HEAD.size
_MAGIC = 0
_INDEXES_MAX = 32
_NUMBER = Struct(">q")


class Undecodable(ValueError):
    """Bytes that cannot be decoded by their schema; `str()` is one line."""


class UnknownSchema(Undecodable):
    """An id for which the registry has no schema."""


class Framed(NamedTuple):
    """The id of a schema, and the data behind it."""

    schema_id: int
    payload: bytes


def framed(data: bytes) -> Framed | None:
    """Return the schema id and the data of a value; None if it does not begin with an id."""
    if len(data) <= HEAD_SIZE or data[0] != _MAGIC:
        return None
    _, schema_id = _HEAD.unpack_from(data)
    return Framed(schema_id, data[HEAD_SIZE:])


def number(data: bytes) -> int | None:
    """Return the number that Kafka's LongSerializer wrote; None if there are not 8 bytes."""
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return the place of a message type in its Protobuf file, level by level, and the message.

    Raises Undecodable.
    """
    try:
        count, pos = read_varint(payload, 0)
        if not 0 <= count <= _INDEXES_MAX:
            raise Undecodable("the value names no message of the schema")
        indexes = []
        for _ in range(count):
            index, pos = read_varint(payload, pos)
            indexes.append(index)
    except (IndexError, CorruptBatch):
        raise Undecodable("the value ends before it names a message of the schema") from None
    return tuple(indexes) or (0,), payload[pos:]

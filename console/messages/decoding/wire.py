"""How serializers with a schema registry put its id before what they wrote.

A zero byte, the id in four bytes, and with Protobuf which message of the schema it is. Follows the
wire format of Confluent's serializers. Pure.
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
    """Bytes that the schema does not explain; `str()` is one line."""


class UnknownSchema(Undecodable):
    """The registry answers, and has no schema of this id."""


class Framed(NamedTuple):
    """The id of the schema, and what was written by it."""

    schema_id: int
    payload: bytes


def framed(data: bytes) -> Framed | None:
    """None where it does not begin so."""
    if len(data) <= HEAD_SIZE or data[0] != _MAGIC:
        return None
    _, schema_id = _HEAD.unpack_from(data)
    return Framed(schema_id, data[HEAD_SIZE:])


def number(data: bytes) -> int | None:
    """What Kafka's LongSerializer wrote, None where it is not of 8 bytes."""
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """Which message of a Protobuf file, by its place among those of its level; and the message.
    Raises Undecodable."""
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

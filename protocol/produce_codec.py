"""Produce of one partition, read and written in one go: what nearly every such request is.

A producer that does not wait for large batches sends one partition's batch a request, and then the
generated reading and writing of nested arrays, a call each, costs more than the append. So a frame
(v7 and above) with one topic of one partition, no transactional id and no tagged field is read by
three `struct` calls, and an answer without an error the same way back, in the flexible versions
(v9 and above) by itself. `Layout` and `AnswerTemplate` say where the parts of such a request lie,
and what of its answer is always the same.

Everything else goes to the generated classes, which stay the definition: tests hold both equal.
Never does I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from protocol.malformed_text import REPLACED
from protocol.message_codec import DECODE_ERRORS, ResponseParts, decode, response_parts
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.primitives import ZERO_UUID, read_uvarint

FLEXIBLE_FROM = ProduceRequest.FLEXIBLE_FROM
_ONE_FROM = 7  # what may be sent, and what is answered, depends on the version until then
_TOPIC_IDS_FROM = 13

# A compact array of one element, and the compact lengths of what is null or empty.
_ONE = 2
_NULL = 0
_EMPTY = 1
_SHORT = 0x80  # a compact length below this is one byte

_TO_NAME = Struct(">BhiBB")  # transactional id, acks, timeout, topics, length of the name
_TO_PARTITION = Struct(">Bi")  # partitions, index
_TO_PARTITION_BY_ID = Struct(">BhiB16sBi")  # both, with the topic's id between
_TO_PARTITION_BY_ID_BYTES = _TO_PARTITION_BY_ID.size
_OLD_TO_NAME = Struct(">hhiih")  # the same before v9
_OLD_TO_NAME_BYTES = _OLD_TO_NAME.size
_OLD_TO_RECORDS = Struct(">iii")  # partitions, index, length of the records
_OLD_TO_RECORDS_BYTES = _OLD_TO_RECORDS.size
_TAGS = Struct(">BH")  # of the partition, of the topic and of the request
_NO_TAGS = (0, 0)
_NO_TAGS_AT_END = bytes(3)

_HEAD = Struct(">iiBBB")  # size, correlation id, tags, topics, length of the name
_HEAD_WITH_ID = Struct(">iiBB16s")
_HEAD_BYTES = _HEAD.size - 4  # without the size, as it counts itself
_HEAD_WITH_ID_BYTES = _HEAD_WITH_ID.size - 4
# Partitions, the answer's five numbers, record errors, error message, tags of the partition and of
# the topic, throttle time, tags of the response.
_ANSWER = Struct(">BihqqqBBBBiB")
_ANSWER_BYTES = _ANSWER.size


OnePartition = tuple[int, int, str, bytes, int, memoryview]
"""acks, timeout, the topic's name or id, the partition's index, its records."""


def read_one(buf: memoryview, pos: int, version: int) -> OnePartition | None:
    """The request at `pos`; None where it is another kind, or none."""
    try:
        if version < FLEXIBLE_FROM:
            return _read_old_one(buf, pos) if version >= _ONE_FROM else None
        if version >= _TOPIC_IDS_FROM:
            transactional, acks, timeout_ms, topics, topic_id, partitions, index = (
                _TO_PARTITION_BY_ID.unpack_from(buf, pos)
            )
            name, name_length = "", _EMPTY
            pos += _TO_PARTITION_BY_ID_BYTES
        else:
            transactional, acks, timeout_ms, topics, name_length = _TO_NAME.unpack_from(buf, pos)
            end = pos + 8 + name_length
            partitions, index = _TO_PARTITION.unpack_from(buf, end)
            name = str(buf[pos + 9 : end], "utf-8", REPLACED)
            topic_id = ZERO_UUID
            pos = end + 5
        if (
            topics == _ONE == partitions
            and transactional == _NULL
            and _EMPTY <= name_length < _SHORT
        ):
            length, pos = read_uvarint(buf, pos)
            end = pos + length - 1
            if length and len(buf) == end + 3 and _TAGS.unpack_from(buf, end) == _NO_TAGS:
                return acks, timeout_ms, name, topic_id, index, buf[pos:end]
    except DECODE_ERRORS:
        pass  # too short for it: the generated class has the words
    return None


def _read_old_one(buf: memoryview, pos: int) -> OnePartition | None:
    """The same before v9, when lengths had their fixed sizes."""
    transactional, acks, timeout_ms, topics, name_length = _OLD_TO_NAME.unpack_from(buf, pos)
    pos += _OLD_TO_NAME_BYTES
    if transactional != -1 or topics != 1 or name_length < 0:
        return None
    end = pos + name_length
    partitions, index, length = _OLD_TO_RECORDS.unpack_from(buf, end)
    start = end + _OLD_TO_RECORDS_BYTES
    if partitions != 1 or length < 0 or start + length != len(buf):
        return None
    return acks, timeout_ms, str(buf[pos:end], "utf-8", REPLACED), ZERO_UUID, index, buf[start:]


def read_request(buf: memoryview, pos: int, version: int) -> ProduceRequest:
    """The request at `pos`; ProtocolError where the bytes are none."""
    one = read_one(buf, pos, version)
    if one is None:
        return _read_any(buf, pos, version)
    acks, timeout_ms, name, topic_id, index, records = one
    topic = TopicProduceData(name, topic_id, [PartitionProduceData(index, records)])
    return ProduceRequest(None, acks, timeout_ms, [topic])


def _read_any(buf: memoryview, pos: int, version: int) -> ProduceRequest:
    request: ProduceRequest = decode(ProduceRequest, buf, pos, version)
    return request


def encode(response: ProduceResponse, version: int, correlation_id: int) -> ResponseParts:
    """A whole frame, size first."""
    if version < FLEXIBLE_FROM or len(response.responses) != 1 or response.node_endpoints:
        return response_parts(response, version, correlation_id)
    topic = response.responses[0]
    name = topic.name.encode()
    if len(topic.partition_responses) != 1 or len(name) + 1 >= _SHORT:
        return response_parts(response, version, correlation_id)
    one = topic.partition_responses[0]
    if one.error_code or one.error_message is not None or one.record_errors or one.current_leader:
        return response_parts(response, version, correlation_id)
    return encode_one(
        version,
        correlation_id,
        name,
        topic.topic_id,
        one.index,
        one.base_offset,
        one.log_append_time_ms,
        one.log_start_offset,
        response.throttle_time_ms,
    )


def encode_one(
    version: int,
    correlation_id: int,
    name: bytes,
    topic_id: bytes,
    index: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
    throttle_time_ms: int = 0,
) -> bytes:
    """The frame that says of one partition what was appended, for what `read_one` reads."""
    answer = _ANSWER.pack(
        _ONE, index, 0, base_offset, log_append_time_ms, log_start_offset,
        _EMPTY, _NULL, 0, 0, throttle_time_ms, 0,
    )  # fmt: skip
    if version >= _TOPIC_IDS_FROM:
        size = _HEAD_WITH_ID_BYTES + _ANSWER_BYTES
        return _HEAD_WITH_ID.pack(size, correlation_id, 0, _ONE, topic_id) + answer
    size = _HEAD_BYTES + len(name) + _ANSWER_BYTES
    return _HEAD.pack(size, correlation_id, 0, _ONE, len(name) + 1) + name + answer


class Layout(NamedTuple):
    """Where the parts of a request of `read_one` lie: its frame begins with API key, version and
    correlation id; then `head_bytes` that say all but the records, `length_bytes` of the length of
    those, the records, `tail`."""

    version: int
    head_bytes: int
    length_bytes: int
    tail: bytes


def layout_of(frame: memoryview, version: int, records: memoryview) -> Layout | None:
    """How a request lies in `frame`, whose records are `records`; None where it has none, or so
    many that their length takes more than two bytes."""
    size = len(records)
    if version < FLEXIBLE_FROM:
        return Layout(version, len(frame) - size - 12, 4, b"")
    if not 0 < size <= 16382:
        return None
    width = 1 if size < _SHORT - 1 else 2
    return Layout(version, len(frame) - size - 11 - width, width, _NO_TAGS_AT_END)


AnswerTemplate = tuple[Callable[..., Any], int, bytes, bytes]
"""What is always the same in the answers of one partition without an error: `pack`, `size`,
`before` and `after` of `pack(size, correlation id, before, base offset, log append time, log start
offset, after)`."""


def answer_template(version: int, name: str, topic_id: bytes, index: int) -> AnswerTemplate:
    """For what `read_one` reads."""
    partition = PartitionProduceResponse(index, 0, 0, 0, 0)
    response = ProduceResponse([TopicProduceResponse(name, topic_id, [partition])])
    frame = response_parts(response, version, 0)
    assert isinstance(frame, bytearray)
    after = len(frame) - _AFTER_BYTES[version]
    before, tail = bytes(frame[8 : after - 24]), bytes(frame[after:])
    pack = Struct(f">ii{len(before)}sqqq{len(tail)}s").pack
    return pack, len(frame) - 4, before, tail


# Record errors, error message, throttle time, and tags.
_AFTER_BYTES = {7: 4, 8: 10, 9: 9, 10: 9, 11: 9, 12: 9, 13: 9}

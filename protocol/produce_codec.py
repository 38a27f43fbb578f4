"""Produce of one partition, read and written in one go: what nearly every such request is.

A producer that does not wait for large batches sends one partition's batch a request, and then the
generated reading and writing of nested arrays, a call each, costs more than the append. So a frame
of the flexible versions (v9 and above) with one topic of one partition, no transactional id and no
tagged field is read by three `struct` calls, and an answer without an error the same way back.

Everything else goes to the generated classes, which stay the definition: tests hold both equal.
Never does I/O.
"""

from __future__ import annotations

from struct import Struct

from protocol.message_codec import DECODE_ERRORS, ResponseParts, decode, response_parts
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.primitives import ZERO_UUID, read_uvarint

_FLEXIBLE_FROM = ProduceRequest.FLEXIBLE_FROM
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
_TAGS = Struct(">BH")  # of the partition, of the topic and of the request
_NO_TAGS = (0, 0)

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
    if version < _FLEXIBLE_FROM:
        return None
    try:
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
            name = str(buf[pos + 9 : end], "utf-8")
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
    if version < _FLEXIBLE_FROM or len(response.responses) != 1 or response.node_endpoints:
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

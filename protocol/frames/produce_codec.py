"""The shape (`frame_shape`) of a Produce of one partition, and of its response.

A producer that does not wait for large batches sends one partition's batch in each request: the
same bytes except for the correlation id, the length of the records and the records. Its responses
differ in the correlation id and the offsets. Owns the positions of these holes. Never does I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from protocol.frames.frame_shape import RecordsShape, header_bytes
from protocol.frames.message_codec import encode_response
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.primitives import uvarint
from protocol.record_batch import HEADER_SIZE

_FLEXIBLE_FROM = ProduceRequest.FLEXIBLE_FROM
_NO_TAGS_AT_END = bytes(3)  # of the partition, of the topic and of the request
_LENGTH_BYTES = 4
# The bytes of a response without an error after its offsets: record errors and error message (from
# v8 on), throttle time, and tags. Before them are three int64.
_AFTER_OFFSETS = {7: 4, 8: 10}
_AFTER_OFFSETS_FLEXIBLE = 9
_NO_APPEND_TIME = -1
_OLDEST = 7  # in older versions the version decides which records are allowed


def produce_shape(frame: memoryview, version: int, records: memoryview) -> RecordsShape | None:
    """Return the shape of a request of one partition with these records, whose holes are the
    correlation id, the client id, and the records. Return None if the records are shorter than a
    batch header or not at the request's end."""
    compact = version >= _FLEXIBLE_FROM
    tail = _NO_TAGS_AT_END if compact else b""
    end = len(frame) - len(tail)
    start = end - len(records)
    length = uvarint(len(records) + 1) if compact else len(records).to_bytes(_LENGTH_BYTES)
    head_bytes = start - len(length)
    if (
        len(records) < HEADER_SIZE
        or head_bytes <= 0
        or frame[end:] != tail
        or frame[head_bytes:start] != length
        or frame[start : start + HEADER_SIZE] != records[:HEADER_SIZE]
    ):
        return None
    return RecordsShape(head_bytes, header_bytes(frame), compact, tail)


class ProduceReply:
    """The response frames for one partition whose batch was appended unchanged, to a client that is
    not throttled. They differ only in three numbers."""

    __slots__ = ("_after", "_before", "_pack", "_size")

    def __init__(self, frame: bytes, offset_at: int) -> None:
        """`frame` is the response, with its size, to a Produce of one partition without an error.
        `offset_at` is the position of its base offset; other values in the holes are ignored."""
        self._size = frame[:4]
        self._before = frame[8:offset_at]
        self._after = frame[offset_at + 24 :]
        form = Struct(f">4si{len(self._before)}sqqq{len(self._after)}s")
        self._pack: Callable[..., bytes] = form.pack

    def fill(self, correlation_id: int, base_offset: int, log_start_offset: int) -> bytes:
        """Return the response's frame, with its size, with these values. Its append time is -1."""
        return self._pack(
            self._size,
            correlation_id,
            self._before,
            base_offset,
            _NO_APPEND_TIME,
            log_start_offset,
            self._after,
        )


def produce_reply(version: int, name: str, topic_id: bytes, index: int) -> ProduceReply | None:
    """Return the response to a Produce of one partition without an error, to be filled with
    offsets; None for versions before 7, whose requests have no shape."""
    if version < _OLDEST:
        return None
    partition = PartitionProduceResponse(index, 0, 0, 0, 0)
    response = ProduceResponse([TopicProduceResponse(name, topic_id, [partition])])
    frame = encode_response(response, version, 0).joined()
    after = len(frame) - _AFTER_OFFSETS.get(version, _AFTER_OFFSETS_FLEXIBLE)
    return ProduceReply(frame, after - 24)

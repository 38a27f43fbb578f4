"""Where the holes are in a Produce of one partition, and in its answer.

A producer that does not wait for large batches sends one partition's batch a request: the same
bytes again and again but for the correlation id, the length of the records and the records. Its
answers differ in the correlation id and in what was appended. Never does I/O.
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
# Of an answer without an error, behind the offsets: record errors and error message (from v8 on),
# throttle time, and tags. Three int64 lie before that.
_AFTER_OFFSETS = {7: 4, 8: 10}
_AFTER_OFFSETS_FLEXIBLE = 9
_NO_APPEND_TIME = -1
_OLDEST = 7  # what may be sent depends on the version until then


def produce_shape(frame: memoryview, version: int, records: memoryview) -> RecordsShape | None:
    """The shape of a request of one partition with these records: its holes are the correlation id,
    the client id, and the records. None where it has none or is odd."""
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
    """Answers of one partition whose batch was appended as it came, to a client that no quota
    holds up: the same but for three numbers."""

    __slots__ = ("_after", "_before", "_pack", "_size")

    def __init__(self, frame: bytes, offset_at: int) -> None:
        """`frame` is one of them, its size first; `offset_at`: where its base offset is."""
        self._size = frame[:4]
        self._before = frame[8:offset_at]
        self._after = frame[offset_at + 24 :]
        form = Struct(f">4si{len(self._before)}sqqq{len(self._after)}s")
        self._pack: Callable[..., bytes] = form.pack

    def fill(self, correlation_id: int, base_offset: int, log_start_offset: int) -> bytes:
        """The answer with these values in its holes."""
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
    """The answer of one partition without an error. None in versions that nobody repeats."""
    if version < _OLDEST:
        return None
    partition = PartitionProduceResponse(index, 0, 0, 0, 0)
    response = ProduceResponse([TopicProduceResponse(name, topic_id, [partition])])
    frame = encode_response(response, version, 0).joined()
    after = len(frame) - _AFTER_OFFSETS.get(version, _AFTER_OFFSETS_FLEXIBLE)
    return ProduceReply(frame, after - 24)

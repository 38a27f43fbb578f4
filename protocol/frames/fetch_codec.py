"""The shape (`frame_shape`) of a Fetch of one partition, and of its response.

Records leave by `sendfile`, so a Fetch costs only the bytes around them. A reader of one partition
repeats the same bytes except for the correlation id, the session's epoch and the offset; its
responses differ in a few numbers and the records. Owns the positions of these holes. Never does
I/O.
"""

from __future__ import annotations

from struct import Struct

from protocol.frames.frame_shape import ReplyFrame, Shape, header_bytes
from protocol.frames.message_codec import encode_request, encode_response
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.primitives import RecordSlice, uvarint

TOPIC_IDS_FROM = 13
_OLDEST = 11
_SIZE_BYTES = 4  # not counted by a frame's size
_EPOCH_BYTES = 4

# The end of a response without records: three int64 offsets, aborted transactions, preferred
# replica, length of the records, tags.
_OFFSETS_BEFORE_END_11 = 24 + 12
_OFFSETS_BEFORE_END = 24 + 9
_LENGTH_11 = Struct(">i").pack
_TAIL = bytes(3)  # tags of the partition, of the topic and of the response


def fetch_shape(
    frame: memoryview, version: int, request: FetchRequest, client_id: str | None
) -> Shape | None:
    """Return the shape of a request of one partition, whose holes are the correlation id, the
    client id, the session's epoch and the offset. Return None if the request has more partitions
    or topics, other bytes than Ottla would write, or a version before 11."""
    if version < _OLDEST or len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return None
    correlation_id = int.from_bytes(frame[4:8], signed=True)

    def written() -> bytes:
        """Return the request's frame as Ottla writes it, without its size."""
        return encode_request(request, version, correlation_id, client_id)[_SIZE_BYTES:]

    # Other bytes have a field that this release does not know.
    if written() != frame:
        return None
    (partition,) = request.topics[0].partitions
    # Every byte of a number's complement differs, which shows where the number is.
    request.session_epoch, partition.fetch_offset = ~request.session_epoch, ~partition.fetch_offset
    other = written()
    request.session_epoch, partition.fetch_offset = ~request.session_epoch, ~partition.fetch_offset
    changed = [at for at, byte in enumerate(other) if byte != frame[at]]
    epoch_at, offset_at = changed[0], changed[_EPOCH_BYTES]
    return Shape(len(frame), header_bytes(frame), ((epoch_at, "i"), (offset_at, "q")))


class FetchReplyFrames:
    """The response frames with one partition's records.

    `committed_only`: the reader's isolation level is read_committed, so the response has an empty
    list of aborted transactions; otherwise the list is null.
    """

    __slots__ = ("_by_varint", "_head")

    def __init__(
        self,
        version: int,
        session_id: int,
        name: str,
        topic_id: bytes,
        index: int,
        committed_only: bool,
    ) -> None:
        """Encode an error-free response of one partition, without records, for `parts` to fill."""
        data = PartitionData(index, 0, 0, 0, 0, records=b"")
        data.aborted_transactions = [] if committed_only else None
        topic = FetchableTopicResponse(name, topic_id, [data])
        response = FetchResponse(session_id=session_id, responses=[topic])
        frame = encode_response(response, version, 0).joined()
        self._by_varint = version != _OLDEST
        if self._by_varint:
            offsets, end = len(frame) - _OFFSETS_BEFORE_END, len(frame) - len(_TAIL) - 1
        else:
            offsets, end = len(frame) - _OFFSETS_BEFORE_END_11, len(frame) - 4
        numbers = (offsets, "q"), (offsets + 8, "q"), (offsets + 16, "q")
        throttle = 9 if self._by_varint else 8  # after the header, which has tags if flexible
        self._head = ReplyFrame(frame[:end], ((0, "i"), (4, "i"), (throttle, "i"), *numbers))

    def parts(
        self,
        correlation_id: int,
        high_watermark: int,
        last_stable_offset: int,
        log_start_offset: int,
        records: bytes | RecordSlice,
        throttle_time_ms: int = 0,
    ) -> list[bytes | RecordSlice]:
        """Return a whole frame with these values, in parts; its size comes first."""
        size = len(records) if isinstance(records, bytes) else records.size
        if self._by_varint:
            length = uvarint(size + 1)
            size += len(_TAIL)
        else:
            length = _LENGTH_11(size)
        head = self._head.fill(
            size + len(length) + self._head.size - _SIZE_BYTES, correlation_id, throttle_time_ms,
            high_watermark, last_stable_offset, log_start_offset,
        ) + length  # fmt: skip
        return [head, records, _TAIL] if self._by_varint else [head, records]

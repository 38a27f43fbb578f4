"""A writer and readers of one partition's tail, on raw connections that take little CPU.

A reader keeps one Fetch waiting (`max_wait_ms` 500, as stock consumers do). From an answer it takes
only the next offset, from the batch headers. A writer sends one batch, encoded beforehand, and the
next when that is acknowledged (acks=1).
"""

from __future__ import annotations

import time
from struct import Struct

from bench.wire import FETCH_VERSION, PRODUCE_VERSION, Wire
from protocol.frames.message_codec import encode_request
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch

VALUE_BYTES = 1024
MAX_WAIT_MS = 500
_MARK = 0x0102030405060708  # marks the place of the offset in the frame
_OFFSET = Struct(">q")
_SIZE = Struct(">i")
_BATCH_HEAD = Struct(">qi")  # base offset, length of the rest
_LAST_DELTA_AT = 23
_BEFORE_TOPICS = 4 + 4 + 4 + 2 + 4 + 4  # size, correlation, throttle, error, session, topics
_ABORTED_AT = 4 + 2 + 8 + 8 + 8  # in a partition: index, error, watermark, stable, start


class TailWriter(Wire):
    """A connection that sends the same batch of `values` 1 KiB values again and again."""

    def __init__(self, port: int, topic: str, values: int) -> None:
        super().__init__(port)
        now = int(time.time() * 1000)
        batch = build_batch([Record(-1, now, None, b"v" * VALUE_BYTES)] * values)
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
        request = ProduceRequest(None, 1, 30_000, data)
        self.frame = encode_request(request, PRODUCE_VERSION, 1, "bench")
        self.values = values
        self.batch_bytes = len(batch)
        self.sent_at_s = 0.0

    def send(self) -> None:
        """Send the batch."""
        self.sent_at_s = time.perf_counter()
        self.socket.sendall(self.frame)

    def acknowledged(self) -> float:
        """Read the acknowledgement, and return the round trip in seconds."""
        self.skip_response()
        return time.perf_counter() - self.sent_at_s


class TailReader(Wire):
    """A connection that reads partition 0 of a topic from an offset on."""

    def __init__(self, port: int, topic: str, offset: int, max_bytes: int) -> None:
        super().__init__(port)
        self.offset = offset
        """The next offset that it reads."""
        self._topic_bytes = len(topic.encode())
        wanted = FetchPartition(0, fetch_offset=_MARK, partition_max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            session_epoch=-1,
            topics=[FetchTopic(topic, partitions=[wanted])],
        )
        self._frame = bytearray(encode_request(request, FETCH_VERSION, 1, "bench"))
        self._offset_at = self._frame.index(_OFFSET.pack(_MARK))
        self._room = bytearray(max_bytes + 4096)

    def ask_on(self) -> None:
        """Send a Fetch from the next offset on."""
        _OFFSET.pack_into(self._frame, self._offset_at, self.offset)
        self.socket.sendall(self._frame)

    def take(self) -> int:
        """Read the answer, move behind its last whole batch, and return its bytes of records."""
        self._fill(0, 4)
        size = 4 + _SIZE.unpack_from(self._room)[0]
        if size > len(self._room):
            # A broker sends the first batch whole, whatever its size.
            self._room.extend(bytes(size - len(self._room)))
        self._fill(4, size)
        start, end = records_span(self._room, self._topic_bytes)
        self.offset = next_offset(self._room, start, end, self.offset)
        return end - start

    def _fill(self, start: int, end: int) -> None:
        """Receive until the room is full from `start` to `end`.

        Raises ConnectionError if the broker closes.
        """
        room = memoryview(self._room)
        while start < end:
            got = self.socket.recv_into(room[start:end])
            if not got:
                raise ConnectionError("the broker closed the connection")
            start += got


def records_span(answer: bytes | bytearray, topic_bytes: int) -> tuple[int, int]:
    """Return the start and end of the records in a Fetch answer (v11, one partition).

    Raises RuntimeError if the answer is an error.
    """
    at = _BEFORE_TOPICS + 2 + topic_bytes + 4
    error = int.from_bytes(answer[at + 4 : at + 6], "big", signed=True)
    if error:
        raise RuntimeError(f"fetch is refused: error {error}")
    at += _ABORTED_AT
    aborted = max(0, _SIZE.unpack_from(answer, at)[0])
    at += 4 + 16 * aborted + 4
    size = max(0, _SIZE.unpack_from(answer, at)[0])
    return at + 4, at + 4 + size


def next_offset(answer: bytes | bytearray, start: int, end: int, offset: int) -> int:
    """Return the offset after the last whole batch from `start` to `end`; `offset` without one."""
    while start + _BATCH_HEAD.size <= end:
        base, length = _BATCH_HEAD.unpack_from(answer, start)
        if start + _BATCH_HEAD.size + length > end:
            break
        offset = base + 1 + _SIZE.unpack_from(answer, start + _LAST_DELTA_AT)[0]
        start += _BATCH_HEAD.size + length
    return offset

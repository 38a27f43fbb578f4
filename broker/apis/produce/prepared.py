"""A Produce of one plain batch that begins with the bytes of one before it.

A producer that sends a batch a request sends the same client id, topic and partition again and
again. So the batch goes from the frame to the log, and its offset into a copy of the answer. What
is remembered are names, never a partition, so it cannot go stale.

Never decides what is right: what the log does not take as it stands goes the way of
`broker.apis.produce.api`, which knows all cases and has the words.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from broker.purgatory.delayed_operations import DelayedProduce, PendingAck
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Answer, Later
from protocol.errors import ErrorCode
from protocol.frames.frame_shape import RecordsShape, Values
from protocol.frames.framing import SIZE_BYTES
from protocol.frames.produce_codec import ProduceReply, produce_reply, produce_shape
from protocol.messages.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse

_ALL_REPLICAS = -1
_NOBODY = 0

Refuse = Callable[[int, PartitionProduceResponse], bytes]
"""Correlation id, and what is said of the partition → the whole answer."""


def prepare_produce(
    replicas: ReplicaManager,
    version: int,
    frame: memoryview,
    request: ProduceRequest,
    refuse: Refuse,
) -> PreparedProduce | None:
    """For a request of one partition, which is handled; None for a transaction's, and where its
    frame is odd."""
    (topic,) = request.topic_data
    (data,) = topic.partition_data
    if request.transactional_id is not None or not isinstance(data.records, memoryview):
        return None
    shape = produce_shape(frame, version, data.records)
    reply = produce_reply(version, topic.name, topic.topic_id, data.index)
    if shape is None or reply is None:
        return None
    place = topic.name or topic.topic_id, data.index
    return PreparedProduce(
        replicas, shape, place, (request.acks, request.timeout_ms), reply, refuse
    )


class PreparedProduce:
    """Batches of one partition from one client."""

    __slots__ = ("_acks", "_find", "_index", "_refuse", "_replicas", "_timeout_ms",
                 "reply", "shape")  # fmt: skip

    def __init__(
        self,
        replicas: ReplicaManager,
        shape: RecordsShape,
        place: tuple[str | bytes, int],
        acks_and_timeout_ms: tuple[int, int],
        reply: ProduceReply,
        refuse: Refuse,
    ) -> None:
        """`place`: a topic's name or id, and a partition's index."""
        self.shape = shape
        self.reply = reply
        self._replicas = replicas
        topic, self._index = place
        self._find = replicas.finder(topic, self._index)
        self._acks, self._timeout_ms = acks_and_timeout_ms
        self._refuse = refuse

    def follows(self, response: ProduceResponse | None) -> bool:
        """Whether the batch was appended."""
        return response is None or not any(
            one.error_code for topic in response.responses for one in topic.partition_responses
        )

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Append and answer; see `PreparedRequest`."""
        correlation_id, start, end = values
        acks, partition = self._acks, self._find()
        if partition is None:
            return None
        offset = partition.append_plain(frame[start:end], acks)
        if offset < 0:
            return None
        log = partition.log
        # Without followers, acks=all is as soon answered as acks=1.
        if acks == _ALL_REPLICAS and partition.followers is not None:
            append = _Append(self, correlation_id, offset, log.log_start_offset)
            ack = PendingAck(log.log_end_offset, append.settle)
            waiting = DelayedProduce({partition: ack}, append.respond)
            if self._replicas.wait_for_replicas(waiting, (partition,), self._timeout_ms):
                append.reply = later()
                return b""
            answer = append.answer()
        elif acks == _NOBODY:
            answer = b""
        else:
            answer = self.reply.fill(correlation_id, offset, log.log_start_offset)
        self._replicas.partition_changed(partition)
        return answer

    def refuse(self, correlation_id: int, offset: int, log_start: int, error: ErrorCode) -> bytes:
        """What is said of an append that was not replicated."""
        one = PartitionProduceResponse(self._index, int(error), offset, -1, log_start)
        return self._refuse(correlation_id, one)

    def expect(self, message: memoryview, values: Values) -> ExpectedProduce | None:
        """See `PreparedRequest`. Only where the answer does not wait for others."""
        partition = self._find()
        if self._acks == _NOBODY or partition is None or not partition.is_leader:
            return None
        if partition.followers is not None:
            return None
        _, start, end = values
        return ExpectedProduce(
            self._replicas, partition, self._acks, message, (start, end), self.reply
        )


class _Append:
    """One append that waits until all in sync have it."""

    __slots__ = ("_correlation_id", "_error", "_log_start", "_offset", "_prepared", "reply")

    reply: Callable[[Any], None]

    def __init__(
        self, prepared: PreparedProduce, correlation_id: int, offset: int, log_start: int
    ) -> None:
        self._prepared = prepared
        self._correlation_id = correlation_id
        self._offset = offset
        self._log_start = log_start
        self._error = ErrorCode.NONE

    def settle(self, verdict: ErrorCode) -> None:
        self._error = verdict

    def answer(self) -> bytes:
        what = self._correlation_id, self._offset
        if self._error:
            return self._prepared.refuse(*what, self._log_start, self._error)
        return self._prepared.reply.fill(*what, self._log_start)

    def respond(self) -> None:
        self.reply(self.answer())


class ExpectedProduce:
    """The next request of a client that always asks again at once, before it is there.

    Where the broker looks for it instead of sleeping (`broker.network.server.busy_poll`), it has
    time until the request comes, and little after that: the client's core is at rest a few
    microseconds after its send, and to wake it takes longer than all else. So where its batch goes
    is looked up while nobody waits, and who waits for the append is woken behind its answer.
    """

    __slots__ = ("_acks", "_log_start", "_message", "_partition", "_records", "_replicas", "_reply",
                 "_same", "_unpack")  # fmt: skip

    def __init__(
        self,
        replicas: ReplicaManager,
        partition: Partition,
        acks: int,
        message: memoryview,
        records: tuple[int, int],
        reply: ProduceReply,
    ) -> None:
        """`message` holds the last request of the same kind, and will hold the next one: a frame's
        size, and the frame. `records`: from where to where they lie in the frame."""
        start, end = (SIZE_BYTES + at for at in records)
        self._replicas = replicas
        self._partition = partition
        self._acks = acks
        self._message = message
        self._records = message[start:end]
        # Size, API key and version; correlation id; all up to the records; what is behind them.
        form = f">8si{start - 12}s{end - start}x{len(message) - end}s"
        self._unpack = Struct(form).unpack_from
        head, _, before, after = self._unpack(message)
        self._same = head, before, after
        self._reply = reply
        self._log_start = partition.log.log_start_offset

    def answer(self) -> bytes | None:
        """The answer to the request that has come; None: nothing was done."""
        head, correlation_id, before, after = self._unpack(self._message)
        if (head, before, after) != self._same:
            return None
        offset = self._partition.append_plain(self._records, self._acks)
        if offset < 0:
            return None
        return self._reply.fill(correlation_id, offset, self._log_start)

    def settle(self) -> None:
        """The answer is on its way: who waits for the append hears of it."""
        self._replicas.partition_changed(self._partition)

"""A shortcut for a Produce of one plain batch that repeats an earlier request but for its records.

A producer that sends one batch per request sends the same client id, topic and partition each time.
So the batch goes from the frame to the log without decoding the request, and its offset into a copy
of the encoded answer. Only the topic's name or id and the index are kept, never a partition, so
nothing here can become stale.

Never rejects a request: if the log does not accept the batch as it is, the request is handled by
`broker.apis.produce.api`, which knows all cases and their errors.
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
_NO_ACKS = 0

Refuse = Callable[[int, PartitionProduceResponse], bytes]
"""Takes a correlation id and a partition's answer with an error; returns the encoded response."""


def prepare_produce(
    replicas: ReplicaManager,
    version: int,
    frame: memoryview,
    request: ProduceRequest,
    refuse: Refuse,
) -> PreparedProduce | None:
    """Return a shortcut for requests like this one, which was just handled.

    `request` has one partition. None if it is transactional, has no records, or if its frame has
    another layout than expected.
    """
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
    """A shortcut for the repeated requests of one client to one partition."""

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
        """`place` is the topic's name or id, and the partition's index."""
        self.shape = shape
        self.reply = reply
        self._replicas = replicas
        topic, self._index = place
        self._find = replicas.finder(topic, self._index)
        self._acks, self._timeout_ms = acks_and_timeout_ms
        self._refuse = refuse

    def follows(self, response: ProduceResponse | None) -> bool:
        """Return whether the first request's batch was appended; more like it may then follow."""
        return response is None or not any(
            partition.error_code
            for topic in response.responses
            for partition in topic.partition_responses
        )

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Append the batch and return the answer. It is empty if acks=0, or if the append waits for
        replicas; then it comes by `later`.

        Return None, with nothing done, if the log did not accept the batch. See `PreparedRequest`.
        """
        correlation_id, start, end = values
        acks, partition = self._acks, self._find()
        if partition is None:
            return None
        offset = partition.append_plain(frame[start:end], acks)
        if offset < 0:
            return None
        log = partition.log
        # Without followers, acks=all is answered as soon as acks=1.
        if acks == _ALL_REPLICAS and partition.followers is not None:
            append = _Append(self, correlation_id, offset, log.log_start_offset)
            ack = PendingAck(log.log_end_offset, append.settle)
            waiting = DelayedProduce({partition: ack}, append.respond)
            if self._replicas.wait_for_replicas(waiting, (partition,), self._timeout_ms):
                append.reply = later()
                return b""
            answer = append.answer()
        elif acks == _NO_ACKS:
            answer = b""
        else:
            answer = self.reply.fill(correlation_id, offset, log.log_start_offset)
        self._replicas.partition_changed(partition)
        return answer

    def refuse(self, correlation_id: int, offset: int, log_start: int, error: ErrorCode) -> bytes:
        """Return the response to an append whose wait for the replicas ended with `error`."""
        answer = PartitionProduceResponse(self._index, int(error), offset, -1, log_start)
        return self._refuse(correlation_id, answer)

    def expect(self, message: memoryview, values: Values) -> ExpectedProduce | None:
        """Prepare the answer to the next request before it arrives; see `PreparedRequest`.

        None if the answer may have to wait for replicas, or if acks=0.
        """
        partition = self._find()
        if self._acks == _NO_ACKS or partition is None or not partition.is_leader:
            return None
        if partition.followers is not None:
            return None
        _, start, end = values
        return ExpectedProduce(
            self._replicas, partition, self._acks, message, (start, end), self.reply
        )


class _Append:
    """An acks=all append that waits until every in-sync replica has it."""

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
        """Store the verdict of the replicas for the answer."""
        self._error = verdict

    def answer(self) -> bytes:
        """Return the encoded response: the offset, or the error of the wait for the replicas."""
        correlation_id_and_offset = self._correlation_id, self._offset
        if self._error:
            return self._prepared.refuse(*correlation_id_and_offset, self._log_start, self._error)
        return self._prepared.reply.fill(*correlation_id_and_offset, self._log_start)

    def respond(self) -> None:
        """Send the answer, after the wait has ended."""
        self.reply(self.answer())


class ExpectedProduce:
    """The next request, not yet arrived, of a client that sends one as soon as it has an answer.

    If the broker polls for the request instead of sleeping (`broker.network.server.busy_poll`), it
    has time before the request arrives, and little after that. The client's core goes idle a few
    microseconds after its send, and waking it takes longer than all other work. So the partition is
    looked up before the request arrives, and the requests that wait for the append are woken after
    the answer is sent.
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
        """`message` is the buffer (a frame's size, and the frame) that holds the last request and
        will hold the next one. `records` is the start and end of the records in the frame."""
        start, end = (SIZE_BYTES + at for at in records)
        self._replicas = replicas
        self._partition = partition
        self._acks = acks
        self._message = message
        self._records = message[start:end]
        # Size, API key and version; correlation id; fields before the records; fields after them.
        form = f">8si{start - 12}s{end - start}x{len(message) - end}s"
        self._unpack = Struct(form).unpack_from
        head, _, before, after = self._unpack(message)
        self._same = head, before, after
        self._reply = reply
        self._log_start = partition.log.log_start_offset

    def answer(self) -> bytes | None:
        """Append the request that has arrived and return its answer.

        None, with nothing done, if it is another kind of request or the log did not accept the
        batch.
        """
        head, correlation_id, before, after = self._unpack(self._message)
        if (head, before, after) != self._same:
            return None
        offset = self._partition.append_plain(self._records, self._acks)
        if offset < 0:
            return None
        return self._reply.fill(correlation_id, offset, self._log_start)

    def settle(self) -> None:
        """Wake the requests that wait for this append. Called after the answer was sent."""
        self._replicas.partition_changed(self._partition)

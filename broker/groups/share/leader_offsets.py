"""The end offsets of partitions, which their leaders answer: this broker or others.

Owns the channels to other leaders and the requests without an answer, one ListOffsets for each
leader of a question. A request whose connection fails is sent again, RETRIES times at most, to the
leader of that time. Never answers for a partition itself. Follows Kafka's
`NetworkPartitionMetadataClient` (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.groups.share.ports import EndOffset
from ground.ports import Channel, ChannelFailure, Network, Scheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

RETRIES = 5
RETRY_BACKOFF_MS = 1_000
RETRY_BACKOFF_MAX_MS = 30_000
CLIENT_ID = "broker-{}-end-offsets"

_CONSUMER = -1
_LATEST = -1
_FAILURES = {
    ChannelFailure.REFUSED: ErrorCode.NETWORK_EXCEPTION,
    ChannelFailure.LOST: ErrorCode.NETWORK_EXCEPTION,
    ChannelFailure.TIMED_OUT: ErrorCode.REQUEST_TIMED_OUT,
}

Leader = tuple[int, str, int]
"""The node id, host and port of a leader."""
LeaderOf = Callable[[TopicPartition], Leader | None]
LocalOffsets = Callable[[ListOffsetsRequest, Callable[[ListOffsetsResponse], None]], None]


class LeaderOffsets:
    """The questions of this broker for end offsets. `network` is None if this is the only node.

    `leader_of` returns a partition's leader, None if it is not known or reachable. `local` sends
    ListOffsets to this broker itself.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network | None,
        node_id: int,
        leader_of: LeaderOf,
        local: LocalOffsets,
        request_timeout_ms: int,
    ) -> None:
        self._scheduler = scheduler
        self._network = network
        self._node_id = node_id
        self._leader_of = leader_of
        self._local = local
        self._request_timeout_ms = request_timeout_ms
        self._channels: dict[int, tuple[tuple[str, int], Channel]] = {}
        self._stopped = False

    def ask(
        self,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, EndOffset]], None],
    ) -> None:
        """Call `done` once, with the end offset of each partition or the error without one.

        LEADER_NOT_AVAILABLE: the partition has no leader that can be reached. NETWORK_EXCEPTION,
        REQUEST_TIMED_OUT: no leader answered. Other errors are those of the leader.
        """
        _Question(partitions, done, self._send).begin()

    def shutdown(self) -> None:
        """Close the connections. Questions without an answer end with an error."""
        self._stopped = True
        for _, channel in self._channels.values():
            channel.close()
        self._channels = {}

    def _send(self, question: _Question, partitions: Sequence[TopicPartition], tries: int) -> None:
        """Send a ListOffsets to each leader of `partitions`, which were sent `tries` times
        before."""
        by_leader: dict[Leader, list[TopicPartition]] = {}
        for partition in partitions:
            leader = self._leader_of(partition)
            if leader is None:
                question.answer(partition, ErrorCode.LEADER_NOT_AVAILABLE)
            else:
                by_leader.setdefault(leader, []).append(partition)
        for leader, led in by_leader.items():
            request, answered = _request(led), partial(question.answer_all, led)
            if leader[0] == self._node_id:
                self._local(request, answered)
                continue
            failed = partial(self._failed, question, led, tries)
            channel = self._channel(*leader)
            if channel is None:
                failed(ChannelFailure.REFUSED)
            else:
                channel.send(
                    request, partial(_received, answered, failed), self._request_timeout_ms
                )

    def _channel(self, node_id: int, host: str, port: int) -> Channel | None:
        """Return the channel to a broker; None if there is no network, or after `shutdown`."""
        if self._network is None or self._stopped:
            return None
        address = (host, port)
        entry = self._channels.get(node_id)
        if entry is not None and entry[0] == address:
            return entry[1]
        if entry is not None:
            del self._channels[node_id]
            entry[1].close()
        channel = self._network.channel(host, port, CLIENT_ID.format(self._node_id))
        self._channels[node_id] = (address, channel)
        return channel

    def _failed(
        self,
        question: _Question,
        partitions: Sequence[TopicPartition],
        tries: int,
        failure: ChannelFailure,
    ) -> None:
        """Ask for the partitions again after a pause, or answer with the failure after the last
        try."""
        if self._stopped or tries >= RETRIES:
            for partition in partitions:
                question.answer(partition, _FAILURES[failure])
            return
        pause_ms = min(RETRY_BACKOFF_MS * 2**tries, RETRY_BACKOFF_MAX_MS)
        again = partial(self._send, question, partitions, tries + 1)
        self._scheduler.call_later(pause_ms, again)


class _Question:
    """The partitions of one question that have no answer yet."""

    def __init__(
        self,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, EndOffset]], None],
        send: Callable[[_Question, Sequence[TopicPartition], int], None],
    ) -> None:
        self._partitions = list(dict.fromkeys(partitions))
        self._answers: dict[TopicPartition, EndOffset] = {}
        self._done = done
        self._send = send

    def begin(self) -> None:
        """Send the question; one without partitions is answered at once."""
        if self._partitions:
            self._send(self, self._partitions, 0)
        else:
            self._done({})

    def answer(self, partition: TopicPartition, answer: EndOffset) -> None:
        """Store the answer for a partition. Call `done` after the last."""
        self._answers[partition] = answer
        if len(self._answers) == len(self._partitions):
            self._done(self._answers)

    def answer_all(
        self, partitions: Sequence[TopicPartition], response: ListOffsetsResponse
    ) -> None:
        """Store a leader's answers. A partition without an answer is
        UNKNOWN_TOPIC_OR_PARTITION."""
        received: dict[TopicPartition, EndOffset] = {}
        for topic in response.topics:
            for result in topic.partitions:
                error = ErrorCode(result.error_code)
                partition = TopicPartition(topic.name, result.partition_index)
                received[partition] = result.offset if error is ErrorCode.NONE else error
        for partition in partitions:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            self.answer(partition, received.get(partition, missing))


def _received(
    answered: Callable[[ListOffsetsResponse], None],
    failed: Callable[[ChannelFailure], None],
    response: ListOffsetsResponse | None,
    failure: ChannelFailure | None,
) -> None:
    """Pass on the response of another broker, or the failure without one."""
    if response is None:
        assert failure is not None
        failed(failure)
    else:
        answered(response)


def _request(partitions: Sequence[TopicPartition]) -> ListOffsetsRequest:
    """Return the ListOffsets for the end offsets of partitions, as a consumer asks for them."""
    topics: dict[str, ListOffsetsTopic] = {}
    for name, index in partitions:
        topic = topics.setdefault(name, ListOffsetsTopic(name))
        topic.partitions.append(ListOffsetsPartition(index, timestamp=_LATEST))
    return ListOffsetsRequest(_CONSUMER, topics=list(topics.values()))

"""The acknowledgements of one ShareFetch or ShareAcknowledge: checks, and the verdicts.

Each partition has its own verdict. One wrong batch rejects all batches of its partition. Owns the
verdicts that have come, and calls back after the last one. Never sends an answer. Follows
`handleAcknowledgements` and `validateAcknowledgementBatches` of Kafka's `KafkaApis` (KIP-932,
KIP-1222).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from broker.replication.replica_manager import ReplicaManager
from broker.share.delivery.share_partition import AcknowledgedBatch
from broker.share.record_state import AcknowledgeType
from broker.share.sessions import MemberKey, TopicIdPartition
from broker.share.share_partition_manager import SharePartitionManager
from broker.share.state.share_log import SharePartitionKey
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode

RENEW_FROM = 2
"""The version of both APIs from which a member may renew locks."""
_TYPES = tuple(AcknowledgeType)  # by their numbers
_TYPES_A_PIECE = 32
"""The single offsets of an acknowledgement that count as one piece of work (`Pace`)."""


class Verdict(NamedTuple):
    """The result of a partition's acknowledgements, with the reason of an error."""

    error: ErrorCode
    reason: str | None = None


Verdicts = dict[TopicIdPartition, Verdict]


class RequestedBatch(Protocol):
    """An acknowledgement in a request."""

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> Sequence[int]: ...


class RequestedPartition(Protocol):
    """A partition in a request."""

    @property
    def partition_index(self) -> int: ...
    @property
    def acknowledgement_batches(self) -> Sequence[RequestedBatch]: ...


class RequestedTopic(Protocol):
    """A topic in a request."""

    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[RequestedPartition]: ...


class RenewRules(NamedTuple):
    """Whether acknowledgements of a request may renew locks."""

    are_known: bool
    """True if the request's version has the type RENEW."""
    are_announced: bool
    """True if the request says that it has acknowledgements of that type."""


def has_fault(batches: Sequence[RequestedBatch], renew: RenewRules) -> bool:
    """Return whether a partition's acknowledgements are rejected with INVALID_REQUEST."""
    highest = AcknowledgeType.RENEW if renew.are_known else AcknowledgeType.REJECT
    previous_last = -1
    for batch in batches:
        types = batch.acknowledge_types
        if batch.last_offset < batch.first_offset or batch.first_offset < previous_last:
            return True
        if not types or len(types) not in (1, batch.last_offset - batch.first_offset + 1):
            return True
        if min(types) < AcknowledgeType.GAP or max(types) > highest:
            return True
        if AcknowledgeType.RENEW in types and not renew.are_announced:
            return True
        previous_last = batch.last_offset
    return False


class Acknowledging:
    """The acknowledgements of one request in progress."""

    def __init__(
        self,
        manager: SharePartitionManager,
        replicas: ReplicaManager,
        member: MemberKey,
        renew: RenewRules,
        done: Callable[[Verdicts], None],
    ) -> None:
        """Prepare; `done` is called once, after all verdicts have come."""
        self._manager = manager
        self._replicas = replicas
        self._member = member
        self._renew = renew
        self._done = done
        self._verdicts: Verdicts = {}
        self._topics: dict[str, bool] = {}  # value: did a partition fail?
        self._awaited = 1  # one for `begin` itself

    def begin(
        self, topics: Sequence[RequestedTopic], readable: Container[str], pace: Pace
    ) -> Steps[None]:
        """Acknowledge all partitions, in slices; `readable` are the names of the topics that the
        member may read."""
        untouched: list[TopicIdPartition] = []
        for topic in topics:
            for requested in topic.partitions:
                batches = requested.acknowledgement_batches
                types = sum(len(batch.acknowledge_types) for batch in batches)
                if pace.is_full(1 + len(batches) + types // _TYPES_A_PIECE):
                    yield None
                partition = TopicIdPartition(topic.topic_id, requested.partition_index)
                error = self._error(partition, batches, readable)
                if error is not ErrorCode.NONE:
                    self._verdicts[partition] = Verdict(error)
                elif batches:
                    self._acknowledge(partition, batches)
                else:
                    untouched.append(partition)
        if self._topics:
            self._verdicts |= dict.fromkeys(untouched, Verdict(ErrorCode.NONE))
        self._one_done()

    def _error(
        self,
        partition: TopicIdPartition,
        batches: Sequence[RequestedBatch],
        readable: Container[str],
    ) -> ErrorCode:
        """Return why a partition's acknowledgements are rejected, NONE if they may be applied."""
        topic = self._replicas.image.topics.get_by_id(partition.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if has_fault(batches, self._renew):
            return ErrorCode.INVALID_REQUEST
        if topic.name not in readable:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if partition.partition not in topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def _acknowledge(
        self, partition: TopicIdPartition, requested: Sequence[RequestedBatch]
    ) -> None:
        """Pass a partition's acknowledgements on. The verdict comes now or later."""
        topic = self._replicas.image.topics.get_by_id(partition.topic_id)
        assert topic is not None, "an error otherwise"
        self._topics.setdefault(topic.name, False)
        self._awaited += 1
        batches = [
            AcknowledgedBatch(
                batch.first_offset,
                batch.last_offset,
                list(map(_TYPES.__getitem__, batch.acknowledge_types)),
            )
            for batch in requested
        ]
        self._manager.acknowledge(
            SharePartitionKey(self._member.group_id, *partition),
            self._member.member_id,
            batches,
            partial(self._acknowledged, partition, topic.name),
        )

    def _acknowledged(
        self, partition: TopicIdPartition, topic: str, error: ErrorCode, reason: str | None
    ) -> None:
        """Take the verdict of a partition."""
        self._verdicts[partition] = Verdict(error, reason)
        self._topics[topic] |= error is not ErrorCode.NONE
        self._one_done()

    def _one_done(self) -> None:
        """Count the topics and call back, if this was the last verdict."""
        self._awaited -= 1
        if self._awaited:
            return
        for topic, failed in self._topics.items():
            if self._replicas.image.topics.get(topic) is not None:
                self._replicas.metrics.topic(topic).share_acknowledged(failed)
        self._done(self._verdicts)

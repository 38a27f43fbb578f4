"""Elections by request or by timer: preferred leaders, unclean leaders.

ElectLeaders (types: preferred 0, unclean 1) names partitions, or all of them; in the latter case
the response leaves out partitions that need no election. A timer returns leadership to preferred
replicas (`auto.leader.rebalance.enable`: to every one of them; Apache Kafka with KRaft does not use
`leader.imbalance.per.broker.percentage` either). Another elects leaders for partitions without one
if their topic allows an unclean leader, also if it was allowed only after the leader was lost.

Never: elects when a broker registers or leaves (`controller.decisions.leadership_changes`).

Follows KIP-183, KIP-460 and Kafka's `ReplicationControlManager.electLeaders`,
`maybeBalancePartitionLeaders`, `maybeElectUncleanLeaders`.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.decisions.change_rules import TopicRulesMaker, is_active
from controller.decisions.decision import (
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.decisions.leader_election import Election
from controller.decisions.partition_change import partition_change
from controller.metadata.image import NO_LEADER, MetadataImage, PartitionRegistration, TopicImage
from controller.metadata.records import MetadataRecord
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

MAX_ELECTIONS_PER_TURN = 1_000
"""The limit of a timer's turn, so that it delays no other decision; the next turn does the rest."""

ELECTION = 4
"""The cost of one election, in pieces of work."""

_KINDS = {0: Election.PREFERRED, 1: Election.UNCLEAN}
_ELECTED = ApiError(ErrorCode.NONE)
_NOT_NEEDED = ApiError(
    ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
)
_UNAVAILABLE = {
    Election.PREFERRED: ApiError(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
    ),
    Election.UNCLEAN: ApiError(
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Eligible topic partition leaders are not available.",
    ),
}


def elect_leaders(
    view: DecisionView, request: ElectLeadersRequest, rules: TopicRulesMaker
) -> Steps[Decision[ElectLeadersResponse]]:
    """Return the decision that elects leaders, each partition on its own.

    The reply is the response with a result of each partition, or INVALID_REQUEST for an unknown
    election type. Above MAX_RECORDS_PER_OPERATION, the reply is TOO_MANY_RECORDS and nothing
    changes.
    """
    kind = _KINDS.get(request.election_type)
    if kind is None:
        text = f"Unknown election type {request.election_type}"
        return Decision(ApiError(ErrorCode.INVALID_REQUEST, text))
    image = view.image
    records: list[MetadataRecord] = []
    response = ElectLeadersResponse()
    pace = Pace()
    for name, indexes in _requested_partitions(image, request):
        if pace.is_full():
            yield None
        pieces = ELECTION if image.topics.get(name) else 1
        results = ReplicaElectionResult(name)
        response.replica_election_results.append(results)
        for index in indexes:
            if pace.is_full(pieces):
                yield None
            error = _elect(image, name, index, kind, rules, records)
            if request.topic_partitions is not None or error is not _NOT_NEEDED:
                results.partition_result.append(PartitionResult(index, error.code, error.message))
    if len(records) > MAX_RECORDS_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    return Decision(response, records, atomic=False)


def _requested_partitions(
    image: MetadataImage, request: ElectLeadersRequest
) -> Iterator[tuple[str, list[int]]]:
    """Yield the name and the partition indexes of each topic of the request. Without topics in the
    request, yield those of all topics."""
    if request.topic_partitions is not None:
        for requested in request.topic_partitions:
            yield requested.topic, requested.partitions
        return
    for topic in image.topics.by_name.values():
        yield topic.name, list(topic.partitions)


def _elect(
    image: MetadataImage,
    name: str,
    index: int,
    kind: Election,
    rules: TopicRulesMaker,
    records: list[MetadataRecord],
) -> ApiError:
    """Elect a leader, and add its record to `records`. Return the result for the client, which has
    the code NONE if a leader was elected."""
    topic = image.topics.get(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = topic.partitions.get(index)
    if partition is None:
        text = f"No such partition as {name}-{index}"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    preferred = partition.leader == partition.preferred_replica
    if preferred if kind is Election.PREFERRED else partition.leader != NO_LEADER:
        return _NOT_NEEDED
    record = partition_change(
        topic.id, index, partition, rules.of(image, topic)._replace(election=kind)
    )
    if record is None:
        return _UNAVAILABLE[kind]
    records.append(record)
    return _ELECTED


def balance_leaders(view: DecisionView, rules: TopicRulesMaker) -> Decision[bool]:
    """Return the decision that returns leadership to active preferred replicas, at most
    MAX_ELECTIONS_PER_TURN. The reply is whether more may be left to do."""

    def needs_balancing(partition: PartitionRegistration) -> bool:
        """Return whether the preferred replica does not lead but its broker is active."""
        preferred = partition.preferred_replica
        return partition.leader != preferred and is_active(view.image, preferred)

    records: list[MetadataRecord] = []
    for topic, index, partition in _all_partitions(view.image):
        if needs_balancing(partition):
            preferred_rules = rules.of(view.image, topic)._replace(election=Election.PREFERRED)
            record = partition_change(topic.id, index, partition, preferred_rules)
            if record is not None:
                records.append(record)
        if len(records) >= MAX_ELECTIONS_PER_TURN:
            return Decision(True, records, atomic=False)
    return Decision(False, records, atomic=False)


def elect_unclean(view: DecisionView, rules: TopicRulesMaker) -> Decision[bool]:
    """Return the decision that elects leaders for partitions without one if the topic allows
    unclean leaders, at most MAX_ELECTIONS_PER_TURN. The reply is whether more may be left to do."""
    records: list[MetadataRecord] = []
    for topic, index, partition in _all_partitions(view.image):
        if partition.leader == NO_LEADER and rules.unclean_allowed(view.image, topic):
            topic_rules = rules.of(view.image, topic)
            record = partition_change(topic.id, index, partition, topic_rules)
            if record is not None:
                records.append(record)
        if len(records) >= MAX_ELECTIONS_PER_TURN:
            return Decision(True, records, atomic=False)
    return Decision(False, records, atomic=False)


def _all_partitions(
    image: MetadataImage,
) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
    for topic in image.topics.by_name.values():
        for index, partition in topic.partitions.items():
            yield topic, index, partition

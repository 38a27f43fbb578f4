"""AlterPartitionReassignments and ListPartitionReassignments: partitions move between brokers.

    begin   new replicas are added; those to be removed stay until the others are in sync
    wait    the new replicas fetch; their leader brings them into the ISR with AlterPartition
    done    that AlterPartition ends it (`controller.decisions.partition_change`)
    cancel  the target null: back to the replicas as they were

A target without new replicas, or with only another order, is reached at once.

Owns: the checks, with Kafka's errors and texts. Never: moves data.

Follows KIP-455, KIP-860 (`allow_replication_factor_change`) and Kafka's
`ReplicationControlManager.alterPartitionReassignments`. One difference to Kafka: a second
reassignment keeps the mark of a replica that the first one was adding. It also no longer removes a
replica that is in its target. So a cancel leads back to the replicas before the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.decisions.change_rules import TopicRulesMaker
from controller.decisions.decision import (
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.decisions.leader_election import Election
from controller.decisions.manual_assignment import list_fault
from controller.decisions.partition_change import Targets, partition_change
from controller.decisions.partition_reassignment import begin, reassignment_of, revert
from controller.hosting_limit import HostingLimit, HostingRoom
from controller.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from controller.metadata.records import MetadataRecord
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from protocol.messages.metadata_records import PartitionChangeRecord

REASSIGNMENT = 8
"""The cost of beginning one reassignment, in pieces of work."""
_ACCEPTED = ApiError(ErrorCode.NONE)


def alter_reassignments(
    view: DecisionView,
    request: AlterPartitionReassignmentsRequest,
    rules: TopicRulesMaker,
    hosting: HostingLimit,
) -> Steps[Decision[AlterPartitionReassignmentsResponse]]:
    """Return the decision that begins, changes or cancels reassignments, each partition on its own.

    The reply is the response with a result of each partition. Above MAX_RECORDS_PER_OPERATION, the
    reply is TOO_MANY_RECORDS and nothing changes.
    """
    records: list[MetadataRecord] = []
    room = HostingRoom(hosting, view.image)
    fixed_factor = not request.allow_replication_factor_change
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
    )
    pace = Pace()
    for topic_data in request.topics:
        if pace.is_full():
            yield None
        pieces = REASSIGNMENT if view.image.topics.get(topic_data.name) else 1
        topic_response = ReassignableTopicResponse(topic_data.name)
        response.responses.append(topic_response)
        for target in topic_data.partitions:
            if pace.is_full(pieces):
                yield None
            outcome = _alter(view.image, topic_data.name, target, fixed_factor, rules, room)
            error = outcome if isinstance(outcome, ApiError) else _ACCEPTED
            if outcome is not None and not isinstance(outcome, ApiError):
                records.append(outcome)
            topic_response.partitions.append(
                ReassignablePartitionResponse(target.partition_index, error.code, error.message)
            )
    if len(records) > MAX_RECORDS_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    return Decision(response, records)


def _alter(
    image: MetadataImage,
    name: str,
    target: ReassignablePartition,
    fixed_factor: bool,
    rules: TopicRulesMaker,
    room: HostingRoom,
) -> PartitionChangeRecord | ApiError | None:
    """Return the record that begins, changes or cancels a partition's reassignment, None if nothing
    changes, or the error. New replicas are taken from `room`."""
    topic = image.topics.get(name)
    if topic is None:
        text = f"Unable to find a topic named {name}."
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    index = target.partition_index
    partition = topic.partitions.get(index)
    if partition is None:
        text = f"Unable to find partition {name}:{index}."
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    if target.replicas is None:
        return _cancel(image, topic, index, partition, rules)
    fault = list_fault(image, target.replicas, None)
    if fault is not None:
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, fault)
    factor = _target_factor(partition)
    if fixed_factor and factor != len(target.replicas):
        text = f"The replication factor is changed from {factor} to {len(target.replicas)}"
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    limit_error = room.take(
        [[replica for replica in target.replicas if replica not in partition.replicas]]
    )
    if limit_error is not None:
        return limit_error
    change = rules.of(image, topic)._replace(election=Election.ONLINE)
    targets = _targets(partition, target.replicas)
    return partition_change(topic.id, index, partition, change, targets)


def _targets(partition: PartitionRegistration, replicas: Sequence[int]) -> Targets:
    """Return the replicas at the beginning of a reassignment to `replicas`, with those to add and
    to remove. A replica that an earlier reassignment adds stays marked."""
    begun = begin(partition.replicas, replicas)
    added = (*partition.adding_replicas, *begun.adding)
    adding = sorted(replica for replica in begun.replicas if replica in added)
    return Targets(replicas=begun.replicas, removing=begun.removing, adding=adding)


def _target_factor(partition: PartitionRegistration) -> int:
    """Return the number of replicas that `partition` will have after its present reassignment."""
    removing = partition.removing_replicas
    return sum(1 for replica in partition.replicas if replica not in removing)


def _cancel(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    partition: PartitionRegistration,
    rules: TopicRulesMaker,
) -> PartitionChangeRecord | ApiError | None:
    """Return the record that reverts a reassignment, None if nothing changes, or the error if none
    is in progress or the revert would be unclean."""
    if not reassignment_of(partition).in_progress:
        return ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    reverted = revert(partition)
    if reverted.unclean and not rules.unclean_allowed(image, topic):
        text = (
            f"Unable to revert partition assignment for {topic.name}:{index} because it would "
            "require an unclean leader election."
        )
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    targets = Targets(isr=reverted.isr, replicas=reverted.replicas, removing=(), adding=())
    return partition_change(topic.id, index, partition, rules.of(image, topic), targets)


def list_reassignments(
    view: DecisionView, request: ListPartitionReassignmentsRequest
) -> Steps[Decision[ListPartitionReassignmentsResponse]]:
    """Return a decision without records, whose reply lists the reassignments in progress: those of
    the named partitions, or all. Unknown topics and partitions are left out."""
    response = ListPartitionReassignmentsResponse(error_message=None)
    pace = Pace()
    for topic, indexes in _requested_partitions(view.image, request):
        if pace.is_full():
            yield None
        if topic is None:
            continue
        ongoing = OngoingTopicReassignment(topic.name)
        for index in indexes:
            if pace.is_full():
                yield None
            partition = topic.partitions.get(index)
            if partition is None or not reassignment_of(partition).in_progress:
                continue
            ongoing.partitions.append(
                OngoingPartitionReassignment(
                    partition_index=index,
                    replicas=list(partition.replicas),
                    adding_replicas=list(partition.adding_replicas),
                    removing_replicas=list(partition.removing_replicas),
                )
            )
        if ongoing.partitions:
            response.topics.append(ongoing)
    return Decision(response)


def _requested_partitions(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[TopicImage | None, Sequence[int]]]:
    """Yield the topic, None if unknown, and the partition indexes for each topic of the request. If
    the request has null for topics, yield those of all topics."""
    if request.topics is None:
        for topic in image.topics.by_name.values():
            yield topic, list(topic.partitions)
        return
    for requested in request.topics:
        yield image.topics.get(requested.name), requested.partition_indexes

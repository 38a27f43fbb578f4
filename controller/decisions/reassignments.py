"""AlterPartitionReassignments and ListPartitionReassignments: partitions move between brokers.

    ask     replicas that come are added, those that go stay until the others are in sync
    wait    the new replicas fetch; their leader brings them into the ISR with AlterPartition
    done    that AlterPartition ends it (`controller.decisions.partition_change`)
    cancel  the target null: back to the replicas as they were

A target that needs nobody new, or only another order, is reached at once.

Owns: what may be asked, with Kafka's errors and words. Never: moves data.

Follows KIP-455, KIP-860 (`allow_replication_factor_change`) and Kafka's
`ReplicationControlManager.alterPartitionReassignments`. One step further: who was being added stays
marked so through a second reassignment, and who is wanted again is not removed, so that a cancel
leads back to the replicas before the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.decisions.change_rules import TopicRules
from controller.decisions.decision import (
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    View,
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
"""Pieces of work that it is to begin one."""
_ACCEPTED = ApiError(ErrorCode.NONE)


def alter_reassignments(
    view: View,
    request: AlterPartitionReassignmentsRequest,
    rules: TopicRules,
    hosting: HostingLimit,
) -> Steps[Decision[AlterPartitionReassignmentsResponse]]:
    """Begin, change or cancel reassignments; each partition on its own."""
    records: list[MetadataRecord] = []
    room = HostingRoom(hosting, view.image)
    fixed_factor = not request.allow_replication_factor_change
    answer = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
    )
    pace = Pace()
    for asked in request.topics:
        if pace.is_full():
            yield None
        pieces = REASSIGNMENT if view.image.topics.get(asked.name) else 1
        answers = ReassignableTopicResponse(asked.name)
        answer.responses.append(answers)
        for target in asked.partitions:
            if pace.is_full(pieces):
                yield None
            outcome = _alter(view.image, asked.name, target, fixed_factor, rules, room)
            error = outcome if isinstance(outcome, ApiError) else _ACCEPTED
            if outcome is not None and not isinstance(outcome, ApiError):
                records.append(outcome)
            answers.partitions.append(
                ReassignablePartitionResponse(target.partition_index, error.code, error.message)
            )
    if len(records) > MAX_RECORDS_PER_OPERATION:
        return Decision(TOO_MANY_RECORDS)
    return Decision(answer, records)


def _alter(
    image: MetadataImage,
    name: str,
    target: ReassignablePartition,
    fixed_factor: bool,
    rules: TopicRules,
    room: HostingRoom,
) -> PartitionChangeRecord | ApiError | None:
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
    full = room.take([[one for one in target.replicas if one not in partition.replicas]])
    if full is not None:
        return full
    change = rules.of(image, topic)._replace(election=Election.ONLINE)
    targets = _targets(partition, target.replicas)
    return partition_change(topic.id, index, partition, change, targets)


def _targets(partition: PartitionRegistration, replicas: Sequence[int]) -> Targets:
    begun = begin(partition.replicas, replicas)
    coming = (*partition.adding_replicas, *begun.adding)
    adding = sorted(replica for replica in begun.replicas if replica in coming)
    return Targets(replicas=begun.replicas, removing=begun.removing, adding=adding)


def _target_factor(partition: PartitionRegistration) -> int:
    """How many replicas `partition` will have when its present reassignment is over."""
    removing = partition.removing_replicas
    return sum(1 for replica in partition.replicas if replica not in removing)


def _cancel(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    partition: PartitionRegistration,
    rules: TopicRules,
) -> PartitionChangeRecord | ApiError | None:
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
    view: View, request: ListPartitionReassignmentsRequest
) -> Steps[Decision[ListPartitionReassignmentsResponse]]:
    """What is under way, of the partitions that are named, or of all."""
    answer = ListPartitionReassignmentsResponse(error_message=None)
    pace = Pace()
    for topic, indexes in _asked(view.image, request):
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
            answer.topics.append(ongoing)
    return Decision(answer)


def _asked(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[TopicImage | None, Sequence[int]]]:
    if request.topics is None:
        for topic in image.topics.by_name.values():
            yield topic, list(topic.partitions)
        return
    for asked in request.topics:
        yield image.topics.get(asked.name), asked.partition_indexes

"""AlterPartition: the leader of a partition asks for another in-sync set.

A leader shrinks or grows its ISR only through the controller, which refuses what does not fit:

    NOT_CONTROLLER          an epoch that is higher than ours: this node is no longer the controller
    FENCED_LEADER_EPOCH     an older leader
    INVALID_REQUEST         not the leader; or an ISR that cannot be
    INVALID_UPDATE_VERSION  the partition has changed since
    INELIGIBLE_REPLICA      a broker in the new ISR is fenced, shutting down, another incarnation,
                            or has lost the directory of its replica
    NEW_LEADER_ELECTED      taken in, and the reassignment that it ended moved the leadership

A broker that wants to be in an ISR must be alive in the same incarnation that fetched: otherwise a
restart that lost records could be counted as in sync (KIP-903).

Never: believes the epochs of anyone but the sender. Follows KIP-497, KIP-704 (recovery state),
KIP-841 (ineligible replicas), KIP-903 and Kafka's `ReplicationControlManager.alterPartition`.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.decisions.change_rules import TopicRules
from controller.decisions.cluster_control import epoch_fault
from controller.decisions.decision import Decision, View
from controller.decisions.partition_change import Targets, has_directory, partition_change
from controller.metadata.image import (
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from controller.metadata.records import MetadataRecord
from controller.metadata.topics_delta import merge
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    BrokerState,
)

ANY_EPOCH = -1
"""A broker epoch that is not checked."""


def alter_partitions(
    view: View, request: AlterPartitionRequest, rules: TopicRules
) -> Decision[AlterPartitionResponse]:
    """Take the new ISRs in, each partition on its own; the reply is the whole answer."""
    image = view.image
    error = epoch_fault(image, request.broker_id, request.broker_epoch)
    if error is not None:
        return Decision(error)
    records: list[MetadataRecord] = []
    changed: dict[tuple[bytes, int], PartitionRegistration] = {}
    answer = AlterPartitionResponse()
    for asked in request.topics:
        answers = AlterPartitionResponseTopicData(asked.topic_id)
        answer.topics.append(answers)
        topic = image.topics.get_by_id(asked.topic_id)
        for data in asked.partitions:
            if topic is None:
                answers.partitions.append(_refused(data, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            key = (topic.id, data.partition_index)
            partition = changed.get(key) or topic.partitions.get(data.partition_index)
            code = _fault(image, request.broker_id, partition, data)
            if partition is None or code is not ErrorCode.NONE:
                answers.partitions.append(_refused(data, code))
                continue
            record = _change(image, topic, partition, data, rules)
            if record is not None:
                records.append(record)
                partition = changed[key] = merge(partition, record)
                if record.leader not in (request.broker_id, NO_LEADER_CHANGE):
                    refusal = _refused(data, ErrorCode.NEW_LEADER_ELECTED)
                    answers.partitions.append(refusal)
                    continue
            answers.partitions.append(_taken(data, partition))
    return Decision(answer, records, atomic=False)


def _change(
    image: MetadataImage,
    topic: TopicImage,
    partition: PartitionRegistration,
    data: AlterPartitionRequestPartitionData,
    rules: TopicRules,
) -> MetadataRecord | None:
    isr = [state.broker_id for state in new_isr(data)]
    targets = Targets(isr=isr, leader_recovery_state=data.leader_recovery_state)
    return partition_change(
        topic.id, data.partition_index, partition, rules.of(image, topic), targets
    )


def new_isr(data: AlterPartitionRequestPartitionData) -> Sequence[BrokerState]:
    """The ISR that is asked for; version 2 names no epochs."""
    return data.new_isr_with_epochs or [BrokerState(replica) for replica in data.new_isr]


def _fault(
    image: MetadataImage,
    broker_id: int,
    partition: PartitionRegistration | None,
    data: AlterPartitionRequestPartitionData,
) -> ErrorCode:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ahead = data.leader_epoch > partition.leader_epoch
    if ahead or data.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if data.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if data.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return _isr_fault(image, partition, data)


def _isr_fault(
    image: MetadataImage,
    partition: PartitionRegistration,
    data: AlterPartitionRequestPartitionData,
) -> ErrorCode:
    states = new_isr(data)
    isr = [state.broker_id for state in states]
    unique = len(dict.fromkeys(isr)) == len(isr)
    if not unique or any(replica not in partition.replicas for replica in isr):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    state = data.leader_recovery_state
    if state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if any(not _eligible(image, partition, state) for state in states):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(image: MetadataImage, partition: PartitionRegistration, state: BrokerState) -> bool:
    broker = image.brokers.get(state.broker_id)
    if broker is None or not broker.active:
        return False
    if not has_directory(broker, partition.directory_of(state.broker_id)):
        return False  # it could not lead either, and is still to say where its new copy is
    return state.broker_epoch in (ANY_EPOCH, broker.epoch)


def _refused(
    data: AlterPartitionRequestPartitionData, code: ErrorCode
) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(data.partition_index, int(code))


def _taken(
    data: AlterPartitionRequestPartitionData, partition: PartitionRegistration
) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(
        partition_index=data.partition_index,
        error_code=ErrorCode.NONE,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )

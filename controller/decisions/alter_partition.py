"""AlterPartition: the leader of a partition asks for another in-sync set.

A leader shrinks or grows its ISR only through the controller, which rejects invalid requests:

    NOT_CONTROLLER          an epoch that is higher than ours: this node is no longer the controller
    FENCED_LEADER_EPOCH     an older leader
    INVALID_REQUEST         not the leader; or an ISR that is impossible
    INVALID_UPDATE_VERSION  the partition has changed since
    INELIGIBLE_REPLICA      a broker in the new ISR is fenced, shutting down, another incarnation,
                            or has lost the directory of its replica
    NEW_LEADER_ELECTED      accepted, but it ended a reassignment that moved the leadership

A broker may join an ISR only if it is alive in the same incarnation that fetched. Otherwise a
broker that lost records in a restart could be counted as in sync (KIP-903).

Never: trusts epochs of brokers other than the sender. Follows KIP-497, KIP-704 (recovery state),
KIP-841 (ineligible replicas), KIP-903 and Kafka's `ReplicationControlManager.alterPartition`.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.decisions.change_rules import TopicRulesMaker
from controller.decisions.cluster_control import epoch_fault
from controller.decisions.decision import Decision, DecisionView
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
    view: DecisionView, request: AlterPartitionRequest, rules: TopicRulesMaker
) -> Decision[AlterPartitionResponse]:
    """Return the decision that applies the requested ISRs, each partition on its own.

    The reply is the response, with the new state or an error of each partition. It is
    STALE_BROKER_EPOCH alone if the request is not from the sender's present incarnation.
    """
    image = view.image
    error = epoch_fault(image, request.broker_id, request.broker_epoch)
    if error is not None:
        return Decision(error)
    records: list[MetadataRecord] = []
    changed: dict[tuple[bytes, int], PartitionRegistration] = {}
    response = AlterPartitionResponse()
    for topic_data in request.topics:
        topic_response = AlterPartitionResponseTopicData(topic_data.topic_id)
        response.topics.append(topic_response)
        topic = image.topics.get_by_id(topic_data.topic_id)
        for data in topic_data.partitions:
            if topic is None:
                topic_response.partitions.append(_refused(data, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            key = (topic.id, data.partition_index)
            partition = changed.get(key) or topic.partitions.get(data.partition_index)
            code = _fault(image, request.broker_id, partition, data)
            if partition is None or code is not ErrorCode.NONE:
                topic_response.partitions.append(_refused(data, code))
                continue
            record = _isr_change(image, topic, partition, data, rules)
            if record is not None:
                records.append(record)
                partition = changed[key] = merge(partition, record)
                if record.leader not in (request.broker_id, NO_LEADER_CHANGE):
                    refusal = _refused(data, ErrorCode.NEW_LEADER_ELECTED)
                    topic_response.partitions.append(refusal)
                    continue
            topic_response.partitions.append(_accepted(data, partition))
    return Decision(response, records, atomic=False)


def _isr_change(
    image: MetadataImage,
    topic: TopicImage,
    partition: PartitionRegistration,
    data: AlterPartitionRequestPartitionData,
    rules: TopicRulesMaker,
) -> MetadataRecord | None:
    """Return the record that makes the requested ISR and recovery state those of the partition,
    None if nothing changes."""
    isr = [state.broker_id for state in new_isr(data)]
    targets = Targets(isr=isr, leader_recovery_state=data.leader_recovery_state)
    return partition_change(
        topic.id, data.partition_index, partition, rules.of(image, topic), targets
    )


def new_isr(data: AlterPartitionRequestPartitionData) -> Sequence[BrokerState]:
    """Return the requested ISR; version 2 has broker ids without epochs, which become -1."""
    return data.new_isr_with_epochs or [BrokerState(replica) for replica in data.new_isr]


def _fault(
    image: MetadataImage,
    broker_id: int,
    partition: PartitionRegistration | None,
    data: AlterPartitionRequestPartitionData,
) -> ErrorCode:
    """Return the error of a partition's part of the request: an unknown partition, an epoch other
    than the present one, a sender that does not lead, or an invalid ISR. NONE if it is valid."""
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
    """Return INVALID_REQUEST for an impossible ISR or recovery state, INELIGIBLE_REPLICA if a
    broker may not be in the ISR, and NONE if all is valid."""
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
    """Return whether the broker may be in the ISR: it is active, its epoch is the registered one or
    ANY_EPOCH, and the directory of its replica is online."""
    broker = image.brokers.get(state.broker_id)
    if broker is None or not broker.active:
        return False
    if not has_directory(broker, partition.directory_of(state.broker_id)):
        return False  # it could not lead either, and must first report the new replica's directory
    return state.broker_epoch in (ANY_EPOCH, broker.epoch)


def _refused(
    data: AlterPartitionRequestPartitionData, code: ErrorCode
) -> AlterPartitionResponsePartitionData:
    """Return the partition's part of the response with the error `code`."""
    return AlterPartitionResponsePartitionData(data.partition_index, int(code))


def _accepted(
    data: AlterPartitionRequestPartitionData, partition: PartitionRegistration
) -> AlterPartitionResponsePartitionData:
    """Return the partition's part of the response with the state in `partition`."""
    return AlterPartitionResponsePartitionData(
        partition_index=data.partition_index,
        error_code=ErrorCode.NONE,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )

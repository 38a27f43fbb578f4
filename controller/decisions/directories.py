"""The log directory of each replica, and the changes when a directory goes offline.

A broker with several log.dirs chooses the directory of each replica itself and reports it to the
controller (AssignReplicasToDirs). When a directory fails, the broker's next heartbeat names it.
Then all its replicas leave their ISRs and leaderships in one decision, as if that part of the
broker had been fenced.

Owns: those two decisions. Never: chooses a directory, except a broker's only one, see
`controller.decisions.partition_change`.

Follows KIP-858 and Kafka's `ReplicationControlManager.handleAssignReplicasToDirs`,
`handleDirectoriesOffline`.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.decisions.cluster_control import epoch_fault
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.leadership_changes import LeadershipChanges
from controller.decisions.partition_change import Targets, has_directory, partition_change
from controller.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from controller.metadata.records import MetadataRecord
from controller.metadata.topics_delta import merge
from controller.metadata.version import has_directories
from protocol.errors import ApiError, ErrorCode
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)


def assign_replicas(
    view: DecisionView, request: AssignReplicasToDirsRequest, leadership: LeadershipChanges
) -> Decision[AssignReplicasToDirsResponse]:
    """Return the decision that records in which directories a broker has its replicas.

    The reply is the response, with a result of each partition. It is UNSUPPORTED_VERSION or
    STALE_BROKER_EPOCH alone if the whole request is rejected.
    """
    image = view.image
    if not has_directories(image.metadata_level):
        text = "Directory assignment is not supported yet."
        return Decision(ApiError(ErrorCode.UNSUPPORTED_VERSION, text))
    error = epoch_fault(image, request.broker_id, request.broker_epoch)
    if error is not None:
        return Decision(error)
    assignment = _Assignment(image, request.broker_id, leadership)
    response = AssignReplicasToDirsResponse()
    for directory in request.directories:
        directory_response = AssignReplicasToDirsResponseDirectoryData(directory.id)
        response.directories.append(directory_response)
        for topic in directory.topics:
            indexes = [partition.partition_index for partition in topic.partitions]
            codes = assignment.assign(topic.topic_id, indexes, directory.id)
            results = [
                AssignReplicasToDirsResponsePartitionData(index, int(code))
                for index, code in zip(indexes, codes, strict=True)
            ]
            directory_response.topics.append(
                AssignReplicasToDirsResponseTopicData(topic.topic_id, results)
            )
    return Decision(response, assignment.records, atomic=False)


class _Assignment:
    """The state of one request; a partition may appear in it more than once."""

    def __init__(self, image: MetadataImage, broker_id: int, leadership: LeadershipChanges) -> None:
        self._image, self._broker_id, self._leadership = image, broker_id, leadership
        self._changed: dict[tuple[bytes, int], PartitionRegistration] = {}
        self.records: list[MetadataRecord] = []

    def assign(self, topic_id: bytes, indexes: Sequence[int], directory: bytes) -> list[ErrorCode]:
        """Assign `directory` to the broker's replicas of a topic, and add the records. Return an
        error, or NONE, for each index."""
        topic = self._image.topics.get_by_id(topic_id)
        if topic is None:
            return [ErrorCode.UNKNOWN_TOPIC_ID] * len(indexes)
        return [self._assign(topic, index, directory) for index in indexes]

    def _assign(self, topic: TopicImage, index: int, directory: bytes) -> ErrorCode:
        """Assign `directory` to the broker's replica, and add the records. Return the error or
        NONE.

        The replica also leaves the ISR and leadership if the broker does not have `directory`
        online. The same holds if the replica's previous directory is gone and the partition has
        other replicas.
        """
        key, broker_id = (topic.id, index), self._broker_id
        partition = self._changed.get(key) or topic.partitions.get(index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        rules = self._leadership.rules.of(self._image, topic)
        before = partition.directory_of(broker_id)
        is_new_copy = before != directory and not has_directory(
            self._image.brokers[broker_id], before
        )
        if is_new_copy and len(partition.replicas) > 1:
            # The replica did not move: its disk is lost, and this copy starts empty, so it proves
            # nothing. (A sole replica never starts empty: its broker has found its log.)
            rules = rules._replace(lost=(broker_id,))
        record = partition_change(
            topic.id, index, partition, rules, Targets(directories={broker_id: directory})
        )
        if record is not None:
            self.records.append(record)
            partition = self._changed[key] = merge(partition, record)
        if not has_directory(self._image.brokers[broker_id], directory):
            lost = self._leadership.replica_lost(self._image, topic, index, partition, broker_id)
            if lost is not None:
                self.records.append(lost)
                self._changed[key] = merge(partition, lost)
        return ErrorCode.NONE

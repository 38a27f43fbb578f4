"""The sender of AssignReplicasToDirs, which reports the log directories of replicas (KIP-858).

The broker chooses the directory of a new replica if it has several directories, or if the directory
that the metadata names is gone (a replaced disk). Until the controller knows the new directory, it
counts the replica as offline once the old directory is gone, and never elects it leader.

Owns the directories that the controller does not know yet, one for each partition, and sends one
request at a time. Never chooses a directory for a log that exists. Follows Kafka's
`AssignmentsManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from broker.replication.partition import Partition
from broker.replication.to_controller import ToController
from controller.metadata.image import LOST_DIRECTORY, PartitionRegistration
from ground.ports import Scheduler
from protocol.errors import ErrorCode
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)

_log = logging.getLogger(f"ottla.{__name__}")

ASSIGNMENTS_MAX = 2250
"""The most partitions in a request, as in Kafka."""
FIRST_BACKOFF_MS = 500
LAST_BACKOFF_MS = 10_000

PartitionKey = tuple[bytes, int]

# The partition is gone, or not on this broker; the metadata that says so follows.
_GONE = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)


class AssignmentsManager:
    """The directories of this broker's replicas that the controller does not know yet."""

    def __init__(
        self,
        scheduler: Scheduler,
        to_controller: ToController,
        node_id: int,
        broker_epoch: Callable[[], int],
        directory_ids: Mapping[str, bytes],
    ) -> None:
        """Create a manager with nothing to report.

        `directory_ids` has the ids of the log directories by path.
        """
        self._scheduler = scheduler
        self._to_controller = to_controller
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._ids = directory_ids
        self._to_report: dict[PartitionKey, bytes] = {}
        self._under_way = False
        self._failures = 0

    def placed(self, partition: Partition, registration: PartitionRegistration) -> None:
        """Report to the controller the directory of a partition whose log is open. If the
        controller knows it, drop the waiting report."""
        key = (partition.topic_id, partition.index)
        directory = self._ids.get(partition.log.log_dir)
        if directory is None or registration.directory_of(self._node_id) == directory:
            self._to_report.pop(key, None)
            return
        self._report(key, directory)

    def lost(self, topic_id: bytes, index: int) -> None:
        """Report to the controller that a replica's log is lost or unusable.

        The controller then neither elects the replica nor counts it as in sync.
        """
        self._report((topic_id, index), LOST_DIRECTORY)

    def _report(self, key: PartitionKey, directory: bytes) -> None:
        """Queue a replica's directory for the controller. Unless a request is under way, send all
        that this turn of the loop queues."""
        self._to_report[key] = directory
        if not self._under_way:
            self._under_way = True
            self._scheduler.call_soon(self._send)

    def forget(self, topic_id: bytes, index: int) -> None:
        """Drop the report about a replica that left this broker."""
        self._to_report.pop((topic_id, index), None)

    def _send(self) -> None:
        """Send up to ASSIGNMENTS_MAX waiting reports in one request; the rest follows after the
        answer."""
        sent = dict(list(self._to_report.items())[:ASSIGNMENTS_MAX])
        if not sent:
            self._under_way = False
            return
        directories: dict[bytes, AssignReplicasToDirsRequestDirectoryData] = {}
        topics: dict[tuple[bytes, bytes], AssignReplicasToDirsRequestTopicData] = {}
        for (topic_id, index), directory_id in sent.items():
            topic = topics.get((directory_id, topic_id))
            if topic is None:
                topic = AssignReplicasToDirsRequestTopicData(topic_id)
                topics[(directory_id, topic_id)] = topic
                directories.setdefault(
                    directory_id, AssignReplicasToDirsRequestDirectoryData(directory_id)
                ).topics.append(topic)
            topic.partitions.append(AssignReplicasToDirsRequestPartitionData(index))
        request = AssignReplicasToDirsRequest(
            self._node_id, self._broker_epoch(), list(directories.values())
        )
        self._to_controller(request, lambda response: self._answered(sent, response))

    def _answered(
        self, sent: dict[PartitionKey, bytes], response: AssignReplicasToDirsResponse | None
    ) -> None:
        """Remove the reports that the controller accepted, and send the waiting ones.

        Retry after a growing delay if the answer is missing or has an error.
        """
        must_retry = response is None or bool(response.error_code)
        if response is not None and not response.error_code:
            must_retry = self._take(sent, response)
        if not must_retry:
            self._failures = 0
            self._send()
            return
        delay_ms = min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS << min(self._failures, 16))
        self._failures += 1
        code = ErrorCode(response.error_code).name if response is not None else "no answer"
        _log.info("AssignReplicasToDirs: %s; trying again in %d ms", code, delay_ms)
        self._scheduler.call_later(delay_ms, self._send)

    def _take(
        self, sent: dict[PartitionKey, bytes], response: AssignReplicasToDirsResponse
    ) -> bool:
        """Remove the reports that succeeded. Return whether some must be sent again."""
        codes = {
            (topic.topic_id, partition.partition_index): ErrorCode(partition.error_code)
            for directory in response.directories
            for topic in directory.topics
            for partition in topic.partitions
        }
        must_retry = False
        for key, directory_id in sent.items():
            code = codes.get(key, ErrorCode.UNKNOWN_SERVER_ERROR)
            if code and code not in _GONE:
                must_retry = True
            elif self._to_report.get(key) == directory_id:
                del self._to_report[key]
        return must_retry

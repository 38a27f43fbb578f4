"""AlterReplicaLogDirs: v1-2 (KIP-113).

Behaviour: moves replicas of this broker into the named directory, in the background. The answer
says that the move has begun, or why not. A partition that only other brokers have is
REPLICA_NOT_AVAILABLE, one that does not exist is UNKNOWN_TOPIC_OR_PARTITION. If this broker gets
such a partition later, its log is created in that directory; `kafka-reassign-partitions` retries
until then. A directory that no config names is LOG_DIR_NOT_FOUND, a failed one is
KAFKA_STORAGE_ERROR. Moving a replica to the directory that it is in cancels a move in progress. If
no file descriptor is left for the copy, the error is POLICY_VIOLATION.

Rights: Alter on the cluster.

Versions: v2 flexible.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Pace, Steps, in_bulk, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from storage.directories.future_logs import NAME_LENGTH_MAX
from storage.log.log_dir_failure import DescriptorsLack, LogDirFailure, LogPlaceTaken

MOVE = 25
"""The pieces of work (`Pace`) that the start of a move counts as, because it creates a folder."""

_log = logging.getLogger(f"ottla.{__name__}")


class AlterReplicaLogDirsApi:
    """The handler of AlterReplicaLogDirs."""

    def __init__(
        self, log_dirs: Sequence[str], replicas: ReplicaManager, answers: SlicedAnswers
    ) -> None:
        """`log_dirs` are all log directories of this node."""
        self._answers = answers
        self._log_dirs = log_dirs
        self._replicas = replicas

    def apis(self) -> list[Api]:
        return [Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, self.handle, refuse_alter_log_dirs)]

    def handle(
        self, context: RequestContext, request: AlterReplicaLogDirsRequest, respond: Respond
    ) -> None:
        """Start the moves, and respond with an error code for each partition:
        CLUSTER_AUTHORIZATION_FAILED without ALTER on the cluster. The moves go on in the
        background."""
        if context.rights.allows_on_cluster(Operation.ALTER):
            steps = self._move_all(request)
        else:
            steps = _all_refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self._answers.give(context, request, steps, respond, refuse_alter_log_dirs)

    def _move_all(self, request: AlterReplicaLogDirsRequest) -> Steps[AlterReplicaLogDirsResponse]:
        """Start the moves, and return the response, which does not wait for their ends."""
        pace = Pace()
        results: dict[str, AlterReplicaLogDirTopicResult] = {}
        for log_dir in request.dirs:
            if pace.is_full():
                yield None
            for topic in log_dir.topics:
                if pace.is_full():
                    yield None
                result = results.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
                for index in topic.partitions:
                    is_here = self._replicas.partition(topic.name, index) is not None
                    if pace.is_full(MOVE if is_here else 1):
                        yield None
                    error = self._move(topic.name, index, log_dir.path)
                    result.partitions.append(AlterReplicaLogDirPartitionResult(index, int(error)))
        response = AlterReplicaLogDirsResponse()
        yield from in_bulk(response.results.extend, results.values())
        return response

    def _move(self, topic: str, index: int, log_dir: str) -> ErrorCode:
        """Start to move a replica to `log_dir`, and return NONE, or the error to answer.

        If this broker has no such replica, its log will be created in `log_dir` later. The client
        gets REPLICA_NOT_AVAILABLE or the reason why there is none.
        """
        replicas = self._replicas
        if len(topic) > NAME_LENGTH_MAX:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if log_dir not in self._log_dirs:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if log_dir not in replicas.log_manager.online_dirs:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = replicas.partition(topic, index)
        if partition is None:
            absent = replicas.why_absent(topic, index)
            if absent is ErrorCode.KAFKA_STORAGE_ERROR:
                return absent
            replicas.log_manager.prefer_dir((topic, index), log_dir)
            elsewhere = absent is ErrorCode.NOT_LEADER_OR_FOLLOWER
            return ErrorCode.REPLICA_NOT_AVAILABLE if elsewhere else absent
        if partition.log.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            replicas.mover.move(partition, log_dir)
        except DescriptorsLack as lack:
            _log.warning("%s", lack)
            return ErrorCode.POLICY_VIOLATION
        except LogPlaceTaken as error:
            _log.warning("%s-%d is not moved: %s", topic, index, error.why)
            return ErrorCode.KAFKA_STORAGE_ERROR
        except LogDirFailure:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE


def refuse_alter_log_dirs(
    request: AlterReplicaLogDirsRequest, error: ErrorCode
) -> AlterReplicaLogDirsResponse:
    """Return a response with `error` for every partition."""
    return in_one_go(_all_refused(request, error))


def _all_refused(
    request: AlterReplicaLogDirsRequest, error: ErrorCode
) -> Steps[AlterReplicaLogDirsResponse]:
    """Return a response with `error` for every partition of the request."""
    pace = Pace()
    response = AlterReplicaLogDirsResponse()
    for log_dir in request.dirs:
        if pace.is_full():
            yield None
        for topic in log_dir.topics:
            if pace.is_full():
                yield None
            result = AlterReplicaLogDirTopicResult(topic.name)
            for index in topic.partitions:
                if pace.is_full():
                    yield None
                result.partitions.append(AlterReplicaLogDirPartitionResult(index, int(error)))
            response.results.append(result)
    return response

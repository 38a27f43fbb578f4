"""DescribeLogDirs: v1-5 (KIP-113).

Behaviour: every log directory of this broker with its error, room on its volume and the size of
each partition asked for, a copy that is on its way into it among them; null topics are all, an
empty list none. A directory that failed says KAFKA_STORAGE_ERROR and nothing else.

Rights: Describe on the cluster. Before v3 the answer to one who lacks it is only empty.

Versions: v2 flexible, v3 an error for the whole answer, v4 total and usable bytes (KIP-827), v5
cordoned directories (KIP-1066), of which there are none here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import BULK_AT_ONCE, Pace, Steps
from ground.topic_partition import TopicPartition
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from storage.directories.log_manager import LogManager
from storage.log.log_dir_failure import LogDirFailure
from storage.log.unified_log import UnifiedLog

NO_LAG = -1


class DescribeLogDirsApi:
    """What lies in which directory."""

    def __init__(self, log_dirs: Sequence[str], logs: LogManager, answers: SlicedAnswers) -> None:
        """`log_dirs`: all directories of this node, in the order of the config."""
        self._log_dirs = log_dirs
        self._logs = logs
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, self.handle, refuse_describe_log_dirs)]

    def handle(
        self, context: RequestContext, request: DescribeLogDirsRequest, respond: Respond
    ) -> None:
        if not context.rights.allows_on_cluster(Operation.DESCRIBE):
            respond(refuse_describe_log_dirs(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        steps = self._answer(context.api_version, request)
        self._answers.give(context, request, steps, respond, refuse_describe_log_dirs)

    def _answer(
        self, version: int, request: DescribeLogDirsRequest
    ) -> Steps[DescribeLogDirsResponse]:
        """The logs that a directory has when its turn comes, each as large as it is at its own."""
        pace, results = Pace(), []
        wanted = yield from _wanted(request)
        for log_dir in self._log_dirs:
            results.append((yield from self._result(log_dir, wanted, version, pace)))
        return DescribeLogDirsResponse(results=results)

    def _result(
        self,
        log_dir: str,
        wanted: dict[tuple[str, int], None] | None,
        version: int,
        pace: Pace,
    ) -> Steps[DescribeLogDirsResult]:
        failed = DescribeLogDirsResult(int(ErrorCode.KAFKA_STORAGE_ERROR), log_dir)
        if log_dir not in self._logs.online_dirs:
            return failed
        try:
            usage = self._logs.usage(log_dir)
        except LogDirFailure:
            return failed
        topics: dict[str, DescribeLogDirsTopic] = {}
        for partition, told in self._partitions(log_dir):
            if pace.is_full():
                yield None
            if wanted is None or partition in wanted:
                name, _ = partition
                topics.setdefault(name, DescribeLogDirsTopic(name)).partitions.append(told())
        described = Items[DescribeLogDirsTopic](version)
        for topic in topics.values():
            if pace.is_full(1 + len(topic.partitions)):
                yield None
            described.add(topic, 1 + len(topic.partitions))
        return DescribeLogDirsResult(
            0, log_dir, described.array(), usage.total_bytes, usage.usable_bytes
        )

    def _partitions(
        self, log_dir: str
    ) -> Sequence[tuple[TopicPartition, Callable[[], DescribeLogDirsPartition]]]:
        """Each partition that lies there, with what is told of it."""
        logs = [(log.partition, partial(_told, log)) for log in self._logs.logs_in(log_dir)]
        copies = self._logs.future_logs_in(log_dir)
        return logs + [(log.partition, partial(_told_of_copy, log, of)) for log, of in copies]


def _told(log: UnifiedLog) -> DescribeLogDirsPartition:
    lag = max(log.high_watermark - log.log_end_offset, 0)
    return DescribeLogDirsPartition(log.partition.partition, log.segments.size_bytes, lag)


def _told_of_copy(log: UnifiedLog, of: UnifiedLog | None) -> DescribeLogDirsPartition:
    lag = NO_LAG if of is None else of.log_end_offset - log.log_end_offset
    return DescribeLogDirsPartition(log.partition.partition, log.segments.size_bytes, lag, True)


def refuse_describe_log_dirs(
    _request: DescribeLogDirsRequest, error: ErrorCode
) -> DescribeLogDirsResponse:
    """The response that says `error`, and nothing of a directory."""
    return DescribeLogDirsResponse(error_code=int(error))


def _wanted(request: DescribeLogDirsRequest) -> Steps[dict[tuple[str, int], None] | None]:
    if request.topics is None:
        return None
    wanted: dict[tuple[str, int], None] = {}
    pace = Pace(BULK_AT_ONCE)
    for topic in request.topics:
        if pace.is_full():
            yield None
        for index in topic.partitions:
            if pace.is_full():
                yield None
            wanted[topic.topic, index] = None
    return wanted

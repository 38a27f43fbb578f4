"""DescribeLogDirs: v1-5 (KIP-113).

Behaviour: returns every log directory of this broker with its error, the space on its volume and
the size of each requested partition. Future replicas that are being copied into it are included.
Null topics mean all, an empty list none. A failed directory has KAFKA_STORAGE_ERROR and nothing
else.

Rights: Describe on the cluster. Before v3, a response without that right is empty.

Versions: v2 flexible, v3 an error for the whole response, v4 total and usable bytes (KIP-827), v5
cordoned directories (KIP-1066), which this broker does not have.
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
    """The handler of DescribeLogDirs."""

    def __init__(self, log_dirs: Sequence[str], logs: LogManager, answers: SlicedAnswers) -> None:
        """`log_dirs` are all log directories of this node, in the order of the config."""
        self._log_dirs = log_dirs
        self._logs = logs
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, self.handle, refuse_describe_log_dirs)]

    def handle(
        self, context: RequestContext, request: DescribeLogDirsRequest, respond: Respond
    ) -> None:
        """Respond with this broker's log directories and the requested replicas in them, or with an
        error if the client lacks DESCRIBE on the cluster."""
        if not context.rights.allows_on_cluster(Operation.DESCRIBE):
            respond(refuse_describe_log_dirs(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        steps = self._answer(context.api_version, request)
        self._answers.give(context, request, steps, respond, refuse_describe_log_dirs)

    def _answer(
        self, version: int, request: DescribeLogDirsRequest
    ) -> Steps[DescribeLogDirsResponse]:
        """Return the response. Directories, and the sizes of logs, are read at different times."""
        pace, results = Pace(), []
        wanted = yield from _wanted_partitions(request)
        for log_dir in self._log_dirs:
            results.append((yield from self._log_dir_result(log_dir, wanted, version, pace)))
        return DescribeLogDirsResponse(results=results)

    def _log_dir_result(
        self,
        log_dir: str,
        wanted: dict[tuple[str, int], None] | None,
        version: int,
        pace: Pace,
    ) -> Steps[DescribeLogDirsResult]:
        """Return the replicas in `log_dir`, all if `wanted` is None, and the total and usable bytes
        of its disk.

        An offline directory gets KAFKA_STORAGE_ERROR.
        """
        failed = DescribeLogDirsResult(int(ErrorCode.KAFKA_STORAGE_ERROR), log_dir)
        if log_dir not in self._logs.online_dirs:
            return failed
        try:
            usage = self._logs.usage(log_dir)
        except LogDirFailure:
            return failed
        topics: dict[str, DescribeLogDirsTopic] = {}
        for partition, describe in self._partitions(log_dir):
            if pace.is_full():
                yield None
            if wanted is None or partition in wanted:
                name, _ = partition
                topics.setdefault(name, DescribeLogDirsTopic(name)).partitions.append(describe())
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
        """Return each partition in the directory, with a function that describes it."""
        logs = [
            (log.partition, partial(_described_log, log)) for log in self._logs.logs_in(log_dir)
        ]
        copies = self._logs.future_logs_in(log_dir)
        return logs + [(log.partition, partial(_described_copy, log, of)) for log, of in copies]


def _described_log(log: UnifiedLog) -> DescribeLogDirsPartition:
    """Return a replica's size and the offsets by which it lags behind the high watermark."""
    lag = max(log.high_watermark - log.log_end_offset, 0)
    return DescribeLogDirsPartition(log.partition.partition, log.segments.size_bytes, lag)


def _described_copy(log: UnifiedLog, current: UnifiedLog | None) -> DescribeLogDirsPartition:
    """Return the size of a copy that is being moved here, and its offsets behind `current`, -1 if
    that is None."""
    lag = NO_LAG if current is None else current.log_end_offset - log.log_end_offset
    return DescribeLogDirsPartition(log.partition.partition, log.segments.size_bytes, lag, True)


def refuse_describe_log_dirs(
    _request: DescribeLogDirsRequest, error: ErrorCode
) -> DescribeLogDirsResponse:
    """Return a response with `error` and no directories."""
    return DescribeLogDirsResponse(error_code=int(error))


def _wanted_partitions(
    request: DescribeLogDirsRequest,
) -> Steps[dict[tuple[str, int], None] | None]:
    """Return the requested partitions, each once; None if the client asks for all."""
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

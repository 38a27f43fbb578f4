"""DescribeLogDirs: v1-5 (KIP-113).

Behaviour: every log directory of this broker with its error, room on its volume and the size of
each partition asked for, a copy that is on its way into it among them; null topics are all, an
empty list none. A directory that failed says KAFKA_STORAGE_ERROR and nothing else.

Rights: Describe on the cluster. Before v3 the answer to one who lacks it is only empty.

Versions: v2 flexible, v3 an error for the whole answer, v4 total and usable bytes (KIP-827), v5
cordoned directories (KIP-1066), of which there are none here.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.requests.context import Api, RequestContext, Respond
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from storage.directories.log_manager import LogManager
from storage.log.log_dir_failure import LogDirFailure

NO_LAG = -1


class DescribeLogDirsApi:
    """What lies in which directory."""

    def __init__(self, log_dirs: Sequence[str], logs: LogManager) -> None:
        """`log_dirs`: all directories of this node, in the order of the config."""
        self._log_dirs = log_dirs
        self._logs = logs

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, self.handle)]

    def handle(
        self, context: RequestContext, request: DescribeLogDirsRequest, respond: Respond
    ) -> None:
        if not context.rights.allows_on_cluster(Operation.DESCRIBE):
            code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            respond(DescribeLogDirsResponse(error_code=int(code)))
            return
        wanted = _wanted(request)
        respond(
            DescribeLogDirsResponse(results=[self._result(one, wanted) for one in self._log_dirs])
        )

    def _result(
        self, log_dir: str, wanted: dict[tuple[str, int], None] | None
    ) -> DescribeLogDirsResult:
        failed = DescribeLogDirsResult(int(ErrorCode.KAFKA_STORAGE_ERROR), log_dir)
        if log_dir not in self._logs.online_dirs:
            return failed
        try:
            usage = self._logs.usage(log_dir)
        except LogDirFailure:
            return failed
        topics: dict[str, DescribeLogDirsTopic] = {}
        for log in self._logs.logs_in(log_dir):
            name, index = log.partition
            if wanted is not None and (name, index) not in wanted:
                continue
            topic = topics.setdefault(name, DescribeLogDirsTopic(name))
            lag = max(log.high_watermark - log.log_end_offset, 0)
            topic.partitions.append(DescribeLogDirsPartition(index, log.segments.size_bytes, lag))
        for log, current in self._logs.future_logs_in(log_dir):
            name, index = log.partition
            if wanted is not None and (name, index) not in wanted:
                continue
            topic = topics.setdefault(name, DescribeLogDirsTopic(name))
            lag = NO_LAG if current is None else current.log_end_offset - log.log_end_offset
            topic.partitions.append(
                DescribeLogDirsPartition(index, log.segments.size_bytes, lag, True)
            )
        return DescribeLogDirsResult(
            0, log_dir, list(topics.values()), usage.total_bytes, usage.usable_bytes
        )


def _wanted(request: DescribeLogDirsRequest) -> dict[tuple[str, int], None] | None:
    if request.topics is None:
        return None
    return {(topic.topic, index): None for topic in request.topics for index in topic.partitions}

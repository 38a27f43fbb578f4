"""What the storage tests share: virtual time, blocking work on demand, small logs in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ground.filesystem import Filesystem
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import in_one_go
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from protocol.records import Record
from storage.log.fetch_data import TimestampAndOffset
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.producer_rules import ProducerRules
from storage.log.time_lookup import look_up_by_time
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.batches import build_batch

LOG_DIR = "/data"
PARTITION = TopicPartition("topic", 0)
DIRECTORY = f"{LOG_DIR}/topic-0"
NOW_MS = 1_700_000_000_000


class Jobs:
    """A Blocking port: jobs run at once, or when `run` is called while `held` is set."""

    def __init__(self) -> None:
        self.held = False
        self.waiting: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        self.waiting.append((job, done))
        if not self.held:
            self.run()

    def run(self) -> None:
        """Run what waits, in order."""
        while self.waiting:
            self.run_one(0)

    def run_one(self, number: int) -> None:
        """Run one of the waiting jobs."""
        job, done = self.waiting.pop(number)
        try:
            result = job()
        except Exception as error:  # noqa: BLE001
            done(None, error)
        else:
            done(result, None)


def environment(
    filesystem: Filesystem, *, jobs: Jobs | None = None, expiration_ms: int = 86_400_000
) -> LogEnvironment:
    """Ports for one node."""
    return LogEnvironment(
        filesystem,
        SimScheduler(),
        jobs or Jobs(),
        LogDirFailureChannel(),
        ProducerRules(expiration_ms),
    )


def open_log(
    filesystem: Filesystem | None = None,
    config: LogConfig | None = None,
    *,
    ports: LogEnvironment | None = None,
    directory: str = DIRECTORY,
    clean: bool = True,
    recovery_point: int = 0,
    log_start_offset: int = 0,
) -> UnifiedLog:
    """The log of topic-0, its folder made where missing."""
    if ports is None:
        ports = environment(filesystem or MemoryFilesystem())
    ports.filesystem.make_dirs(directory)
    return UnifiedLog(
        ports,
        directory.rpartition("/")[0],
        directory,
        PARTITION,
        config or LogConfig(),
        clean=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
    )


def batch(*values: bytes | None, timestamp: int = NOW_MS, **fields: Any) -> memoryview:
    """A client's batch with these values, without keys, writable."""
    records = [Record(-1, timestamp, None, value) for value in values or (b"value",)]
    return memoryview(build_batch(records, **fields))


def keyed_batch(*pairs: tuple[bytes | None, bytes | None], **fields: Any) -> memoryview:
    """A client's batch of (key, value) pairs."""
    records = [Record(-1, NOW_MS, key, value) for key, value in pairs]
    return memoryview(build_batch(records, **fields))


def read_all(log: UnifiedLog, start: int | None = None) -> bytes:
    """Every byte of the log from `start`, slice by slice as a consumer would."""
    from protocol.record_batch import iterate_batches

    offset = log.log_start_offset if start is None else start
    data = b""
    while offset < log.log_end_offset:
        info = log.read(offset, 1 << 20)
        part = info.records if isinstance(info.records, bytes) else info.records.read()
        if not part:
            break
        for position, header in iterate_batches(part, allow_partial_tail=True):
            data += part[position : position + header.size_in_bytes]
            offset = header.next_offset
    return data


def append(log: UnifiedLog, count: int = 1, *, epoch: int = 0, times: int = 1) -> None:
    """Batches of `count` records each, so many times."""
    for _ in range(times):
        info = log.append_as_leader(batch(*[b"v" * 50] * count), epoch, NOW_MS)
        assert info.error is ErrorCode.NONE, info


def bases(log: UnifiedLog) -> list[int]:
    """The base offsets of all batches."""
    return [header.base_offset for _, header in iterate_batches(read_all(log))]


def offset_by_time(log: UnifiedLog, timestamp: int) -> TimestampAndOffset | None:
    """What ListOffsets finds, in one go."""
    return in_one_go(look_up_by_time(log, timestamp))

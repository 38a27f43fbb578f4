"""What the tests of compaction share: a small compacted log, its cleaner, and what stays of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import SlicedWork
from protocol.record_batch import RecordBatchHeader, iterate_batches
from protocol.records import iterate_records
from storage.cleaning.cleaner import clean
from storage.cleaning.cleaner_job import CleaningFailed, CleanJob, CleanResult
from storage.cleaning.cleaner_ports import CleanCallback, CleanerSettings
from storage.cleaning.log_cleaner import LogCleaner
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import LOG_DIR, environment, keyed_batch, open_log

Pair = tuple[bytes | None, bytes | None]

COMPACTED = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=1_000,
    index_interval_bytes=100,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1_000,
    file_delete_delay_ms=100,
)


class HeldRunner:
    """Jobs run when a test says so."""

    def __init__(self, disk: MemoryFilesystem) -> None:
        self.disk = disk
        self.waiting: list[tuple[CleanJob, CleanCallback]] = []
        self.cancelled: list[str] = []
        self.stopped = False

    def submit(self, job: CleanJob, done: CleanCallback) -> None:
        self.waiting.append((job, done))

    def cancel(self, directory: str) -> None:
        self.cancelled.append(directory)

    def stop(self) -> None:
        self.stopped = True

    def run(self, fail: Exception | None = None) -> CleanResult | None:
        """The oldest job, or its failure; then what the loop does."""
        job, done = self.waiting.pop(0)
        if fail is not None:
            done(None, fail)
            return None
        try:
            result = clean(self.disk, job)
        except CleaningFailed as failure:
            done(None, failure)
            return None
        done(result, None)
        return result


class Bench:
    """One log and its cleaner."""

    def __init__(self, config: LogConfig = COMPACTED, threads: int = 1) -> None:
        self.disk = MemoryFilesystem()
        self.ports: LogEnvironment = environment(self.disk)
        assert isinstance(self.ports.scheduler, SimScheduler)
        self.scheduler: SimScheduler = self.ports.scheduler
        self.disk.now_ms = self.scheduler.wall_ms
        self.log = open_log(config=config, ports=self.ports)
        self.logs: list[UnifiedLog] = [self.log]
        self.online_dirs = [LOG_DIR]
        self.runner = HeldRunner(self.disk)
        self.swaps = 0
        self.cleaner = self.new_cleaner(threads)

    def new_cleaner(self, threads: int = 1) -> LogCleaner:
        settings = CleanerSettings(log_cleaner_threads=threads, log_cleaner_backoff_ms=1_000)
        self.sliced = SlicedWork(self.scheduler, self.ports.blocking, 0)
        cleaner = LogCleaner(self.ports, self, settings, self.runner, self._swapped, self.sliced)
        cleaner.start()
        return cleaner

    def _swapped(self) -> None:
        self.swaps += 1

    def write(self, *pairs: Pair, **fields: int | bool) -> int:
        """A batch; gives its base offset."""
        now_ms = self.scheduler.wall_ms()
        info = self.log.append_as_leader(keyed_batch(*pairs, **fields), 0, now_ms)
        assert not info.error, info.error_message
        return info.first_offset

    def roll(self) -> None:
        """All that was written may be cleaned."""
        self.log.roll()
        self.log.flusher.flush_now()
        self.log.update_high_watermark(self.log.log_end_offset)

    def clean(self) -> CleanResult:
        """One round from its beginning to its end."""
        self.cleaner.look()
        result = self.runner.run()
        assert result is not None
        self.scheduler.run_for(1)
        return result

    def change(self, **fields: object) -> None:
        self.log.update_config(replace(self.log.config, **fields))  # type: ignore[arg-type]

    def headers(self) -> list[RecordBatchHeader]:
        return [header for _, header in self._batches(lambda data, at: None)]

    def left(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Offset, key and value of each record in all segments."""
        found: list[tuple[int, bytes | None, bytes | None]] = []

        def take(data: bytes, at: int) -> None:
            found.extend((one.offset, one.key, one.value) for one in iterate_records(data, at))

        list(self._batches(take))
        return found

    def _batches(self, look: Callable[[bytes, int], None]) -> list[tuple[int, RecordBatchHeader]]:
        found = []
        for segment in self.log.segments:
            data = segment.file.pread(segment.size, 0)
            for at, header in iterate_batches(data):
                look(data, at)
                found.append((at, header))
        return found

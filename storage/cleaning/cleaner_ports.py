"""The ports of the log cleaner: its settings, and the runner of its jobs.

Owns nothing. A broker's runner uses processes (`broker.process.cleaner_process`), the simulator's
the port for blocking work (`storage.cleaning.inline_cleaner`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from storage.cleaning.cleaner_job import CleanJob, CleanResult

# The callback of a job, with its result or its error.
CleanCallback = Callable[[CleanResult | None, Exception | None], None]


class CleanerDied(Exception):
    """An end of the runner without a result, not because of the log: the job may be retried."""


class CleanerRunner(Protocol):
    """The runner of compaction's jobs."""

    def submit(self, job: CleanJob, done: CleanCallback) -> None:
        """Run the job off the loop, then call `done(result, error)` on the loop.

        The error is CleaningFailed, CleanerDied, or an OSError of the disk.
        """

    def cancel(self, directory: str) -> None:
        """Cancel the job of this folder: its result is not used. Its `done` is still called."""

    def stop(self) -> None:
        """End all jobs at once. Their `done` may never be called."""


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Server configs of compaction, under Kafka's names."""

    log_cleaner_enable: bool = True
    log_cleaner_threads: int = 1
    log_cleaner_dedupe_buffer_size: int = 134_217_728
    log_cleaner_io_buffer_size: int = 524_288
    log_cleaner_io_buffer_load_factor: float = 0.9
    log_cleaner_io_max_bytes_per_second: float = 1.7976931348623157e308
    log_cleaner_backoff_ms: int = 15_000

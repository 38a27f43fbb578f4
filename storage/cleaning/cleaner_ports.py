"""What the log cleaner is given: its settings, and the place where its jobs run.

Owns nothing. A broker fills the runner with processes (`broker.process.cleaner_process`), the
simulator with its port for blocking work (`storage.cleaning.inline_cleaner`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from storage.cleaning.cleaner_job import CleanJob, CleanResult

Cleaned = Callable[[CleanResult | None, Exception | None], None]


class CleanerDied(Exception):
    """The job has no result, and why is not the log's fault: it may be tried again."""


class CleanerRunner(Protocol):
    """Where a job runs."""

    def submit(self, job: CleanJob, done: Cleaned) -> None:
        """Do the job elsewhere, then `done(result, error)` on the loop.

        Errors: CleaningFailed, CleanerDied, or OSError as the disk gives it.
        """

    def cancel(self, directory: str) -> None:
        """Nobody waits for the job of this folder any more; its `done` still comes."""

    def stop(self) -> None:
        """End all jobs at once. No `done` has to come."""


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

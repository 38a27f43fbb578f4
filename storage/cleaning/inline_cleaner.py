"""Compaction in the pool for blocking work, without a separate process.

For the simulator and for tests; a broker has `broker.process.cleaner_process`. Owns nothing.
"""

from __future__ import annotations

from storage.cleaning.cleaner import clean
from storage.cleaning.cleaner_job import CleanJob
from storage.cleaning.cleaner_ports import CleanCallback
from storage.log.log_environment import LogEnvironment


class InlineRunner:
    """A `CleanerRunner` on the port for blocking work."""

    def __init__(self, environment: LogEnvironment) -> None:
        self._environment = environment

    def submit(self, job: CleanJob, done: CleanCallback) -> None:
        """Run the job by the port for blocking work, which then calls `done(result, error)`."""
        filesystem = self._environment.filesystem
        self._environment.blocking.submit(lambda: clean(filesystem, job), done)

    def cancel(self, directory: str) -> None:
        """Do nothing: blocking work cannot be interrupted, so the job runs to its end."""

    def stop(self) -> None:
        """Do nothing: the jobs run to their end."""

"""What happens when a disk fails: the log directory goes offline, once, for good.

Owns: which directories are offline, and who is told. An `OSError` from `storage.filesystem` is
caught where it surfaces, in a log or in the log manager, and reported here; every log of that
directory refuses work from then on (KAFKA-10778: no append after a failed one).

Never: retries, or stops the process; the broker does, where it was the last or the metadata
directory. Kafka's classes: `LogDirFailureChannel`, `KafkaStorageException`.
"""

from __future__ import annotations

from collections.abc import Callable


class LogDirFailure(Exception):
    """A log directory is offline: what asked for it answers KAFKA_STORAGE_ERROR."""

    def __init__(self, log_dir: str, message: str) -> None:
        super().__init__(f"{message} (log directory {log_dir})")
        self.log_dir = log_dir
        self.why = message


class LogUnusable(LogDirFailure):
    """The log of one partition cannot be used, while its directory is online: told before, once."""


class LogDirFailureChannel:
    """The offline directories of one node."""

    def __init__(self) -> None:
        self._offline: dict[str, str] = {}
        self._listeners: list[Callable[[str, str], None]] = []

    def listen(self, callback: Callable[[str, str], None]) -> None:
        """`callback(log_dir, reason)` runs once for each directory that fails."""
        self._listeners.append(callback)

    def is_offline(self, log_dir: str) -> bool:
        """Whether the directory failed since the start."""
        return log_dir in self._offline

    def offline_dirs(self) -> dict[str, str]:
        """The reason of each failed directory."""
        return dict(self._offline)

    def fail(self, log_dir: str, doing: str, error: OSError) -> LogDirFailure:
        """Take the directory offline; gives the exception for a caller that has to raise."""
        reason = f"{doing}: {error}"
        if log_dir not in self._offline:
            self._offline[log_dir] = reason
            for callback in self._listeners:
                callback(log_dir, reason)
        return LogDirFailure(log_dir, reason)

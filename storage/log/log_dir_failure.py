"""What happens when a disk fails: the log directory goes offline, once, for good.

Owns: which directories are offline, and who is told. An `OSError` from `ground.filesystem` is
caught where it surfaces, in a log or in the log manager, and reported here; every log of that
directory refuses work from then on (KAFKA-10778: no append after a failed one).

A lack of file descriptors says nothing of the disk: what asked for one fails, its log directory
stays.

Never: retries, or stops the process; the broker does, where it was the last or the metadata
directory. Kafka's classes: `LogDirFailureChannel`, `KafkaStorageException`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable


def is_lack_of_descriptors(error: Exception | None) -> bool:
    """Whether the process, or the system, has no file descriptor left for what was tried."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def advice(error: Exception | None) -> str:
    """What people can do, behind the message of an error; nothing where that is not known."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            ". Free space on its file system, by other files than those of the log directory, "
            "and start the node again; what it has acknowledged is kept"
        )
    return ""


def is_of_one_file(error: Exception | None) -> bool:
    """Whether a file is in the way rather than the disk: one of another owner, a folder of its
    name, a volume mounted there. At a start that costs one partition; Kafka takes the directory
    offline."""
    of_one = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EBUSY)
    return isinstance(error, OSError) and error.errno in of_one


class LogDirFailure(Exception):
    """A log directory is offline, or cannot do this now: the answer is KAFKA_STORAGE_ERROR."""

    def __init__(self, log_dir: str, message: str) -> None:
        super().__init__(f"{message} (log directory {log_dir})")
        self.log_dir = log_dir
        self.why = message


class LogUnusable(LogDirFailure):
    """The log of one partition cannot be used, while its directory is online: told before, once."""


class LogPlaceTaken(LogDirFailure):
    """The directory is as it was: something else has the name of the folder that is to be made."""


class DescriptorsLack(LogDirFailure):
    """The directory is as it was: there are not enough file descriptors."""


class LogDirFailureChannel:
    """The offline directories of one node."""

    def __init__(self) -> None:
        self._offline: dict[str, str] = {}
        self._listeners: list[Callable[[str, str], None]] = []
        self._lacking: Callable[[str], None] = lambda _reason: None

    def listen(self, callback: Callable[[str, str], None]) -> None:
        """`callback(log_dir, reason)` runs once for each directory that fails."""
        self._listeners.append(callback)

    def on_lack(self, callback: Callable[[str], None]) -> None:
        """`callback(reason)` runs each time that something failed for lack of descriptors."""
        self._lacking = callback

    def is_offline(self, log_dir: str) -> bool:
        """Whether the directory failed since the start."""
        return log_dir in self._offline

    def offline_dirs(self) -> dict[str, str]:
        """The reason of each failed directory."""
        return dict(self._offline)

    def fail(self, log_dir: str, doing: str, error: OSError) -> LogDirFailure:
        """Take the directory offline, unless it was for lack of descriptors; gives the exception
        for a caller that has to raise."""
        reason = f"{doing}: {error}"
        if is_lack_of_descriptors(error):
            self._lacking(reason)
            return DescriptorsLack(log_dir, reason)
        if log_dir not in self._offline:
            self._offline[log_dir] = reason
            for callback in self._listeners:
                callback(log_dir, f"{reason}{advice(error)}")
        return LogDirFailure(log_dir, reason)

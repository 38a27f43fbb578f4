"""The failure of a disk: its log directory goes offline, until the next start.

Owns: which directories are offline, and the listeners. A log or the log manager catches an
`OSError` of `ground.filesystem` and reports it here. All logs of that directory reject work from
then on (KAFKA-10778: no append after a failed one).

A lack of file descriptors is no failure of the disk: the call that needed one fails, its log
directory stays online.

Never: retries, or stops the process. The broker stops if it was the last directory, or that of the
metadata log. Kafka's classes: `LogDirFailureChannel`, `KafkaStorageException`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable


def is_lack_of_descriptors(error: Exception | None) -> bool:
    """Return whether the error is that the process, or the system, has no file descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def advice(error: Exception | None) -> str:
    """Return advice for people, to append to an error's message; "" if there is none."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            ". Free space on its file system, by other files than those of the log directory, "
            "and start the node again; what it has acknowledged is kept"
        )
    return ""


def is_of_one_file(error: Exception | None) -> bool:
    """Return whether the error is one of a single file, not of the disk.

    Examples are a file of another owner, a folder with its name, a volume that is mounted there.
    At a start only that partition is offline; in Kafka the whole directory.
    """
    of_one = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EBUSY)
    return isinstance(error, OSError) and error.errno in of_one


class LogDirFailure(Exception):
    """A log directory that is offline, or cannot do this now. A client gets KAFKA_STORAGE_ERROR."""

    def __init__(self, log_dir: str, message: str) -> None:
        """Make an error for `message`; its text names the directory too."""
        super().__init__(f"{message} (log directory {log_dir})")
        self.log_dir = log_dir
        self.why = message


class LogUnusable(LogDirFailure):
    """A log that cannot be used, though its directory is online. It was reported at the start."""


class LogPlaceTaken(LogDirFailure):
    """A folder that cannot be created, because its name is taken. Its directory stays online."""


class DescriptorsLack(LogDirFailure):
    """A call that failed for lack of file descriptors. The directory stays online."""


class LogDirFailureChannel:
    """The offline directories of one node."""

    def __init__(self) -> None:
        self._offline: dict[str, str] = {}
        self._listeners: list[Callable[[str, str], None]] = []
        self._lacking: Callable[[str], None] = lambda _reason: None

    def listen(self, callback: Callable[[str, str], None]) -> None:
        """Call `callback(log_dir, reason)` once for each directory that fails."""
        self._listeners.append(callback)

    def on_lack(self, callback: Callable[[str], None]) -> None:
        """Call `callback(reason)` for each failure because of a lack of descriptors."""
        self._lacking = callback

    def is_offline(self, log_dir: str) -> bool:
        """Return whether the directory has failed since the start."""
        return log_dir in self._offline

    def offline_dirs(self) -> dict[str, str]:
        """Return the failed directories with the reason of each."""
        return dict(self._offline)

    def fail(self, log_dir: str, doing: str, error: OSError) -> LogDirFailure:
        """Take the directory offline, and call the listeners, except for a lack of descriptors.
        Return the exception.

        The caller may raise it. `doing` names the failed work in the message.
        """
        reason = f"{doing}: {error}"
        if is_lack_of_descriptors(error):
            self._lacking(reason)
            return DescriptorsLack(log_dir, reason)
        if log_dir not in self._offline:
            self._offline[log_dir] = reason
            for callback in self._listeners:
                callback(log_dir, f"{reason}{advice(error)}")
        return LogDirFailure(log_dir, reason)

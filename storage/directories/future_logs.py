"""Future logs: copies of logs that move to another log directory, in `-future` folders (KIP-113).

Owns: which partitions have a copy, its folder until it replaces the log, and its removal after a
directory fails or a topic is deleted.

Never: copies records (`broker.replication.replica_mover`), or looks at offsets.

Kafka's class: `LogManager.futureLogs` and `replaceCurrentWithFutureLog`. In Kafka, a crash
between the two renames of the replacement prevents the next start. Here one of the two logs, which
hold the same records then, is kept (`storage.directories.log_manager.LogManager.take`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ground.filesystem import Filesystem
from ground.topic_partition import (
    DELETE_DIR_SUFFIX,
    FUTURE_DIR_SUFFIX,
    TopicPartition,
    set_aside_name,
)
from storage.directories.log_places import why_taken
from storage.log.checkpoints import PARTITION_METADATA
from storage.log.log_dir_failure import LogDirFailure, LogPlaceTaken, is_lack_of_descriptors
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig

NAME_LENGTH_MAX = 200
"""The longest name of a topic that can be moved: `-future` folders would cut off longer ones."""


class FutureLogs:
    """The copies under way on a node, at most one for each partition."""

    def __init__(
        self,
        environment: LogEnvironment,
        random_bytes: Callable[[int], bytes],
        remove_later: Callable[[str, str, int], None],
    ) -> None:
        """Begin without copies.

        `remove_later(log_dir, folder, delay_ms)` removes a folder that was renamed before.
        """
        self._environment = environment
        self._random_bytes = random_bytes
        self._remove_later = remove_later
        self._logs: dict[TopicPartition, UnifiedLog] = {}

    def __len__(self) -> int:
        """Return the number of copies under way."""
        return len(self._logs)

    def get(self, partition: tuple[str, int]) -> UnifiedLog | None:
        """Return the partition's copy under way, None without one."""
        return self._logs.get(TopicPartition(*partition))

    def logs(self) -> list[UnifiedLog]:
        """Return all copies under way."""
        return list(self._logs.values())

    def logs_in(self, log_dir: str) -> list[UnifiedLog]:
        """Return the copies under way into a directory."""
        return [log for log in self._logs.values() if log.log_dir == log_dir]

    def resume(self, log: UnifiedLog) -> None:
        """Add a copy that exists at a start, to continue it. Remove it if the partition has
        another."""
        if log.partition in self._logs:
            self._remove(log)
        else:
            self._logs[log.partition] = log

    def create(self, current: UnifiedLog, log_dir: str, config: LogConfig) -> UnifiedLog:
        """Create an empty copy of `current` in `log_dir`, and add it to the copies under way.

        Raises LogDirFailure; LogPlaceTaken if a file or folder has the name that the copy gets in
        the end.
        """
        partition = current.partition
        assert partition not in self._logs, f"{partition} has a copy under way"
        unique = self._random_bytes(16).hex()
        directory = f"{log_dir}/{set_aside_name(partition, unique, FUTURE_DIR_SUFFIX)}"
        environment = self._environment
        try:
            why = why_taken(environment.filesystem, f"{log_dir}/{partition}", None)
            if why is not None:
                raise LogPlaceTaken(log_dir, why)
            environment.filesystem.make_dirs(directory)
            _copy_topic_id(environment.filesystem, current.directory, directory)
            log = UnifiedLog(
                environment,
                log_dir,
                directory,
                partition,
                config,
                topic_id=current.topic_id,
                log_start_offset=current.log_start_offset,
            )
        except OSError as error:
            raise environment.failures.fail(log_dir, f"creating {directory}", error) from error
        self._logs[partition] = log
        return log

    def take_over(self, partition: TopicPartition) -> UnifiedLog:
        """Rename the copy to the partition's name, which makes it the log, and sync the directory.
        Return it, and remove it from the copies under way. Raises LogDirFailure."""
        log = self._logs.pop(partition)
        directory = log.directory
        log.rename(f"{log.log_dir}/{partition}")
        try:
            # Durable before the other folder goes: after a loss of power one of them must exist.
            self._environment.filesystem.sync_dir(log.log_dir)
        except OSError as error:
            if is_lack_of_descriptors(error):  # nothing was replaced yet: the log stays a copy
                log.rename(directory)
                self._logs[partition] = log
            doing = f"moving {partition}"
            raise self._environment.failures.fail(log.log_dir, doing, error) from error
        return log

    def drop(self, partition: tuple[str, int]) -> None:
        """Forget the partition's copy, if there is one, and remove its folder."""
        log = self._logs.pop(TopicPartition(*partition), None)
        if log is not None and not log.offline:
            self._remove(log)

    def _remove(self, log: UnifiedLog) -> None:
        """Rename the copy's folder for deletion, close the log, and remove the folder later. Ignore
        a failing directory."""
        name = set_aside_name(log.partition, self._random_bytes(16).hex(), DELETE_DIR_SUFFIX)
        with suppress(LogDirFailure):  # the next start finds the copy under its old name
            log.rename(f"{log.log_dir}/{name}")
            log.retire()
            self._remove_later(log.log_dir, log.directory, 0)

    def dir_failed(self, log_dir: str) -> None:
        """Take the copies under way into a directory that failed offline, and forget them."""
        for log in self.logs_in(log_dir):
            log.go_offline()
            del self._logs[log.partition]


def _copy_topic_id(filesystem: Filesystem, source: str, target: str) -> None:
    """Copy `partition.metadata`, if there is one, into another folder. Raises OSError."""
    path = f"{source}/{PARTITION_METADATA}"
    if filesystem.exists(path):
        filesystem.replace_atomically(f"{target}/{PARTITION_METADATA}", filesystem.read(path))

"""Copies of logs on their way into another log directory, in `-future` folders (KIP-113).

Owns: which partitions have one, its folder from the first batch to the moment it takes the log's
place, and what a failed directory or a deleted topic leaves of it.

Never: copies anything (`broker.replication.replica_mover`), or looks at offsets.

Kafka's class: `LogManager.futureLogs` and `replaceCurrentWithFutureLog` 4.3. There an end between
the two renames of the exchange stops the next start; here one of the two, which are alike
then, is kept (`storage.directories.log_manager.LogManager.take`).
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
"""Longer names of topics are cut in the names of `-future` folders: they cannot be moved."""


class FutureLogs:
    """See the module. At most one a partition."""

    def __init__(
        self,
        environment: LogEnvironment,
        random_bytes: Callable[[int], bytes],
        remove_later: Callable[[str, str, int], None],
    ) -> None:
        """`remove_later(log_dir, folder, delay_ms)` takes a folder away that has another name."""
        self._environment = environment
        self._random_bytes = random_bytes
        self._remove_later = remove_later
        self._logs: dict[TopicPartition, UnifiedLog] = {}

    def __len__(self) -> int:
        """Copies under way."""
        return len(self._logs)

    def get(self, partition: tuple[str, int]) -> UnifiedLog | None:
        """The copy under way of a partition."""
        return self._logs.get(TopicPartition(*partition))

    def logs(self) -> list[UnifiedLog]:
        """All copies under way."""
        return list(self._logs.values())

    def logs_in(self, log_dir: str) -> list[UnifiedLog]:
        """The copies under way into a directory."""
        return [log for log in self._logs.values() if log.log_dir == log_dir]

    def found(self, log: UnifiedLog) -> None:
        """A start found it, and it goes on; of two, the later one is dropped."""
        if log.partition in self._logs:
            self._remove(log)
        else:
            self._logs[log.partition] = log

    def create(self, current: UnifiedLog, log_dir: str, config: LogConfig) -> UnifiedLog:
        """Begin a copy of `current` in `log_dir`, empty yet. Raises LogDirFailure, LogPlaceTaken
        where the copy could not take the partition's name in the end."""
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
        """It is a log like others from now on: under the partition's name. Raises LogDirFailure."""
        log = self._logs.pop(partition)
        directory = log.directory
        log.rename(f"{log.log_dir}/{partition}")
        try:
            # Before the other folder goes: a loss of power must leave one of the two.
            self._environment.filesystem.sync_dir(log.log_dir)
        except OSError as error:
            if is_lack_of_descriptors(error):  # nothing was exchanged yet: it stays a copy
                log.rename(directory)
                self._logs[partition] = log
            doing = f"moving {partition}"
            raise self._environment.failures.fail(log.log_dir, doing, error) from error
        return log

    def drop(self, partition: tuple[str, int]) -> None:
        """The copy is not wanted any more; nothing to do where there is none."""
        log = self._logs.pop(TopicPartition(*partition), None)
        if log is not None and not log.offline:
            self._remove(log)

    def _remove(self, log: UnifiedLog) -> None:
        name = set_aside_name(log.partition, self._random_bytes(16).hex(), DELETE_DIR_SUFFIX)
        with suppress(LogDirFailure):  # the next start finds it under its old name
            log.rename(f"{log.log_dir}/{name}")
            log.retire()
            self._remove_later(log.log_dir, log.directory, 0)

    def dir_failed(self, log_dir: str) -> None:
        """What was on its way there is lost for now."""
        for log in self.logs_in(log_dir):
            log.go_offline()
            del self._logs[log.partition]


def _copy_topic_id(filesystem: Filesystem, source: str, target: str) -> None:
    """Put the file that names the topic, if there is one, into another folder. Raises OSError."""
    path = f"{source}/{PARTITION_METADATA}"
    if filesystem.exists(path):
        filesystem.replace_atomically(f"{target}/{PARTITION_METADATA}", filesystem.read(path))

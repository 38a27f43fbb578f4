"""All logs of all log directories of one node.

Owns: the directory of each log, and the deletion of logs. A directory that fails goes offline with
all its logs; the others keep working. Its parts: `logs_loading` opens the logs at a start,
`log_creation` creates new ones, `log_upkeep` has the periodic work, `logs_closing` the stop.

Never: knows topics beyond their folders, or leaders and replicas (`broker.replication`), nor
touches the metadata log, which belongs to the controller's Raft.

Kafka's class: `LogManager`. KIP-112 (several directories), KIP-858 (directory ids), KAFKA-13773
and KAFKA-15375 (the clean-shutdown marker is left only if each step of the stop succeeded).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

from ground.filesystem import VolumeUsage
from ground.ports import Blocking
from ground.sliced_work import SlicedWork
from ground.topic_partition import (
    DELETE_DIR_SUFFIX,
    STRAY_DIR_SUFFIX,
    TopicPartition,
    set_aside_name,
)
from protocol.records import UNPACKED_LIMIT_BYTES
from storage.directories.future_logs import FutureLogs
from storage.directories.log_creation import LogCreation
from storage.directories.log_dir_loader import LogDirLoader, LogFolder, folders
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_dirs import UNKNOWN_BROKER_EPOCH, lock_dir, read_clean_marker
from storage.directories.log_manager_settings import LogManagerSettings
from storage.directories.log_upkeep import LogUpkeep
from storage.directories.logs_closing import LogsClosing, close_directory
from storage.directories.logs_loading import IsStray, LogsLoading
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import (
    DescriptorsLack,
    LogDirFailure,
    LogUnusable,
    is_lack_of_descriptors,
    is_of_one_file,
)
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log.unopened_logs import KeptOffsets, UnopenedLog, have_same_records
from storage.log_config import LogConfig

HomeOf = Callable[[TopicPartition], str | None]

REMOVE_AGAIN_MS = 60_000
"""The time until the removal of a folder, which failed for lack of descriptors, is retried."""


class LogManager:
    """The logs of one node, by (topic, partition). All calls come from one thread."""

    def __init__(
        self,
        environment: LogEnvironment,
        settings: LogManagerSettings,
        config_for: Callable[[str], LogConfig],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """Manage the directories of `settings`; `load` opens their logs.

        `config_for(topic)` returns a topic's configs on top of the server's defaults.
        `random_bytes(n)` gives unique parts for the names of renamed folders.
        """
        self._environment = environment
        self.sliced = SlicedWork(environment.scheduler, environment.blocking, UNPACKED_LIMIT_BYTES)
        """The work in slices on large batches and many logs."""
        self._settings = settings
        self._config_for = config_for
        self._random_bytes = random_bytes
        self._dirs = {path: LogDirState(path, environment) for path in settings.log_dirs}
        self._logs: dict[TopicPartition, UnifiedLog] = {}
        self.future_logs = FutureLogs(environment, random_bytes, self.remove_later)
        self._creation = LogCreation(environment, self._dirs)
        self.unopened: dict[TopicPartition, UnopenedLog] = {}
        """The partitions whose folders cannot be used. No new log is created in their place."""
        self.lacking: dict[TopicPartition, str] = {}
        """Partitions whose folder is gone, and the directory whose checkpoints still have them."""
        self._home_of: HomeOf = lambda _partition: None
        self._loaded = False
        self._loading: LogsLoading | None = None
        self.upkeep = LogUpkeep(environment, settings, self._online, self.sliced)
        self.report: list[str] = []
        """Lines for people on the damage and the repairs of the logs' opening."""
        environment.failures.listen(self._dir_failed)
        environment.descriptors.count_logs(lambda: len(self._logs), lambda: len(self.future_logs))

    # ---- start ---------------------------------------------------------------------------------

    def lock(self) -> None:
        """Create missing directories, and lock all against other processes, before a file in them
        is opened.

        A directory that fails goes offline (see `online_dirs`). Raises LogDirLocked, and OSError
        for lack of descriptors.
        """
        filesystem = self._environment.filesystem
        for log_dir in self._dirs.values():
            try:
                filesystem.make_dirs(log_dir.path)
                log_dir.hold_lock(lock_dir(filesystem, log_dir.path))
            except OSError as error:
                if is_lack_of_descriptors(error):
                    raise  # the process lacks them: no directory could be used
                self._environment.failures.fail(log_dir.path, "locking", error)

    def read_previous_broker_epoch(self) -> int:
        """Return the broker epoch of the last stop if it was clean, with one epoch, in every online
        directory; else -1. A directory that cannot be read goes offline.

        The broker's registration, which precedes `load`, contains it: after an unclean stop a
        replica may lack records that it had acknowledged (KIP-966).
        """
        epochs = []
        for log_dir in self._online():
            try:
                epochs.append(read_clean_marker(self._environment.filesystem, log_dir.path))
            except OSError as error:
                self._environment.failures.fail(log_dir.path, "reading the clean marker", error)
        first = epochs[0] if epochs else None
        same = first is not None and epochs.count(first) == len(epochs)
        return first if same and first is not None else UNKNOWN_BROKER_EPOCH

    def count_folders(self) -> tuple[int, int]:
        """Return how many logs, and how many copies under way, the online directories have. A
        directory that cannot be read goes offline."""
        logs = moves = 0
        for log_dir in self._online():
            try:
                partition_folders = folders(self._environment.filesystem.list_dir(log_dir.path))
            except OSError as error:
                self._environment.failures.fail(log_dir.path, "listing logs", error)
                continue
            logs += sum(not folder.is_future for folder in partition_folders)
            moves += sum(folder.is_future for folder in partition_folders)
        return logs, moves

    def load(
        self,
        is_stray: IsStray = lambda _partition, _topic_id: False,
        done: Callable[[Exception | None], None] = lambda _error: None,
        report_line: Callable[[str], None] = lambda _line: None,
        home_of: HomeOf = lambda _partition: None,
    ) -> None:
        """Open every log in the locked directories, then call `done`.

        The damage and the repairs are lines of `report`; `report_line` is called with lines on the
        progress. A log whose topic no longer exists is renamed to `-stray` without being opened:
        its deletion was interrupted, or the folder was restored. Other folders are left as they
        are. A directory that fails goes offline (see `online_dirs`); `done` gets only other errors.
        If a partition has two copies, `home_of(partition)` returns the directory that has the
        replica by the metadata, or None if that is not known.
        """
        self._home_of = home_of

        def loaded(error: Exception | None) -> None:
            """Set aside as stray the logs whose topic was deleted meanwhile, then call `done`."""
            self._loaded = error is None
            if error is None:
                for log in self.logs:
                    if is_stray(log.partition, log.topic_id):  # its topic was deleted meanwhile
                        self._set_aside(log, STRAY_DIR_SUFFIX)
                        self.checkpoint_soon()
            done(error)

        settings, environment = self._settings, self._environment
        loaders = [
            LogDirLoader(
                environment, log_dir, self._config_for, settings.num_recovery_threads_per_data_dir
            )
            for log_dir in self._online()
        ]
        self._loading = LogsLoading(self, environment, loaders, is_stray, loaded, report_line)
        self._loading.begin()

    def put_stray_aside(self, log_folder: LogFolder) -> None:
        """Rename the unopened folder of a partition without a topic to `-stray`. A copy under way
        is removed instead. Raises OSError.

        A folder that cannot be read may be anything, and is left as it is; so is one that cannot be
        renamed. Each case but the removal is a line of `report`.
        """
        directory = log_folder.directory
        path = directory.rpartition("/")[0]
        if log_folder.is_unread:
            self.report.append(f"{directory} cannot be read ({log_folder.fault}): left as it is")
            return
        if log_folder.is_future:  # a copy of a log that is gone
            self.remove_later(path, directory, 0)
            return
        stray = set_aside_name(log_folder.partition, self._random_bytes(16).hex(), STRAY_DIR_SUFFIX)
        try:
            self._environment.filesystem.rename(directory, f"{path}/{stray}")
        except OSError as error:
            if not is_of_one_file(error):
                raise
            self.report.append(f"{directory} belongs to no topic, and stays: {error}")
            return
        self.report.append(f"{directory} belongs to no topic: renamed to {stray}")

    def take(self, log: UnifiedLog) -> None:
        """Add a log that was opened or created. If its partition cannot be used, close the log
        instead.

        A crash during a move leaves two copies of a log. If both have the same records, one is
        kept. If not, the metadata has to name the directory of the replica; otherwise the partition
        is offline.
        """
        partition, twin = log.partition, self._logs.get(log.partition)
        if partition in self.unopened:
            self._stop_using(log)
        elif twin is None:
            self._logs[partition] = log
            self._dirs[log.log_dir].logs[partition] = log
        else:
            self._choose_copy(twin, log)

    def _choose_copy(self, first: UnifiedLog, second: UnifiedLog) -> None:
        """Keep one of two copies of a log: the one that the metadata names, or either if both have
        the same records. Rename the other's folder to `-stray`.

        If neither can be chosen, stop using both: the partition is offline. Add a line to `report`.
        """
        partition = first.partition
        where = f"{partition} lies in {first.log_dir} and in {second.log_dir}"
        replica_dir = self._home_of(partition)
        if not have_same_records(first, second) and replica_dir not in (
            first.log_dir,
            second.log_dir,
        ):
            why = f"{where}: remove one of the two folders, and start again"
            self.report.append(f"{partition} is offline: it{why.removeprefix(str(partition))}")
            self.unopened[partition] = UnopenedLog(partition, first.topic_id, why)
            self._stop_using(first)
            self._stop_using(second)
            return
        kept, other = (second, first) if replica_dir == second.log_dir else (first, second)
        name = set_aside_name(partition, self._random_bytes(16).hex(), STRAY_DIR_SUFFIX)
        by = (
            "both hold the same"
            if have_same_records(first, second)
            else "the metadata names the other"
        )
        self.report.append(f"{where}: the copy in {other.log_dir} is renamed to {name}, for {by}")
        other.rename(f"{other.log_dir}/{name}")
        other.retire()
        self._dirs[other.log_dir].logs.pop(partition, None)
        self._logs[partition] = kept
        self._dirs[kept.log_dir].logs[partition] = kept

    def leave_unopened(self, log_folder: LogFolder, why: str, kept: KeptOffsets) -> None:
        """Add a folder that cannot be opened to `unopened`: its partition is offline on this node.
        A copy under way is removed instead. Each is a line of `report`.

        `kept` are the partition's offsets in the checkpoints, which later checkpoints keep.
        """
        partition = log_folder.partition
        path = log_folder.directory.rpartition("/")[0]
        if log_folder.is_future:  # a copy of a log that is here
            self.report.append(f"{why}: removed")
            self.remove_later(path, log_folder.directory, 0)
            return
        unopened = self.unopened.get(partition)
        if unopened is None:
            self.report.append(f"{partition} is offline: {why}")
            unopened = self.unopened[partition] = UnopenedLog(partition, log_folder.topic_id, why)
        twin = self._logs.get(partition)
        if twin is not None:
            self._stop_using(twin)
        unopened.folders.append((path, log_folder.directory))
        self._dirs[path].unopened[partition] = kept

    def _stop_using(self, log: UnifiedLog) -> None:
        """Move a log to the unopened ones, and close it. Its files stay as they are; later
        checkpoints keep its offsets."""
        partition, log_dir = log.partition, self._dirs[log.log_dir]
        self.unopened[partition].folders.append((log.log_dir, log.directory))
        log_dir.unopened[partition] = KeptOffsets.of(log)
        self._logs.pop(partition, None)
        log_dir.logs.pop(partition, None)
        log.retire()

    def _forget_unopened(self, partition: TopicPartition) -> None:
        """Remove a partition from `unopened`, because its topic is gone, and delete its folders.
        Folders that cannot be read or renamed stay."""
        unopened = self.unopened.pop(partition)
        filesystem = self._environment.filesystem
        for path, directory in unopened.folders:
            self._dirs[path].unopened.pop(partition, None)
            name = set_aside_name(partition, self._random_bytes(16).hex(), DELETE_DIR_SUFFIX)
            try:
                filesystem.list_dir(directory)
                filesystem.rename(directory, f"{path}/{name}")
            except OSError as error:
                if not is_of_one_file(error):  # otherwise the next start reports it
                    self._environment.failures.fail(path, f"removing {directory}", error)
            else:
                self.remove_later(path, f"{path}/{name}", 0)
        self.checkpoint_soon()

    def start(self) -> None:
        """Start the periodic work of `upkeep`."""
        self.upkeep.start()

    # ---- logs ----------------------------------------------------------------------------------

    @property
    def blocking(self) -> Blocking:
        """The port for work that may block."""
        return self._environment.blocking

    @property
    def descriptors(self) -> Descriptors:
        """The division of the node's file descriptors."""
        return self._environment.descriptors

    @property
    def logs(self) -> list[UnifiedLog]:
        """All logs of the online directories."""
        return list(self._logs.values())

    @property
    def online_dirs(self) -> list[str]:
        """The paths of the directories that have not failed, in the order of `log.dirs`."""
        return [path for path in self._dirs if not self._environment.failures.is_offline(path)]

    def get(self, partition: tuple[str, int]) -> UnifiedLog | None:
        """Return the log of a (topic, partition), None if it is not here."""
        return self._logs.get(partition)  # type: ignore[call-overload, no-any-return]

    def get_or_create(
        self,
        partition: tuple[str, int],
        topic_id: bytes,
        config: LogConfig | None = None,
        *,
        log_dir: str | None = None,
        is_new: bool = True,
    ) -> UnifiedLog:
        """Return the partition's log. If there is none, create it: in the directory of
        `prefer_dir`, else in `log_dir`, else in the online one with the fewest logs.

        No log is created if the partition had one before (`is_new` False) and a directory is
        offline. Its records may be there, and an empty log in their place would lose them. A log
        with another topic id was left by a deleted topic of the same name: it is renamed to
        `-stray`, never written to (KAFKA-14616). A log without a topic id gets this one.

        Raises LogDirFailure; LogUnusable if the partition's folder cannot be opened;
        DescriptorsLack if there are too few file descriptors for another log; LogPlaceTaken if
        another file or folder has the name of its folder.
        """
        name = TopicPartition(*partition)
        unopened = self.unopened.get(name)
        if unopened is not None:
            if unopened.topic_id in (None, topic_id):
                raise LogUnusable(unopened.folders[0][0], unopened.why)
            self._forget_unopened(name)
        log = self._logs.get(name)
        if log is not None and log.topic_id not in (None, topic_id):
            self._set_aside(log, STRAY_DIR_SUFFIX)
            self.checkpoint_soon()
            log = None
        if log is None:
            if not is_new and len(self.online_dirs) < len(self._dirs):
                offline = ",".join(path for path in self._dirs if path not in self.online_dirs)
                raise LogDirFailure(offline, f"{name} is not made anew: it may lie there")
            if not self.descriptors.has_room:
                limit = self.descriptors.limit
                raise DescriptorsLack(",".join(self._dirs), f"ulimit -n {limit} has no room")
            self.lacking.pop(name, None)
            log = self._creation.create(
                name, topic_id, config or self._config_for(name.topic), log_dir
            )
            self.take(log)
        elif log.topic_id is None:
            self._creation.name_topic(log.log_dir, log.directory, topic_id)
            log.set_topic_id(topic_id)
        return log

    def prefer_dir(self, partition: tuple[str, int], log_dir: str) -> None:
        """Choose `log_dir` for the partition's log, if it is created later
        (AlterReplicaLogDirs)."""
        self._creation.prefer(TopicPartition(*partition), log_dir)

    def replace_with_future(self, partition: tuple[str, int]) -> UnifiedLog:
        """Replace the partition's log by its copy, and delete the old one. Return the copy.

        Both hold the same records, so a crash at any step loses none. Raises LogDirFailure.
        """
        name = TopicPartition(*partition)
        current = self._logs[name]
        future = self.future_logs.take_over(name)
        self._dirs[future.log_dir].logs[name] = future
        delay_ms = current.config.file_delete_delay_ms
        with suppress(LogDirFailure):  # of the old directory, which no longer has the log
            self._set_aside(current, DELETE_DIR_SUFFIX)
            self.remove_later(current.log_dir, current.directory, delay_ms)
        self._logs[name] = future
        self.checkpoint_soon()
        return future

    def logs_of(self, topics: Collection[str]) -> list[UnifiedLog]:
        """Return the logs of some topics, and their copies under way."""
        logs = (*self._logs.values(), *self.future_logs.logs())
        return [log for log in logs if log.partition.topic in topics]

    def delete(self, partition: tuple[str, int]) -> bool:
        """Delete a log: rename its folder now, and remove its files after `file.delete.delay.ms`.

        Return False if there is no open log; the folders of an unopened one are deleted. Raises
        LogDirFailure.
        """
        self.lacking.pop(TopicPartition(*partition), None)
        log = self.get(partition)
        if log is None:
            if partition in self.unopened:
                self._forget_unopened(TopicPartition(*partition))
            return False
        self._set_aside(log, DELETE_DIR_SUFFIX)
        self.upkeep.log_deleted()
        self.remove_later(log.log_dir, log.directory, log.config.file_delete_delay_ms)
        return True

    def _set_aside(self, log: UnifiedLog, suffix: str) -> None:
        """Stop using the log, close it, and rename its folder to a name with `suffix`. Raises
        LogDirFailure."""
        del self._logs[log.partition]
        del self._dirs[log.log_dir].logs[log.partition]
        name = set_aside_name(log.partition, self._random_bytes(16).hex(), suffix)
        log.rename(f"{log.log_dir}/{name}")
        log.retire()

    def remove_later(self, log_dir: str, directory: str, delay_ms: int) -> None:
        """Remove a folder that was renamed before, off the loop, after `delay_ms`. Retry after a
        lack of descriptors; another OSError takes the directory offline."""
        environment = self._environment

        def done(_: object, error: Exception | None) -> None:
            """Retry the removal after a lack of descriptors. Another OSError takes the directory
            offline."""
            if is_lack_of_descriptors(error):
                self.remove_later(log_dir, directory, REMOVE_AGAIN_MS)
            elif isinstance(error, OSError):
                environment.failures.fail(log_dir, f"removing {directory}", error)

        def remove() -> None:
            environment.filesystem.remove_tree(directory)

        environment.scheduler.call_later(
            delay_ms, lambda: environment.blocking.submit(remove, done)
        )

    def logs_in(self, log_dir: str) -> list[UnifiedLog]:
        """Return the logs of one directory, for DescribeLogDirs."""
        return list(self._dirs[log_dir].logs.values())

    def future_logs_in(self, log_dir: str) -> list[tuple[UnifiedLog, UnifiedLog | None]]:
        """Return the copies under way into a directory, each with the log that is copied."""
        return [(log, self._logs.get(log.partition)) for log in self.future_logs.logs_in(log_dir)]

    def usage(self, log_dir: str) -> VolumeUsage:
        """Return the space on the directory's volume. Raises LogDirFailure."""
        try:
            return self._environment.filesystem.usage(log_dir)
        except OSError as error:
            raise self._environment.failures.fail(log_dir, "asking for room", error) from error

    def checkpoint_soon(self) -> None:
        """Write all checkpoints after the current turn, because logs were deleted or truncated."""
        self.upkeep.checkpoint_soon()

    def _online(self) -> list[LogDirState]:
        """Return the directories that have not failed, in the order of `log.dirs`."""
        return [self._dirs[path] for path in self.online_dirs]

    # ---- failure and stop ----------------------------------------------------------------------

    def on_dir_failure(self, callback: Callable[[str], None]) -> None:
        """Call `callback(log_dir)` once for each directory that fails, with its logs offline."""
        self._environment.failures.listen(lambda log_dir, _: callback(log_dir))

    def _dir_failed(self, path: str, _: str) -> None:
        """Take all logs and copies in a failed directory offline, and remove them from those in
        use."""
        log_dir = self._dirs.get(path)
        if log_dir is None:
            return
        for partition, log in log_dir.logs.items():
            log.go_offline()
            self._logs.pop(partition, None)
        self.future_logs.dir_failed(path)

    def set_recovery_threads(self, threads: int) -> None:
        """Let a later `load` or `begin_close` open or close at most `threads` logs of a directory
        at a time."""
        self._settings = replace(self._settings, num_recovery_threads_per_data_dir=threads)

    def begin_close(self, done: Callable[[], None]) -> None:
        """Stop the periodic work, and make all logs durable before `close`, several at a time. Then
        call `done`. After a failed start no log is flushed."""
        self.upkeep.stop()
        directories = [
            (log_dir.lock, (*log_dir.logs.values(), *self.future_logs.logs_in(log_dir.path)))
            for log_dir in (self._online() if self._loaded else ())
        ]
        at_once = self._settings.num_recovery_threads_per_data_dir
        LogsClosing(self.sliced, self.blocking, directories, at_once, done).begin()

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> bool:
        """Close every log, write the checkpoints, and leave the marker in each clean directory.

        Call this once, when no job is under way. Return True if every directory was left clean. A
        node whose start failed leaves no marker, because not all its logs were open.
        """
        self.upkeep.stop()
        if self._loading is not None:
            self._loading.stop()
        environment, clean = self._environment, self._loaded
        for path, log_dir in self._dirs.items():
            if not self._loaded or environment.failures.is_offline(path):
                clean = False
            else:
                moves = self.future_logs.logs_in(path)
                clean = close_directory(environment, log_dir, moves, broker_epoch) and clean
            if log_dir.lock is not None:
                log_dir.lock.release()
        return clean


__all__ = ["LogManager", "LogManagerSettings"]

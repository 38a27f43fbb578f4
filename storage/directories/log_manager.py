"""All logs of all log directories of one node.

Owns: which log lies where, and deletion. A directory that fails goes offline with all its logs, the
others serve on. Its parts: `logs_loading` opens the logs at a start, `log_creation` makes new ones,
`log_upkeep` has the periodic work, `logs_closing` the stop.

Never: knows topics beyond their folders, leaders or replicas (`broker.replication`), nor touches
the metadata log, which belongs to the controller's Raft.

Kafka's class: `LogManager` 4.3. KIP-112 (several directories), KIP-858 (directory ids), KAFKA-13773
and KAFKA-15375 (the clean-shutdown marker is left only after a stop that was clean in every step).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

from ground.filesystem import Usage
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
from storage.directories.log_dir_loader import FoundLog, LogDirLoader, folders
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
from storage.log.unopened_logs import KeptOffsets, UnopenedLog, are_one
from storage.log_config import LogConfig

HomeOf = Callable[[TopicPartition], str | None]

REMOVE_AGAIN_MS = 60_000
"""A folder that could not be removed for lack of descriptors."""


class LogManager:
    """The logs of one node, by (topic, partition). All calls come from one thread."""

    def __init__(
        self,
        environment: LogEnvironment,
        settings: LogManagerSettings,
        config_for: Callable[[str], LogConfig],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """`config_for(topic)` gives a topic's configs over the server's defaults."""
        self._environment = environment
        self.sliced = SlicedWork(environment.scheduler, environment.blocking, UNPACKED_LIMIT_BYTES)
        """Looks into large batches."""
        self._settings = settings
        self._config_for = config_for
        self._random_bytes = random_bytes
        self._dirs = {path: LogDirState(path, environment) for path in settings.log_dirs}
        self._logs: dict[TopicPartition, UnifiedLog] = {}
        self.future_logs = FutureLogs(environment, random_bytes, self.remove_later)
        self._creation = LogCreation(environment, self._dirs)
        self.unopened: dict[TopicPartition, UnopenedLog] = {}
        """What lies here and is not used: none of them is made anew."""
        self.lacking: dict[TopicPartition, str] = {}
        """What a directory had by its checkpoints, and has no folder of: it is gone from there."""
        self._home_of: HomeOf = lambda _partition: None
        self._loaded = False
        self._loading: LogsLoading | None = None
        self.upkeep = LogUpkeep(environment, settings, self._online, self.sliced)
        self.report: list[str] = []
        """What opening the logs found and repaired, a line each, for people."""
        environment.failures.listen(self._dir_failed)
        environment.descriptors.count_logs(lambda: len(self._logs), lambda: len(self.future_logs))

    # ---- start ---------------------------------------------------------------------------------

    def lock(self) -> None:
        """Hold the directories against other processes, before anything in them is opened.

        A directory that fails goes offline (ask `online_dirs`). Raises LogDirLocked, and OSError
        for lack of descriptors.
        """
        filesystem = self._environment.filesystem
        for log_dir in self._dirs.values():
            try:
                filesystem.make_dirs(log_dir.path)
                log_dir.locked(lock_dir(filesystem, log_dir.path))
            except OSError as error:
                if is_lack_of_descriptors(error):
                    raise  # of the process: no directory could be used
                self._environment.failures.fail(log_dir.path, "locking", error)

    def read_previous_broker_epoch(self) -> int:
        """The broker epoch that the last stop left, if it was clean in every directory; else -1.

        For the registration, which comes before `load` (KIP-966: after an unclean stop a replica
        may lack what it had acknowledged).
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
        """How many logs, and copies under way, a start finds in the directories that are locked."""
        logs = moves = 0
        for log_dir in self._online():
            try:
                found = folders(self._environment.filesystem.list_dir(log_dir.path))
            except OSError as error:
                self._environment.failures.fail(log_dir.path, "listing logs", error)
                continue
            logs += sum(not one.is_future for one in found)
            moves += sum(one.is_future for one in found)
        return logs, moves

    def load(
        self,
        is_stray: IsStray = lambda _partition, _topic_id: False,
        done: Callable[[Exception | None], None] = lambda _error: None,
        tell: Callable[[str], None] = lambda _line: None,
        home_of: HomeOf = lambda _partition: None,
    ) -> None:
        """Open every log in the directories, which are locked; then `done`. `report` says what
        recovery found, and `tell` takes lines on how far it is.

        A log that belongs to no topic any more is renamed to `-stray` unopened: it came back, or
        the last end cut its deletion off. What is no log is left as it is. A directory that fails
        goes offline (ask `online_dirs`): `done` gets only what is no failure of a disk.
        `home_of(partition)` is asked where there are two copies: the directory that has the
        replica, where that can be known.
        """
        self._home_of = home_of

        def loaded(error: Exception | None) -> None:
            self._loaded = error is None
            if error is None:
                for log in self.logs:
                    if is_stray(log.partition, log.topic_id):  # its topic went meanwhile
                        self._put_aside(log, STRAY_DIR_SUFFIX)
                        self.checkpoint_soon()
            done(error)

        settings, environment = self._settings, self._environment
        loaders = [
            LogDirLoader(
                environment, log_dir, self._config_for, settings.num_recovery_threads_per_data_dir
            )
            for log_dir in self._online()
        ]
        self._loading = LogsLoading(self, environment, loaders, is_stray, loaded, tell)
        self._loading.begin()

    def put_stray_aside(self, found: FoundLog) -> None:
        """Give a partition's folder that is not open, and belongs to no topic, another name.

        One that cannot be looked into may be anything, and is left. Raises OSError.
        """
        directory = found.directory
        path = directory.rpartition("/")[0]
        if found.is_unread:
            self.report.append(f"{directory} cannot be read ({found.fault}): left as it is")
            return
        if found.is_future:  # a copy of what is gone
            self.remove_later(path, directory, 0)
            return
        stray = set_aside_name(found.partition, self._random_bytes(16).hex(), STRAY_DIR_SUFFIX)
        try:
            self._environment.filesystem.rename(directory, f"{path}/{stray}")
        except OSError as error:
            if not is_of_one_file(error):
                raise
            self.report.append(f"{directory} belongs to no topic, and stays: {error}")
            return
        self.report.append(f"{directory} belongs to no topic: renamed to {stray}")

    def take(self, log: UnifiedLog) -> None:
        """A log that was opened or made here is this node's from now on.

        Of two copies that hold the same, as an end in the midst of a move leaves them, one stays.
        Of two that do not, neither is chosen by what is in it: where the metadata does not say
        which is the replica, the partition is offline.
        """
        partition, twin = log.partition, self._logs.get(log.partition)
        if partition in self.unopened:
            self._leave(log)
        elif twin is None:
            self._logs[partition] = log
            self._dirs[log.log_dir].logs[partition] = log
        else:
            self._choose(twin, log)

    def _choose(self, first: UnifiedLog, second: UnifiedLog) -> None:
        partition = first.partition
        where = f"{partition} lies in {first.log_dir} and in {second.log_dir}"
        named = self._home_of(partition)
        if not are_one(first, second) and named not in (first.log_dir, second.log_dir):
            why = f"{where}: remove one of the two folders, and start again"
            self.report.append(f"{partition} is offline: it{why.removeprefix(str(partition))}")
            self.unopened[partition] = UnopenedLog(partition, first.topic_id, why)
            self._leave(first)
            self._leave(second)
            return
        kept, other = (second, first) if named == second.log_dir else (first, second)
        name = set_aside_name(partition, self._random_bytes(16).hex(), STRAY_DIR_SUFFIX)
        by = "both hold the same" if are_one(first, second) else "the metadata names the other"
        self.report.append(f"{where}: the copy in {other.log_dir} is renamed to {name}, for {by}")
        other.rename(f"{other.log_dir}/{name}")
        other.retire()
        self._dirs[other.log_dir].logs.pop(partition, None)
        self._logs[partition] = kept
        self._dirs[kept.log_dir].logs[partition] = kept

    def leave_unopened(self, found: FoundLog, why: str, kept: KeptOffsets) -> None:
        """A folder cannot be opened: its partition is offline on this node."""
        partition = found.partition
        path = found.directory.rpartition("/")[0]
        if found.is_future:  # a copy of what is here
            self.report.append(f"{why}: removed")
            self.remove_later(path, found.directory, 0)
            return
        one = self.unopened.get(partition)
        if one is None:
            self.report.append(f"{partition} is offline: {why}")
            one = self.unopened[partition] = UnopenedLog(partition, found.topic_id, why)
        twin = self._logs.get(partition)
        if twin is not None:
            self._leave(twin)
        one.folders.append((path, found.directory))
        self._dirs[path].unopened[partition] = kept

    def _leave(self, log: UnifiedLog) -> None:
        """Use a log no more, and touch nothing of it."""
        partition, log_dir = log.partition, self._dirs[log.log_dir]
        self.unopened[partition].folders.append((log.log_dir, log.directory))
        log_dir.unopened[partition] = KeptOffsets.of(log)
        self._logs.pop(partition, None)
        log_dir.logs.pop(partition, None)
        log.retire()

    def _forget_unopened(self, partition: TopicPartition) -> None:
        """Its topic is gone: so go the folders, all of them that can be looked into."""
        one = self.unopened.pop(partition)
        filesystem = self._environment.filesystem
        for path, directory in one.folders:
            self._dirs[path].unopened.pop(partition, None)
            name = set_aside_name(partition, self._random_bytes(16).hex(), DELETE_DIR_SUFFIX)
            try:
                filesystem.list_dir(directory)
                filesystem.rename(directory, f"{path}/{name}")
            except OSError as error:
                if not is_of_one_file(error):  # else the next start tells of it
                    self._environment.failures.fail(path, f"removing {directory}", error)
            else:
                self.remove_later(path, f"{path}/{name}", 0)
        self.checkpoint_soon()

    def start(self) -> None:
        """Begin the periodic work."""
        self.upkeep.start()

    # ---- logs ----------------------------------------------------------------------------------

    @property
    def blocking(self) -> Blocking:
        """Where work that may block is done."""
        return self._environment.blocking

    @property
    def descriptors(self) -> Descriptors:
        """How the node's file descriptors are divided."""
        return self._environment.descriptors

    @property
    def logs(self) -> list[UnifiedLog]:
        """All logs of the online directories."""
        return list(self._logs.values())

    @property
    def online_dirs(self) -> list[str]:
        """Directories that have not failed, in the order of `log.dirs`."""
        return [path for path in self._dirs if not self._environment.failures.is_offline(path)]

    def get(self, partition: tuple[str, int]) -> UnifiedLog | None:
        """The log of a (topic, partition)."""
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
        """The partition's log; made, in the emptiest online directory, when there is none.

        Not made where it had one before (`is_new` False) and a directory is offline: its records
        may lie there, and an empty log in their place would lose them. A log of another topic id
        is what a deleted topic of the same name left: it is renamed to `-stray`, never written to
        (KAFKA-14616). Raises LogDirFailure, DescriptorsLack where there is no room for one more,
        LogPlaceTaken where its folder would be something else's.
        """
        name = TopicPartition(*partition)
        unopened = self.unopened.get(name)
        if unopened is not None:
            if unopened.topic_id in (None, topic_id):
                raise LogUnusable(unopened.folders[0][0], unopened.why)
            self._forget_unopened(name)
        log = self._logs.get(name)
        if log is not None and log.topic_id not in (None, topic_id):
            self._put_aside(log, STRAY_DIR_SUFFIX)
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
            log.learn_topic_id(topic_id)
        return log

    def prefer_dir(self, partition: tuple[str, int], log_dir: str) -> None:
        """Where the partition's log is to be made, should it come here (AlterReplicaLogDirs)."""
        self._creation.prefer(TopicPartition(*partition), log_dir)

    def replace_with_future(self, partition: tuple[str, int]) -> UnifiedLog:
        """The copy takes the log's place, which is deleted. Both hold the same: nothing is lost
        wherever an end comes between. Raises LogDirFailure."""
        name = TopicPartition(*partition)
        current = self._logs[name]
        future = self.future_logs.take_over(name)
        self._dirs[future.log_dir].logs[name] = future
        delay_ms = current.config.file_delete_delay_ms
        with suppress(LogDirFailure):  # of the directory that it leaves: it is gone from there
            self._put_aside(current, DELETE_DIR_SUFFIX)
            self.remove_later(current.log_dir, current.directory, delay_ms)
        self._logs[name] = future
        self.checkpoint_soon()
        return future

    def logs_of(self, topics: Collection[str]) -> list[UnifiedLog]:
        """Those of some topics, copies on their way included."""
        logs = (*self._logs.values(), *self.future_logs.logs())
        return [log for log in logs if log.partition.topic in topics]

    def delete(self, partition: tuple[str, int]) -> bool:
        """Take a log away: renamed now, its files removed after `file.delete.delay.ms`.

        False where there is none. Raises LogDirFailure.
        """
        self.lacking.pop(TopicPartition(*partition), None)
        log = self.get(partition)
        if log is None:
            if partition in self.unopened:
                self._forget_unopened(TopicPartition(*partition))
            return False
        self._put_aside(log, DELETE_DIR_SUFFIX)
        self.upkeep.log_deleted()
        self.remove_later(log.log_dir, log.directory, log.config.file_delete_delay_ms)
        return True

    def _put_aside(self, log: UnifiedLog, suffix: str) -> None:
        del self._logs[log.partition]
        del self._dirs[log.log_dir].logs[log.partition]
        name = set_aside_name(log.partition, self._random_bytes(16).hex(), suffix)
        log.rename(f"{log.log_dir}/{name}")
        log.retire()

    def remove_later(self, log_dir: str, directory: str, delay_ms: int) -> None:
        """Remove a folder that has another name already, elsewhere."""
        environment = self._environment

        def done(_: object, error: Exception | None) -> None:
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
        """The logs of one directory, for DescribeLogDirs."""
        return list(self._dirs[log_dir].logs.values())

    def future_logs_in(self, log_dir: str) -> list[tuple[UnifiedLog, UnifiedLog | None]]:
        """Copies on their way there, each with the log that it is a copy of."""
        return [(log, self._logs.get(log.partition)) for log in self.future_logs.logs_in(log_dir)]

    def usage(self, log_dir: str) -> Usage:
        """Room on the directory's volume. Raises LogDirFailure."""
        try:
            return self._environment.filesystem.usage(log_dir)
        except OSError as error:
            raise self._environment.failures.fail(log_dir, "asking for room", error) from error

    def checkpoint_soon(self) -> None:
        """Write all checkpoints after what runs now: logs went, or were cut."""
        self.upkeep.checkpoint_soon()

    def _online(self) -> list[LogDirState]:
        return [self._dirs[path] for path in self.online_dirs]

    # ---- failure and stop ----------------------------------------------------------------------

    def on_dir_failure(self, callback: Callable[[str], None]) -> None:
        """`callback(log_dir)` runs once for each directory that fails, its logs offline already."""
        self._environment.failures.listen(lambda log_dir, _: callback(log_dir))

    def _dir_failed(self, path: str, _: str) -> None:
        log_dir = self._dirs.get(path)
        if log_dir is None:
            return
        for partition, log in log_dir.logs.items():
            log.go_offline()
            self._logs.pop(partition, None)
        self.future_logs.dir_failed(path)

    def set_recovery_threads(self, threads: int) -> None:
        """So many logs of a directory are opened, or closed, at a time from now on."""
        self._settings = replace(self._settings, num_recovery_threads_per_data_dir=threads)

    def begin_close(self, done: Callable[[], None]) -> None:
        """Make what `close` will write durable, several logs at a time; then `done`."""
        self.upkeep.stop()
        directories = [
            (log_dir.lock, (*log_dir.logs.values(), *self.future_logs.logs_in(log_dir.path)))
            for log_dir in (self._online() if self._loaded else ())
        ]
        at_once = self._settings.num_recovery_threads_per_data_dir
        LogsClosing(self.sliced, self.blocking, directories, at_once, done).begin()

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> bool:
        """Close every log, write the checkpoints, leave the marker where all of it went well.

        Called once, when no job is under way any more. True if every directory was left clean.
        A node whose start failed leaves no marker: its logs were never opened whole.
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

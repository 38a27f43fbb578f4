"""All logs of all log directories of one node.

Owns: which log lies where; opening them at start and closing them at stop; the periodic writing of
recovery points, log starts and high watermarks; deletion. A directory that fails goes offline with
all its logs, the others serve on.

Never: knows topics beyond their folders, leaders or replicas (`broker.replication`), nor touches
the metadata log, which belongs to the controller's Raft.

Kafka's class: `LogManager` 4.3. KIP-112 (several directories), KIP-858 (directory ids), KAFKA-13773
and KAFKA-15375 (the clean-shutdown marker is left only after a stop that was clean in every step).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from protocol.record_batch import CorruptBatch
from storage.checkpoints import (
    PARTITION_METADATA,
    decode_partition_metadata,
    encode_partition_metadata,
)
from storage.filesystem import Usage
from storage.log_config import LogConfig
from storage.log_dir_failure import LogDirFailure
from storage.log_dir_state import LogDirState
from storage.log_dirs import (
    UNKNOWN_BROKER_EPOCH,
    leave_clean_marker,
    lock_dir,
    read_clean_marker,
    take_clean_marker,
)
from storage.offset_checkpoints import read_offsets
from storage.refusal import LONG_MAX
from storage.topic_partition import (
    DELETE_DIR_SUFFIX,
    STRAY_DIR_SUFFIX,
    TopicPartition,
    is_set_aside,
    parse_directory,
    set_aside_name,
)
from storage.unified_log import LogEnvironment, UnifiedLog

METADATA_TOPIC = "__cluster_metadata"

IsStray = Callable[[TopicPartition, bytes | None], bool]
"""Whether a partition's folder, with this topic id (None: not known), belongs to no topic here."""


@dataclass(frozen=True, slots=True)
class LogManagerSettings:
    """Server configs of the log manager, under Kafka's names."""

    log_dirs: tuple[str, ...]
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    producer_id_expiration_check_interval_ms: int = 600_000
    log_flush_scheduler_interval_ms: int = LONG_MAX


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
        self._settings = settings
        self._config_for = config_for
        self._random_bytes = random_bytes
        self._dirs = {path: LogDirState(path, environment) for path in settings.log_dirs}
        self._logs: dict[TopicPartition, UnifiedLog] = {}
        self._loaded = False
        self._closed = False
        self._checkpoint_due = False
        self.report: list[str] = []
        """What opening the logs found and repaired, a line each, for people."""
        environment.failures.listen(self._dir_failed)

    # ---- start ---------------------------------------------------------------------------------

    def lock(self) -> None:
        """Hold the directories against other processes, before anything in them is opened.

        A directory that fails goes offline (ask `online_dirs`). Raises LogDirLocked.
        """
        filesystem = self._environment.filesystem
        for log_dir in self._dirs.values():
            try:
                filesystem.make_dirs(log_dir.path)
                log_dir.lock = lock_dir(filesystem, log_dir.path)
            except OSError as error:
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

    def load(self, is_stray: IsStray = lambda _partition, _topic_id: False) -> list[str]:
        """Open every log in the directories, which are locked, and give the recovery report.

        What belongs to no topic any more is renamed to `-stray` unopened: a folder that came back,
        or whose deletion the last end cut off. A directory that fails goes offline (ask
        `online_dirs`).
        """
        for log_dir in self._online():
            try:
                self._load_dir(log_dir, is_stray)
            except OSError as error:
                self._environment.failures.fail(log_dir.path, "opening logs", error)
        self._loaded = True
        return self.report

    def _load_dir(self, log_dir: LogDirState, is_stray: IsStray) -> None:
        filesystem, path = self._environment.filesystem, log_dir.path
        assert log_dir.lock is not None, f"{path} is opened before it is locked"
        epoch = take_clean_marker(filesystem, path)
        recovery = read_offsets(filesystem, log_dir.recovery_points.path)
        starts = read_offsets(filesystem, log_dir.log_starts.path)
        watermarks = read_offsets(filesystem, log_dir.high_watermarks.path)
        for name in filesystem.list_dir(path):
            directory = f"{path}/{name}"
            if not filesystem.is_dir(directory):
                continue
            if is_set_aside(name, DELETE_DIR_SUFFIX):
                self._remove_later(log_dir.path, directory, 0)
                continue
            partition = parse_directory(name)
            if partition is None or partition.topic == METADATA_TOPIC:
                continue
            topic_id = self._read_topic_id(directory)
            if is_stray(partition, topic_id):
                stray = set_aside_name(partition, self._random_bytes(16).hex(), STRAY_DIR_SUFFIX)
                filesystem.rename(directory, f"{path}/{stray}")
                self.report.append(f"{directory} belongs to no topic: renamed to {stray}")
                continue
            log = UnifiedLog(
                self._environment,
                path,
                directory,
                partition,
                self._config_for(partition.topic),
                topic_id=topic_id,
                clean=epoch is not None,
                recovery_point=recovery.get(partition, 0),
                log_start_offset=starts.get(partition, 0),
            )
            log.update_high_watermark(watermarks.get(partition, 0))
            self._take(log_dir, log)
        known = log_dir.watermarks()
        if any(known.get(partition, -1) < offset for partition, offset in watermarks.items()):
            self.checkpoint_soon()  # what names a log that is gone would hold for its successor
        self._tell(log_dir)

    def _read_topic_id(self, directory: str) -> bytes | None:
        path = f"{directory}/{PARTITION_METADATA}"
        filesystem = self._environment.filesystem
        if not filesystem.exists(path):
            return None
        return decode_partition_metadata(filesystem.read(path))

    def _take(self, log_dir: LogDirState, log: UnifiedLog) -> None:
        twin = self._logs.get(log.partition)
        if twin is not None:
            raise AssertionError(
                f"{log.partition} lies in {log.log_dir} and in {twin.log_dir}: remove one of them"
            )
        self._logs[log.partition] = log
        log_dir.logs[log.partition] = log

    def _tell(self, log_dir: LogDirState) -> None:
        """Say what an unclean stop cost: one line a directory, one for each log that lost bytes."""
        scanned = [log for log in log_dir.logs.values() if log.recovery.segments_scanned]
        if scanned:
            segments = sum(log.recovery.segments_scanned for log in scanned)
            size = sum(log.recovery.bytes_scanned for log in scanned)
            cut = sum(log.recovery.bytes_cut for log in scanned)
            self.report.append(
                f"Recovered {len(scanned)} log(s) in {log_dir.path}: scanned {segments} "
                f"segment(s), {size} bytes; cut off {cut} bytes"
            )
        for log in log_dir.logs.values():
            report = log.recovery
            if report.bytes_cut or report.segments_removed:
                self.report.append(
                    f"{log.partition}: cut off {report.bytes_cut} bytes, removed "
                    f"{report.segments_removed} segment(s); log end offset {log.log_end_offset}"
                )
            self.report.extend(f"{log.partition}: {note}" for note in report.notes)

    def start(self) -> None:
        """Begin the periodic work."""
        settings = self._settings
        self._every(
            settings.log_flush_offset_checkpoint_interval_ms, self.checkpoint_recovery_points
        )
        self._every(
            settings.log_flush_start_offset_checkpoint_interval_ms, self.checkpoint_log_starts
        )
        self._every(
            settings.replica_high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks
        )
        self._every(
            settings.producer_id_expiration_check_interval_ms, self._remove_expired_producers
        )
        if settings.log_flush_scheduler_interval_ms < LONG_MAX:
            self._every(settings.log_flush_scheduler_interval_ms, self._flush_due)

    def _every(self, interval_ms: int, work: Callable[[], None]) -> None:
        def run() -> None:
            if not self._closed:
                work()
                self._environment.scheduler.call_later(interval_ms, run)

        self._environment.scheduler.call_later(interval_ms, run)

    # ---- logs ----------------------------------------------------------------------------------

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
        (KAFKA-14616). Raises LogDirFailure.
        """
        name = TopicPartition(*partition)
        log = self._logs.get(name)
        if log is not None and log.topic_id not in (None, topic_id):
            self._put_aside(log, STRAY_DIR_SUFFIX)
            log = None
        if log is None:
            if not is_new and len(self.online_dirs) < len(self._dirs):
                offline = ",".join(path for path in self._dirs if path not in self.online_dirs)
                raise LogDirFailure(offline, f"{name} is not made anew: it may lie there")
            return self._create(name, topic_id, config or self._config_for(name.topic), log_dir)
        if log.topic_id is None:
            self._write_topic_id(log.log_dir, log.directory, topic_id)
            log.topic_id = topic_id
        return log

    def _create(
        self, partition: TopicPartition, topic_id: bytes, config: LogConfig, wanted: str | None
    ) -> UnifiedLog:
        path = wanted or self._emptiest_dir()
        log_dir = self._dirs[path]
        directory = f"{path}/{partition}"
        try:
            self._environment.filesystem.make_dirs(directory)
            self._write_topic_id(path, directory, topic_id)
            log = UnifiedLog(
                self._environment, path, directory, partition, config, topic_id=topic_id
            )
        except OSError as error:
            raise self._environment.failures.fail(path, f"creating {partition}", error) from error
        self._take(log_dir, log)
        return log

    def _write_topic_id(self, log_dir: str, directory: str, topic_id: bytes) -> None:
        """Written at once, made durable with the folder's name elsewhere."""
        environment = self._environment
        filesystem, path = environment.filesystem, f"{directory}/{PARTITION_METADATA}"
        filesystem.replace_atomically(path, encode_partition_metadata(topic_id), sync=False)

        def sync() -> None:
            if not filesystem.exists(path):
                return  # deleted meanwhile
            file = filesystem.open(path)
            try:
                file.sync()
            finally:
                file.close()
            filesystem.sync_dir(directory)
            filesystem.sync_dir(log_dir)

        def synced(_: object, error: Exception | None) -> None:
            if isinstance(error, OSError) and filesystem.exists(path):
                environment.failures.fail(log_dir, f"creating {directory}", error)

        environment.blocking.submit(sync, synced)

    def _emptiest_dir(self) -> str:
        online = self.online_dirs
        if not online:
            raise LogDirFailure(",".join(self._dirs), "No log directory is online")
        return min(online, key=lambda path: len(self._dirs[path].logs))

    def update_config(self, topic: str, config: LogConfig) -> None:
        """A topic's configs changed."""
        for log in self._logs.values():
            if log.partition.topic == topic:
                log.update_config(config)

    def delete(self, partition: tuple[str, int]) -> bool:
        """Take a log away: renamed now, its files removed after `file.delete.delay.ms`.

        False where there is none. Raises LogDirFailure.
        """
        log = self.get(partition)
        if log is None:
            return False
        self._put_aside(log, DELETE_DIR_SUFFIX)
        self._remove_later(log.log_dir, log.directory, log.config.file_delete_delay_ms)
        return True

    def _put_aside(self, log: UnifiedLog, suffix: str) -> None:
        del self._logs[log.partition]
        del self._dirs[log.log_dir].logs[log.partition]
        name = set_aside_name(log.partition, self._random_bytes(16).hex(), suffix)
        log.rename(f"{log.log_dir}/{name}")
        log.retire()
        self.checkpoint_soon()

    def _remove_later(self, log_dir: str, directory: str, delay_ms: int) -> None:
        environment = self._environment

        def done(_: object, error: Exception | None) -> None:
            if isinstance(error, OSError):
                environment.failures.fail(log_dir, f"removing {directory}", error)

        def remove() -> None:
            environment.filesystem.remove_tree(directory)

        environment.scheduler.call_later(
            delay_ms, lambda: environment.blocking.submit(remove, done)
        )

    def logs_in(self, log_dir: str) -> list[UnifiedLog]:
        """The logs of one directory, for DescribeLogDirs."""
        return list(self._dirs[log_dir].logs.values())

    def usage(self, log_dir: str) -> Usage:
        """Room on the directory's volume. Raises LogDirFailure."""
        try:
            return self._environment.filesystem.usage(log_dir)
        except OSError as error:
            raise self._environment.failures.fail(log_dir, "asking for room", error) from error

    # ---- checkpoints ---------------------------------------------------------------------------

    def checkpoint_recovery_points(self) -> None:
        """Write up to where each log is fsynced."""
        for log_dir in self._online():
            log_dir.recovery_points.write(log_dir.recovery_offsets())

    def checkpoint_log_starts(self) -> None:
        """Write the log starts that no segment's name tells."""
        for log_dir in self._online():
            log_dir.log_starts.write(log_dir.start_offsets())

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks."""
        for log_dir in self._online():
            log_dir.high_watermarks.write(log_dir.watermarks())

    def checkpoint_soon(self) -> None:
        """Write all checkpoints after what runs now: once for all logs of a topic that is deleted,
        or that were truncated. What one says of a deleted log would be taken for its successor of
        the same name: a high watermark there, of records that nobody has committed."""
        if not self._checkpoint_due:
            self._checkpoint_due = True
            self._environment.scheduler.call_soon(self._checkpoint_now)

    def _checkpoint_now(self) -> None:
        self._checkpoint_due = False
        if not self._closed:
            self.checkpoint_recovery_points()
            self.checkpoint_log_starts()
            self.checkpoint_high_watermarks()

    def _online(self) -> list[LogDirState]:
        return [self._dirs[path] for path in self.online_dirs]

    def _flush_due(self) -> None:
        for log in self.logs:
            log.flush_if_due()

    def _remove_expired_producers(self) -> None:
        now_ms = self._environment.scheduler.wall_ms()
        for log in self._logs.values():
            log.remove_expired_producers(now_ms)

    # ---- failure and stop ----------------------------------------------------------------------

    def on_dir_failure(self, callback: Callable[[str], None]) -> None:
        """`callback(log_dir)` runs once for each directory that fails, its logs offline already."""
        self._environment.failures.listen(lambda log_dir, _: callback(log_dir))

    def _dir_failed(self, path: str, _: str) -> None:
        log_dir = self._dirs.get(path)
        if log_dir is None:
            return
        for partition, log in log_dir.logs.items():
            log.offline = True
            self._logs.pop(partition, None)

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> bool:
        """Close every log, write the checkpoints, leave the marker where all of it went well.

        Called once, when no job is under way any more. True if every directory was left clean.
        A node whose start failed leaves no marker: its logs were never opened whole.
        """
        self._closed = True
        clean = self._loaded
        for log_dir in self._dirs.values():
            clean = self._close_dir(log_dir, broker_epoch) and clean
            if log_dir.lock is not None:
                log_dir.lock.release()
        return clean

    def _close_dir(self, log_dir: LogDirState, broker_epoch: int) -> bool:
        environment, path = self._environment, log_dir.path
        if not self._loaded or environment.failures.is_offline(path):
            return False
        try:
            for log in log_dir.logs.values():
                log.close()
            log_dir.recovery_points.write_now(log_dir.recovery_offsets())
            log_dir.log_starts.write_now(log_dir.start_offsets())
            log_dir.high_watermarks.write_now(log_dir.watermarks())
            leave_clean_marker(environment.filesystem, path, broker_epoch)
        except OSError as error:
            environment.failures.fail(path, "closing logs", error)
            return False
        except (LogDirFailure, CorruptBatch):
            return False
        return True

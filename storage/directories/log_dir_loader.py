"""Opening all logs of one log directory, several at a time, away from the loop.

Owns: what a start finds in the directory, and what of it is under way. A survey reads the
checkpoints and lists the folders; then each log is opened by a job of its own, up to
`num.recovery.threads.per.data.dir` at once. Only what comes out of a job touches the node's state.

A folder under a partition's name that holds none is left as it is, with a note. An empty one is
taken for none: a crash left it before the log's first file, and the log is made anew in it.

Never: knows what belongs to whom: `storage.directories.log_manager` says which folders are stray,
takes the logs, and takes the directory offline when it fails.

Kafka's class: `LogManager.loadLogs` 4.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ground.filesystem import Filesystem
from ground.topic_partition import (
    DELETE_DIR_SUFFIX,
    FUTURE_DIR_SUFFIX,
    TopicPartition,
    future_partition,
    is_set_aside,
    parse_directory,
)
from log_format.folder_contents import FolderContents, contents_of, why_no_partition
from log_format.segment_names import LOG_SUFFIX, base_offset_of
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_dirs import take_clean_marker
from storage.directories.log_places import topic_id_in
from storage.directories.offset_checkpoints import Offsets, read_offsets
from storage.log.log_dir_failure import is_of_one_file
from storage.log.log_environment import LogEnvironment
from storage.log.recovery_report import RecoveryReport
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig

METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A partition's folder, not opened yet."""

    partition: TopicPartition
    directory: str
    topic_id: bytes | None
    bytes_to_scan: int
    """0 after a clean stop."""
    is_future: bool = False
    """Whether it is a copy on its way into this directory (AlterReplicaLogDirs)."""
    fault: OSError | None = None
    """Why not even a look into it was possible."""
    is_unread: bool = False
    """Whether that look did not even give the names of its files."""


@dataclass(slots=True)
class Survey:
    """What lies in a log directory."""

    clean: bool
    recovery_points: Offsets
    log_starts: Offsets
    high_watermarks: Offsets
    notes: list[str] = field(default_factory=list)
    """What is damaged, and what is left as it is, a line each, for people."""
    logs: list[FoundLog] = field(default_factory=list)
    doomed: list[str] = field(default_factory=list)
    """Folders whose deletion the last end cut off."""
    set_aside: list[TopicPartition] = field(default_factory=list)
    """What has a folder under another name: deleted, or kept as a stray."""

    def lacking(self) -> list[TopicPartition]:
        """What had records here by the checkpoints, and has no folder under any name."""
        there = dict.fromkeys((*self.set_aside, *(one.partition for one in self.logs)))
        known = (*self.recovery_points.items(), *self.high_watermarks.items())
        had = dict.fromkeys(partition for partition, offset in known if offset)
        return [partition for partition in had if partition not in there]


class Folder(NamedTuple):
    """A name in a log directory that is one of a partition's folder."""

    name: str
    partition: TopicPartition
    is_future: bool


def folders(names: list[str]) -> list[Folder]:
    """Those of logs, and of copies under way, in a log directory that has these names."""
    found = []
    for name in names:
        is_future = is_set_aside(name, FUTURE_DIR_SUFFIX)
        partition = future_partition(name) if is_future else parse_directory(name)
        if partition is not None and partition.topic != METADATA_TOPIC:
            found.append(Folder(name, partition, is_future))
    return found


def survey(filesystem: Filesystem, log_dir: LogDirState) -> Survey:
    """Look through a directory; the marker of a clean stop is taken away. Raises OSError.

    A log that nobody knows the recovery point of is scanned whole.
    """
    path = log_dir.path
    clean = take_clean_marker(filesystem, path) is not None
    was_written = clean or filesystem.exists(log_dir.recovery_points.path)
    notes: list[str] = []

    def offsets(path: str, cost: str) -> Offsets:
        known = read_offsets(filesystem, path)
        if known is None:
            notes.append(f"{path} is damaged: {cost}")
        elif was_written and not filesystem.exists(path):
            notes.append(f"{path} is missing: {cost}")
        return known or {}

    found = Survey(
        clean,
        offsets(log_dir.recovery_points.path, "nobody knows what was flushed"),
        offsets(log_dir.log_starts.path, "records that DeleteRecords took may be back"),
        offsets(log_dir.high_watermarks.path, "high watermarks begin at the log starts"),
        notes,
    )
    names = filesystem.list_dir(path)
    for name in names:
        renamed = future_partition(name)
        if renamed is not None:
            found.set_aside.append(renamed)
        if is_set_aside(name, DELETE_DIR_SUFFIX) and filesystem.is_dir(f"{path}/{name}"):
            _look_at_doomed(filesystem, f"{path}/{name}", found)
    for name, partition, is_future in folders(names):
        directory = f"{path}/{name}"
        if not filesystem.is_dir(directory):
            continue
        recovery_point = None if clean else found.recovery_points.get(partition, 0)
        log = _look(filesystem, directory, partition, recovery_point, is_future, found.notes)
        if log is not None:
            found.logs.append(log)
    return found


def _look_at_doomed(filesystem: Filesystem, directory: str, found: Survey) -> None:
    """Remove nothing that is no partition's, or cannot be known to be one's."""
    try:
        why = why_no_partition(directory, filesystem.list_dir(directory))
    except OSError as error:
        if not is_of_one_file(error):
            raise
        why = f"{directory} cannot be read ({error})"
    if why is None:
        found.doomed.append(directory)
    else:
        found.notes.append(f"{why}: left as it is")


def _look(
    filesystem: Filesystem,
    directory: str,
    partition: TopicPartition,
    recovery_point: int | None,
    is_future: bool,
    notes: list[str],
) -> FoundLog | None:
    """Look at one folder. Return None where it has no log; without a recovery point nothing of it
    is scanned."""
    to_scan, topic_id, fault, names = 0, None, None, None
    try:
        names = filesystem.list_dir(directory)
        why = why_no_partition(directory, names)
        if why is not None:
            notes.append(f"{why}: left as it is")
            return None
        if contents_of(names) is FolderContents.NOTHING and not is_future:
            return None
        topic_id = topic_id_in(filesystem, directory, names)
        if recovery_point is not None:
            to_scan = _bytes_from(filesystem, directory, names, recovery_point)
    except OSError as error:
        if not is_of_one_file(error):
            raise
        fault = error
    return FoundLog(partition, directory, topic_id, to_scan, is_future, fault, names is None)


def _bytes_from(filesystem: Filesystem, directory: str, names: list[str], offset: int) -> int:
    """Bytes of the segment that holds `offset` and those after it; `names` are in order."""
    total = 0
    for name in reversed(names):
        base_offset = base_offset_of(name, LOG_SUFFIX)
        if base_offset is not None:
            total += filesystem.size(f"{directory}/{name}")
            if base_offset <= offset:
                break
    return total


class LogDirLoader:
    """Opens the logs of one directory, once."""

    def __init__(
        self,
        environment: LogEnvironment,
        log_dir: LogDirState,
        config_for: Callable[[str], LogConfig],
        at_once: int,
    ) -> None:
        """Opens `at_once` logs at a time."""
        self._environment = environment
        self._config_for = config_for
        self._at_once = at_once
        self._queue: deque[FoundLog] = deque()
        self._running: dict[FoundLog, RecoveryReport] = {}
        self._taken: Callable[[FoundLog, UnifiedLog], None] = lambda _found, _log: None
        self._refused: Callable[[FoundLog, Exception], None] = lambda _found, _error: None
        self._done: Callable[[Exception | None], None] | None = None
        self._filling = False
        self.log_dir = log_dir
        self.found: Survey | None = None
        self.bytes_to_scan = 0
        self.logs_to_open = 0
        self.logs_opened = 0
        self._scanned = 0

    @property
    def bytes_scanned(self) -> int:
        """Of `bytes_to_scan`, up to now."""
        return self._scanned + sum(report.bytes_scanned for report in self._running.values())

    def look(self, done: Callable[[Survey | None, Exception | None], None]) -> None:
        """Look through the directory; `done(what is there, or why that is not known)`."""
        assert self.log_dir.lock is not None, f"{self.log_dir.path} is opened before it is locked"
        filesystem, log_dir = self._environment.filesystem, self.log_dir

        def looked(found: Survey | None, error: Exception | None) -> None:
            self.found = found
            done(found, error)

        self._environment.blocking.submit(lambda: survey(filesystem, log_dir), looked)

    def open(
        self,
        logs: list[FoundLog],
        taken: Callable[[FoundLog, UnifiedLog], None],
        refused: Callable[[FoundLog, Exception], None],
        done: Callable[[Exception | None], None],
    ) -> None:
        """Open `logs`; `taken` runs with each, or `refused` where it is damaged beyond opening;
        `done` once: after all, or when the disk fails."""
        self._queue.extend(logs)
        self.logs_to_open = len(logs)
        self.bytes_to_scan = sum(one.bytes_to_scan for one in logs)
        self._taken, self._refused, self._done = taken, refused, done
        self._fill()

    def _fill(self) -> None:
        if self._filling:
            return  # a job that ran at once came back here
        self._filling = True
        while self._queue and len(self._running) < self._at_once:
            self._submit(self._queue.popleft())
        self._filling = False
        if not self._running:
            self._finish(None)

    def _submit(self, one: FoundLog) -> None:
        assert self.found is not None
        report = self._running[one] = RecoveryReport()
        environment, found, log_dir = self._environment, self.found, self.log_dir.path
        config = self._config_for(one.partition.topic)
        flushed = 0 if one.is_future else found.recovery_points.get(one.partition, 0)

        def job() -> UnifiedLog:
            if one.fault is not None:
                raise one.fault
            log = UnifiedLog(
                environment,
                log_dir,
                one.directory,
                one.partition,
                config,
                topic_id=one.topic_id,
                clean=found.clean,
                recovery_point=flushed,
                log_start_offset=0 if one.is_future else found.log_starts.get(one.partition, 0),
                report=report,
            )
            if not one.is_future:
                watermark = found.high_watermarks.get(one.partition, 0)
                if max(flushed, watermark) > log.log_end_offset:
                    report.lost_end(log.log_end_offset, max(flushed, watermark))
                log.update_high_watermark(watermark)
            return log

        environment.blocking.submit(job, lambda log, error: self._opened(one, log, error))

    def _opened(self, one: FoundLog, log: UnifiedLog | None, error: Exception | None) -> None:
        self._running.pop(one)
        self._scanned += one.bytes_to_scan
        self.logs_opened += 1
        if self._done is None:
            return  # another one failed
        if isinstance(error, OSError) and not is_of_one_file(error):
            self._finish(error)
            return
        try:
            if log is not None:
                self._taken(one, log)
            elif error is not None:
                self._refused(one, error)
        except Exception as failure:  # noqa: BLE001  whoever starts the node decides on it
            self._finish(failure)
            return
        self._fill()

    def _finish(self, error: Exception | None) -> None:
        done, self._done = self._done, None
        self._queue.clear()
        if done is not None:
            done(error)

"""The opening of all logs of one log directory, several at a time, off the loop.

Owns: the folders that a start finds in the directory, and the logs that are being opened. A survey
reads the checkpoints and lists the folders. Then each log is opened by a separate job, up to
`num.recovery.threads.per.data.dir` at once. A job never touches the node's state; the loop applies
its result.

A folder with a partition's name but without a partition's files is left as it is, with a note. An
empty folder is ignored: a crash left it before the log's first file, and the log is created in it.

Never: decides which folders are stray, keeps the opened logs, or takes a failed directory offline:
`storage.directories.log_manager` does.

Kafka's class: `LogManager.loadLogs`.
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
    is_set_aside,
    parse_directory,
    set_aside_partition,
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
class LogFolder:
    """A partition's folder that a start found. Its log is not opened yet."""

    partition: TopicPartition
    directory: str
    topic_id: bytes | None
    bytes_to_scan: int
    """The bytes of the segments that recovery will scan; 0 after a clean stop."""
    is_future: bool = False
    """Whether it is a copy under way into this directory (AlterReplicaLogDirs)."""
    fault: OSError | None = None
    """The error because of which the folder could not be read, None without one."""
    is_unread: bool = False
    """Whether not even the names of its files could be read."""


@dataclass(slots=True)
class Survey:
    """The content of a log directory at a start."""

    clean: bool
    recovery_points: Offsets
    log_starts: Offsets
    high_watermarks: Offsets
    notes: list[str] = field(default_factory=list)
    """Lines for people: files that are damaged, and folders that are left as they are."""
    logs: list[LogFolder] = field(default_factory=list)
    doomed: list[str] = field(default_factory=list)
    """Folders to delete: the node stopped before it deleted them."""
    set_aside: list[TopicPartition] = field(default_factory=list)
    """Partitions whose folder has another name: a deleted one, a stray, a copy under way."""

    def lacking(self) -> list[TopicPartition]:
        """Return the partitions that have records by the checkpoints, but no folder in the
        directory."""
        present = dict.fromkeys((*self.set_aside, *(log.partition for log in self.logs)))
        offsets = (*self.recovery_points.items(), *self.high_watermarks.items())
        expected = dict.fromkeys(partition for partition, offset in offsets if offset)
        return [partition for partition in expected if partition not in present]


class FolderName(NamedTuple):
    """A partition's folder in a log directory, as its name describes it."""

    name: str
    partition: TopicPartition
    is_future: bool


def folders(names: list[str]) -> list[FolderName]:
    """Return the folders of logs, and of copies under way, among the names in a log directory. The
    metadata log's are left out."""
    partition_folders = []
    for name in names:
        is_future = is_set_aside(name, FUTURE_DIR_SUFFIX)
        partition = set_aside_partition(name) if is_future else parse_directory(name)
        if partition is not None and partition.topic != METADATA_TOPIC:
            partition_folders.append(FolderName(name, partition, is_future))
    return partition_folders


def survey_directory(filesystem: Filesystem, log_dir: LogDirState) -> Survey:
    """Read a directory's checkpoints and folders, and remove the marker of a clean stop.

    After an unclean stop, a log without a recovery point is scanned whole. Raises OSError.
    """
    path = log_dir.path
    clean = take_clean_marker(filesystem, path) is not None
    was_written = clean or filesystem.exists(log_dir.recovery_points.path)
    notes: list[str] = []

    def offsets(path: str, cost: str) -> Offsets:
        """Return the offsets of a checkpoint; none if the file is missing or damaged. Then add a
        note with the `cost` to `notes`, but not for a file missing from a new directory."""
        kept_offsets = read_offsets(filesystem, path)
        if kept_offsets is None:
            notes.append(f"{path} is damaged: {cost}")
        elif was_written and not filesystem.exists(path):
            notes.append(f"{path} is missing: {cost}")
        return kept_offsets or {}

    result = Survey(
        clean,
        offsets(log_dir.recovery_points.path, "nobody knows what was flushed"),
        offsets(log_dir.log_starts.path, "records that DeleteRecords took may be back"),
        offsets(log_dir.high_watermarks.path, "high watermarks begin at the log starts"),
        notes,
    )
    names = filesystem.list_dir(path)
    for name in names:
        renamed = set_aside_partition(name)
        if renamed is not None:
            result.set_aside.append(renamed)
        if is_set_aside(name, DELETE_DIR_SUFFIX) and filesystem.is_dir(f"{path}/{name}"):
            _look_at_doomed(filesystem, f"{path}/{name}", result)
    for name, partition, is_future in folders(names):
        directory = f"{path}/{name}"
        if not filesystem.is_dir(directory):
            continue
        recovery_point = None if clean else result.recovery_points.get(partition, 0)
        log = _look(filesystem, directory, partition, recovery_point, is_future, result.notes)
        if log is not None:
            result.logs.append(log)
    return result


def _look_at_doomed(filesystem: Filesystem, directory: str, result: Survey) -> None:
    """Add a folder to `result.doomed` if it certainly is a partition's. Otherwise add the reason
    why it stays to `result.notes`."""
    try:
        why = why_no_partition(directory, filesystem.list_dir(directory))
    except OSError as error:
        if not is_of_one_file(error):
            raise
        why = f"{directory} cannot be read ({error})"
    if why is None:
        result.doomed.append(directory)
    else:
        result.notes.append(f"{why}: left as it is")


def _look(
    filesystem: Filesystem,
    directory: str,
    partition: TopicPartition,
    recovery_point: int | None,
    is_future: bool,
    notes: list[str],
) -> LogFolder | None:
    """Return the log of a partition's folder. A folder that cannot be read gives one with `fault`.

    Return None for an empty folder, and for one without a partition's files, with a note.
    `recovery_point` is None after a clean stop: nothing of the log is scanned then. Raises an
    OSError of the disk.
    """
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
    return LogFolder(partition, directory, topic_id, to_scan, is_future, fault, names is None)


def _bytes_from(filesystem: Filesystem, directory: str, names: list[str], offset: int) -> int:
    """Return the bytes of the segment that holds `offset` and of those after it.

    `names` are the folder's files, in order.
    """
    total = 0
    for name in reversed(names):
        base_offset = base_offset_of(name, LOG_SUFFIX)
        if base_offset is not None:
            total += filesystem.size(f"{directory}/{name}")
            if base_offset <= offset:
                break
    return total


class LogDirLoader:
    """The opening of one directory's logs, once."""

    def __init__(
        self,
        environment: LogEnvironment,
        log_dir: LogDirState,
        config_for: Callable[[str], LogConfig],
        at_once: int,
    ) -> None:
        """Open at most `at_once` logs at a time."""
        self._environment = environment
        self._config_for = config_for
        self._at_once = at_once
        self._queue: deque[LogFolder] = deque()
        self._running: dict[LogFolder, RecoveryReport] = {}
        self._on_opened: Callable[[LogFolder, UnifiedLog], None] = lambda _folder, _log: None
        self._on_damaged: Callable[[LogFolder, Exception], None] = lambda _folder, _error: None
        self._done: Callable[[Exception | None], None] | None = None
        self._filling = False
        self.log_dir = log_dir
        self.survey: Survey | None = None
        self.bytes_to_scan = 0
        self.logs_to_open = 0
        self.logs_opened = 0
        self._scanned = 0

    @property
    def bytes_scanned(self) -> int:
        """The part of `bytes_to_scan` that is scanned already."""
        return self._scanned + sum(report.bytes_scanned for report in self._running.values())

    def look(self, done: Callable[[Survey | None, Exception | None], None]) -> None:
        """Survey the directory off the loop, then call `done` with the survey or the error."""
        assert self.log_dir.lock is not None, f"{self.log_dir.path} is opened before it is locked"
        filesystem, log_dir = self._environment.filesystem, self.log_dir

        def looked(result: Survey | None, error: Exception | None) -> None:
            """Set `survey` (None after an error), and call `done`."""
            self.survey = result
            done(result, error)

        self._environment.blocking.submit(lambda: survey_directory(filesystem, log_dir), looked)

    def open(
        self,
        logs: list[LogFolder],
        on_opened: Callable[[LogFolder, UnifiedLog], None],
        on_damaged: Callable[[LogFolder, Exception], None],
        done: Callable[[Exception | None], None],
    ) -> None:
        """Open `logs`.

        `on_opened` is called with each opened log, `on_damaged` for each that is too damaged to
        open. `done` is called once: after all logs, or when the disk fails.
        """
        self._queue.extend(logs)
        self.logs_to_open = len(logs)
        self.bytes_to_scan = sum(log.bytes_to_scan for log in logs)
        self._on_opened, self._on_damaged, self._done = on_opened, on_damaged, done
        self._fill()

    def _fill(self) -> None:
        """Submit jobs until as many run as may. If none runs and none waits, call `done`."""
        if self._filling:
            return  # called by the end of a job that ran within `submit`
        self._filling = True
        while self._queue and len(self._running) < self._at_once:
            self._submit(self._queue.popleft())
        self._filling = False
        if not self._running:
            self._finish(None)

    def _submit(self, log_folder: LogFolder) -> None:
        """Open a log in another thread. `_opened` gets the log or its error."""
        assert self.survey is not None
        report = self._running[log_folder] = RecoveryReport()
        environment, survey, log_dir = self._environment, self.survey, self.log_dir.path
        config = self._config_for(log_folder.partition.topic)
        flushed_to = (
            0 if log_folder.is_future else survey.recovery_points.get(log_folder.partition, 0)
        )

        def job() -> UnifiedLog:
            """Open the log, set its high watermark, and return it. Raise the error of the survey if
            the folder could not be read."""
            if log_folder.fault is not None:
                raise log_folder.fault
            log = UnifiedLog(
                environment,
                log_dir,
                log_folder.directory,
                log_folder.partition,
                config,
                topic_id=log_folder.topic_id,
                clean=survey.clean,
                recovery_point=flushed_to,
                log_start_offset=0
                if log_folder.is_future
                else survey.log_starts.get(log_folder.partition, 0),
                report=report,
            )
            if not log_folder.is_future:
                watermark = survey.high_watermarks.get(log_folder.partition, 0)
                if max(flushed_to, watermark) > log.log_end_offset:
                    report.lost_end(log.log_end_offset, max(flushed_to, watermark))
                log.update_high_watermark(watermark)
            return log

        environment.blocking.submit(job, lambda log, error: self._opened(log_folder, log, error))

    def _opened(
        self, log_folder: LogFolder, log: UnifiedLog | None, error: Exception | None
    ) -> None:
        """Count an opened log, pass it to `on_opened` or its error to `on_damaged`, and submit the
        next job. An error of the disk, or one that a callback raises, ends the opening."""
        self._running.pop(log_folder)
        self._scanned += log_folder.bytes_to_scan
        self.logs_opened += 1
        if self._done is None:
            return  # the opening ended when another log failed
        if isinstance(error, OSError) and not is_of_one_file(error):
            self._finish(error)
            return
        try:
            if log is not None:
                self._on_opened(log_folder, log)
            elif error is not None:
                self._on_damaged(log_folder, error)
        except Exception as failure:  # noqa: BLE001  the start of the node handles it
            self._finish(failure)
            return
        self._fill()

    def _finish(self, error: Exception | None) -> None:
        """Drop the waiting jobs, and call `done(error)`. A second call has no effect."""
        done, self._done = self._done, None
        self._queue.clear()
        if done is not None:
            done(error)

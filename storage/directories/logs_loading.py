"""The start of all log directories at once: opening, what is stray, progress for people, a report.

Owns: one start, from the first look into the directories to the last log opened. Directories are
opened side by side; one that fails goes offline and the others go on. While segments are scanned
after an unclean stop, a line every few seconds tells how far it is and how long it will take.

Never: opens a folder itself (`storage.directories.log_dir_loader`), or keeps a log
(`storage.directories.log_manager`).

Kafka's class: `LogManager.loadLogs` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ground.ports import Timer
from ground.topic_partition import TopicPartition
from storage.directories.future_logs import FutureLogs
from storage.directories.log_dir_loader import FoundLog, LogDirLoader, Survey
from storage.directories.log_dir_state import LogDirState
from storage.log.log_dir_failure import is_lack_of_descriptors
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log.unopened_logs import KeptOffsets

PROGRESS_INTERVAL_MS = 5_000

IsStray = Callable[[TopicPartition, bytes | None], bool]
"""Whether a partition's folder, with this topic id (None: not known), belongs to no topic here."""


class LogOwner(Protocol):
    """Who keeps what is opened (`storage.directories.log_manager`)."""

    report: list[str]
    lacking: dict[TopicPartition, str]
    future_logs: FutureLogs

    def take(self, log: UnifiedLog) -> None: ...
    def leave_unopened(self, found: FoundLog, why: str, kept: KeptOffsets) -> None: ...
    def put_stray_aside(self, found: FoundLog) -> None: ...
    def remove_later(self, log_dir: str, directory: str, delay_ms: int) -> None: ...
    def checkpoint_soon(self) -> None: ...


class LogsLoading:
    """See the module."""

    def __init__(
        self,
        owner: LogOwner,
        environment: LogEnvironment,
        loaders: list[LogDirLoader],
        is_stray: IsStray,
        done: Callable[[Exception | None], None],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` takes lines on the progress; what was found goes to the owner's report."""
        self._owner = owner
        self._environment = environment
        self._loaders = loaders
        self._is_stray = is_stray
        self._done: Callable[[Exception | None], None] | None = done
        self._tell = tell
        self._open = len(loaders)
        self._looking = len(loaders)
        self._began_ms = environment.scheduler.monotonic_ms()
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Start; `done` follows, at once where nothing can be opened."""
        if not self._loaders:
            self._finish(None)
        for loader in list(self._loaders):
            loader.look(lambda found, error, loader=loader: self._looked(loader, found, error))  # type: ignore[misc]

    def stop(self) -> None:
        """The node stops: what is under way is left to itself."""
        self._done = None
        self._cancel()

    # ---- one directory ---------------------------------------------------------------------------

    def _looked(self, loader: LogDirLoader, found: Survey | None, error: Exception | None) -> None:
        if self._done is None:
            return
        self._looking -= 1
        if found is None:
            self._opened_dir(loader, error)
            return
        path, live = loader.log_dir.path, []
        loader.log_dir.looked(found.clean)
        self._owner.report.extend(found.notes)
        self._owner.lacking.update(dict.fromkeys(found.lacking(), path))
        for directory in found.doomed:
            self._owner.remove_later(path, directory, 0)
        try:
            for one in found.logs:
                if self._is_stray(one.partition, one.topic_id):
                    self._owner.put_stray_aside(one)
                else:
                    live.append(one)
        except OSError as failure:
            self._opened_dir(loader, failure)
            return
        loader.open(
            live,
            self._take,
            lambda one, error: self._leave(found, one, error),
            lambda error: self._opened_dir(loader, error),
        )
        self._foretell()

    def _take(self, one: FoundLog, log: UnifiedLog) -> None:
        if self._done is not None:
            (self._owner.future_logs.found if one.is_future else self._owner.take)(log)

    def _leave(self, found: Survey, one: FoundLog, error: Exception) -> None:
        """A folder cannot be opened: it costs its partition, whatever it is."""
        kept = KeptOffsets(
            found.recovery_points.get(one.partition, 0),
            found.log_starts.get(one.partition, 0),
            found.high_watermarks.get(one.partition, 0),
        )
        why = f"{one.directory} cannot be opened: {type(error).__name__}: {error}"
        self._owner.leave_unopened(one, why, kept)

    def _opened_dir(self, loader: LogDirLoader, error: Exception | None) -> None:
        """All logs of a directory are open, or it has failed."""
        if self._done is None:
            return
        self._open -= 1
        if isinstance(error, OSError) and not is_lack_of_descriptors(error):
            self._environment.failures.fail(loader.log_dir.path, "opening logs", error)
            self._loaders.remove(loader)
        elif error is not None:
            self._finish(error)
            return
        else:
            self._report(loader.log_dir)
            self._forget_stale_watermarks(loader)
        if not self._open:
            self._finish(None)

    def _forget_stale_watermarks(self, loader: LogDirLoader) -> None:
        assert loader.found is not None
        known = loader.log_dir.watermarks()
        if any(known.get(one, -1) < at for one, at in loader.found.high_watermarks.items()):
            # What names a log that is gone would hold for its successor.
            self._owner.checkpoint_soon()

    def _finish(self, error: Exception | None) -> None:
        done, self._done = self._done, None
        self._cancel()
        if done is not None:
            done(error)

    # ---- for people ------------------------------------------------------------------------------

    def _report(self, log_dir: LogDirState) -> None:
        """What an unclean stop cost: one line a directory, one for each log that lost bytes."""
        lines = self._owner.report
        scanned = [log for log in log_dir.logs.values() if log.recovery.segments_scanned]
        if scanned:
            segments = sum(log.recovery.segments_scanned for log in scanned)
            size = sum(log.recovery.bytes_scanned for log in scanned)
            cut = sum(log.recovery.bytes_cut for log in scanned)
            lines.append(
                f"Recovered {len(scanned)} log(s) in {log_dir.path}: scanned {segments} "
                f"segment(s), {size} bytes; cut off {cut} bytes"
            )
        for log in log_dir.logs.values():
            line = log.recovery.line(log.log_end_offset)
            if line:
                lines.append(f"{log.partition}: {line}")

    def _foretell(self) -> None:
        """Once all directories were looked through: what is to be done, if it may take a while."""
        to_scan = sum(loader.bytes_to_scan for loader in self._loaders)
        if self._looking or not to_scan or not self._open or self._timer is not None:
            return
        logs = sum(loader.logs_to_open for loader in self._loaders)
        self._began_ms = self._environment.scheduler.monotonic_ms()
        self._tell(
            f"The last stop was not clean: recovering {logs} log(s), {_size(to_scan)} to scan"
        )
        self._call_again()

    def _call_again(self) -> None:
        self._timer = self._environment.scheduler.call_later(PROGRESS_INTERVAL_MS, self._progress)

    def _progress(self) -> None:
        if self._done is None:
            return
        loaders = self._loaders
        self._tell(
            progress_line(
                sum(loader.logs_opened for loader in loaders),
                sum(loader.logs_to_open for loader in loaders),
                sum(loader.bytes_scanned for loader in loaders),
                sum(loader.bytes_to_scan for loader in loaders),
                self._environment.scheduler.monotonic_ms() - self._began_ms,
            )
        )
        self._call_again()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def progress_line(
    logs_opened: int, logs: int, scanned: int, to_scan: int, elapsed_ms: float
) -> str:
    """How far a recovery is after `elapsed_ms`; sizes are bytes."""
    scanned = min(scanned, to_scan)
    line = (
        f"Recovering: {logs_opened} of {logs} log(s), {_size(scanned)} of {_size(to_scan)} scanned"
    )
    if not scanned:
        return line
    left_s = elapsed_ms / scanned * (to_scan - scanned) / 1000
    return f"{line} ({100 * scanned // to_scan} %), about {_duration(left_s)} left"


def _size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"

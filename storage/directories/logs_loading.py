"""The start of all log directories at once: it opens logs, finds strays, reports the progress.

Owns: one start, from the first look into the directories to the last opened log. Directories are
opened in parallel; one that fails goes offline, and the others continue. While segments are scanned
after an unclean stop, a line every few seconds says how far the scan is and how long it will take.

Never: opens a folder itself (`storage.directories.log_dir_loader`), or keeps a log
(`storage.directories.log_manager`).

Kafka's class: `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ground.ports import Timer
from ground.topic_partition import TopicPartition
from storage.directories.future_logs import FutureLogs
from storage.directories.log_dir_loader import LogDirLoader, LogFolder, Survey
from storage.directories.log_dir_state import LogDirState
from storage.log.log_dir_failure import is_lack_of_descriptors
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log.unopened_logs import KeptOffsets

PROGRESS_INTERVAL_MS = 5_000

IsStray = Callable[[TopicPartition, bytes | None], bool]
"""A test of whether a partition's folder, with this topic id (None: not known), is a stray: its
topic or its replica on this node no longer exists."""


class LogOwner(Protocol):
    """The keeper of opened logs (`storage.directories.log_manager`)."""

    report: list[str]
    lacking: dict[TopicPartition, str]
    future_logs: FutureLogs

    def take(self, log: UnifiedLog) -> None:
        """Add an opened log."""

    def leave_unopened(self, log_folder: LogFolder, why: str, kept: KeptOffsets) -> None:
        """Take a folder that cannot be opened: its partition is offline."""

    def put_stray_aside(self, log_folder: LogFolder) -> None:
        """Rename a folder of no topic to `-stray`; remove it if it is a copy under way. Raises
        OSError."""

    def remove_later(self, log_dir: str, directory: str, delay_ms: int) -> None:
        """Remove a folder of `log_dir` after `delay_ms`."""

    def checkpoint_soon(self) -> None:
        """Write all checkpoints after the current turn of the loop."""


class LogsLoading:
    """One start of the log directories."""

    def __init__(
        self,
        owner: LogOwner,
        environment: LogEnvironment,
        loaders: list[LogDirLoader],
        is_stray: IsStray,
        done: Callable[[Exception | None], None],
        report_line: Callable[[str], None],
    ) -> None:
        """Open the logs of all `loaders` for `owner`.

        `report_line` is called with lines on the progress; the owner's report gets those on damage.
        """
        self._owner = owner
        self._environment = environment
        self._loaders = loaders
        self._is_stray = is_stray
        self._done: Callable[[Exception | None], None] | None = done
        self._report_line = report_line
        self._open = len(loaders)
        self._looking = len(loaders)
        self._began_ms = environment.scheduler.monotonic_ms()
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Survey each directory off the loop, then open its logs. After all directories call
        `done`, at once if there is none."""
        if not self._loaders:
            self._finish(None)
        for loader in list(self._loaders):
            loader.look(lambda survey, error, loader=loader: self._looked(loader, survey, error))  # type: ignore[misc]

    def stop(self) -> None:
        """Ignore the results of jobs under way, because the node stops. `done` is not called any
        more."""
        self._done = None
        self._cancel()

    # ---- one directory ---------------------------------------------------------------------------

    def _looked(self, loader: LogDirLoader, survey: Survey | None, error: Exception | None) -> None:
        """Use the survey of a directory: set stray logs aside, remove folders to be deleted, and
        open the other logs. Its notes go to the owner's report.

        With an error in place of a survey, the directory's loading ends.
        """
        if self._done is None:
            return
        self._looking -= 1
        if survey is None:
            self._dir_ended(loader, error)
            return
        path, live = loader.log_dir.path, []
        loader.log_dir.set_was_clean(survey.clean)
        self._owner.report.extend(survey.notes)
        self._owner.lacking.update(dict.fromkeys(survey.lacking(), path))
        for directory in survey.doomed:
            self._owner.remove_later(path, directory, 0)
        try:
            for log_folder in survey.logs:
                if self._is_stray(log_folder.partition, log_folder.topic_id):
                    self._owner.put_stray_aside(log_folder)
                else:
                    live.append(log_folder)
        except OSError as failure:
            self._dir_ended(loader, failure)
            return
        loader.open(
            live,
            self._take,
            lambda folder, error: self._leave_unopened(survey, folder, error),
            lambda error: self._dir_ended(loader, error),
        )
        self._announce_recovery()

    def _take(self, log_folder: LogFolder, log: UnifiedLog) -> None:
        """Pass an opened log to the owner; a future log continues its move."""
        if self._done is not None:
            (self._owner.future_logs.resume if log_folder.is_future else self._owner.take)(log)

    def _leave_unopened(self, survey: Survey, log_folder: LogFolder, error: Exception) -> None:
        """Pass a folder that cannot be opened to the owner, with the error as text and the
        partition's offsets in the checkpoints. Its partition is offline then."""
        kept = KeptOffsets(
            survey.recovery_points.get(log_folder.partition, 0),
            survey.log_starts.get(log_folder.partition, 0),
            survey.high_watermarks.get(log_folder.partition, 0),
        )
        why = f"{log_folder.directory} cannot be opened: {type(error).__name__}: {error}"
        self._owner.leave_unopened(log_folder, why, kept)

    def _dir_ended(self, loader: LogDirLoader, error: Exception | None) -> None:
        """Count a directory as ended, and add its recovery to the owner's report. An OSError takes
        the directory offline instead. A lack of descriptors, or another error, ends the whole
        start.

        After the last directory, finish the start.
        """
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
        """Let the owner write its checkpoints soon if one has a high watermark that is above its
        log's, or of a log that is gone."""
        assert loader.survey is not None
        current = loader.log_dir.watermarks()
        if any(current.get(name, -1) < old for name, old in loader.survey.high_watermarks.items()):
            # The high watermark of a log that is gone would apply to its successor.
            self._owner.checkpoint_soon()

    def _finish(self, error: Exception | None) -> None:
        """Stop the progress lines, and call `done(error)`. A second call has no effect."""
        done, self._done = self._done, None
        self._cancel()
        if done is not None:
            done(error)

    # ---- for people ------------------------------------------------------------------------------

    def _report(self, log_dir: LogDirState) -> None:
        """Add lines on the recovery to the owner's report: one for the directory if segments were
        scanned, and one for each log with repairs or losses."""
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

    def _announce_recovery(self) -> None:
        """Call `report_line` with the amount that recovery has to scan, after all directories were
        surveyed, and begin the progress lines. Do nothing if there is nothing to scan."""
        to_scan = sum(loader.bytes_to_scan for loader in self._loaders)
        if self._looking or not to_scan or not self._open or self._timer is not None:
            return
        logs = sum(loader.logs_to_open for loader in self._loaders)
        self._began_ms = self._environment.scheduler.monotonic_ms()
        self._report_line(
            f"The last stop was not clean: recovering {logs} log(s), {_size_text(to_scan)} to scan"
        )
        self._schedule_progress()

    def _schedule_progress(self) -> None:
        """Call `_progress` after `PROGRESS_INTERVAL_MS`."""
        self._timer = self._environment.scheduler.call_later(PROGRESS_INTERVAL_MS, self._progress)

    def _progress(self) -> None:
        """Call `report_line` with a line on the logs opened and the bytes scanned, and schedule the
        next line."""
        if self._done is None:
            return
        loaders = self._loaders
        self._report_line(
            progress_line(
                sum(loader.logs_opened for loader in loaders),
                sum(loader.logs_to_open for loader in loaders),
                sum(loader.bytes_scanned for loader in loaders),
                sum(loader.bytes_to_scan for loader in loaders),
                self._environment.scheduler.monotonic_ms() - self._began_ms,
            )
        )
        self._schedule_progress()

    def _cancel(self) -> None:
        """Cancel the timer of the progress lines."""
        if self._timer is not None:
            self._timer.cancel()


def progress_line(
    logs_opened: int, logs: int, scanned: int, to_scan: int, elapsed_ms: float
) -> str:
    """Return a line on how far a recovery is after `elapsed_ms`; `scanned`, `to_scan` in bytes."""
    scanned = min(scanned, to_scan)
    line = (
        f"Recovering: {logs_opened} of {logs} log(s), "
        f"{_size_text(scanned)} of {_size_text(to_scan)} scanned"
    )
    if not scanned:
        return line
    left_s = elapsed_ms / scanned * (to_scan - scanned) / 1000
    return f"{line} ({100 * scanned // to_scan} %), about {_duration_text(left_s)} left"


def _size_text(size: int) -> str:
    """Return a number of bytes in GB, MB or kB (10^9, 10^6, 10^3), with one decimal; below 1 kB in
    bytes."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _duration_text(seconds: float) -> str:
    """Return a text of seconds, or minutes from 100 s on."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"

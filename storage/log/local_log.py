"""The files of one log: its folder, its segments, and the work on them that is not per record.

Owns: rolling, cutting, deleting, syncing and renaming; which producer snapshots go with segments
that go; the disk's room for what comes next. Never: knows offsets beyond its segments' own, or what
is in the side files: `storage.log.unified_log` keeps that in step.

All methods raise `OSError` as the disk gives it; `failed(doing, error)` hears of what fails later.
Kafka's class: `LocalLog`.
"""

from __future__ import annotations

from collections.abc import Callable

from log_format.segment_names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from log_format.transaction_index import AbortedTxn
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.log_environment import LogEnvironment
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.next_segment import NextSegment
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.segment_files import sync_path
from storage.log_config import LogConfig


class LocalLog:
    """Segments in a folder."""

    __slots__ = (
        "_config",
        "_end_at_last_look",
        "_environment",
        "_failed",
        "_filesystem",
        "_leader_epochs",
        "_names_unsynced",
        "_next_segment",
        "directory",
        "files",
        "segments",
        "snapshots",
    )

    def __init__(
        self,
        environment: LogEnvironment,
        directory: str,
        config: LogConfig,
        segments: LogSegments,
        snapshots: ProducerSnapshots,
        leader_epochs: LeaderEpochCache,
        failed: Callable[[str, OSError], object],
    ) -> None:
        """May run on another thread; what is opened stays with the active segment."""
        filesystem, files = environment.filesystem, environment.descriptors.closed_files
        self._environment = environment
        self._failed = failed
        self._names_unsynced = True
        self._end_at_last_look = -1
        self._filesystem = filesystem
        self.directory = directory
        self._config = config
        self.segments = segments
        self.snapshots = snapshots
        self._leader_epochs = leader_epochs
        self.files = files
        segments.active.hold_file()  # with what the loader had: `files` may be another thread's
        for segment in segments:
            segment.use(files)
        self._next_segment = NextSegment(filesystem)

    def update_config(self, config: LogConfig) -> None:
        """Segments follow the new config at once."""
        self._config = config
        for segment in self.segments:
            segment.update_config(config)

    def roll(self, base_offset: int, now_ms: int) -> LogSegment:
        """Begin a new active segment; an empty one that begins there already is kept.

        Where that fails the log is as it was: the roll may be tried again.
        """
        active = self.segments.active
        if active.size == 0 and active.base_offset == base_offset:
            return active
        active.write_indexes()
        if self._next_segment.holds_room:
            active.file.give_back_room()
        self._names_unsynced = True
        segment = self._create(base_offset, now_ms)
        active.become_inactive()
        self.segments.add(segment)
        return segment

    def note_aborted(self, transaction: AbortedTxn) -> None:
        """The active segment has the marker of an aborted transaction now."""
        self.segments.active.add_aborted(transaction)
        self._names_unsynced = True  # its file may be new

    def truncate_to(self, offset: int) -> int:
        """Cut everything from `offset` on, and the batch that holds it; gives the new end.

        Durable when it returns: records that came back after a loss of power could otherwise
        follow what a new leader gave for the same offsets.
        """
        self.snapshots.remove_outside(-1, offset)  # before the cut syncs the folder
        beyond = self.segments.beyond(offset)
        # The last first: wherever a crash ends it, the segments that are left have no gap.
        self.set_aside(beyond[::-1])
        segment = self.segments.active
        end = segment.truncate_to(offset)
        if segment.base_offset == offset:
            end = offset
        segment.reopen(end)
        segment.file.sync()
        self._filesystem.sync_dir(self.directory)
        return end

    def truncate_fully(self, offset: int, now_ms: int) -> None:
        """Set all segments aside and begin anew, empty, at `offset`; durable when it returns."""
        self.snapshots.remove_outside(-1, -1)
        self.set_aside(list(self.segments)[::-1])
        self.segments.add(self._create(offset, now_ms))
        self._filesystem.sync_dir(self.directory)

    def remove_oldest(self, segments: list[LogSegment]) -> None:
        """Set segments aside, of which there is none older, with the snapshots before the rest."""
        self.set_aside(segments)
        self.snapshots.remove_before(self.segments.first.base_offset)

    def set_aside(self, segments: list[LogSegment]) -> None:
        """Take segments out and rename their files to `.deleted`, which are removed, elsewhere,
        after `file.delete.delay.ms`."""
        renamed = []
        for segment in segments:
            self.segments.remove(segment)
            segment.release_handles()
            for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
                path = segment.path(suffix)
                if self._filesystem.exists(path):
                    self._filesystem.rename(path, path + DELETED_SUFFIX)
                    renamed.append(path + DELETED_SUFFIX)
        if renamed:
            self._remove_later(renamed)

    def _remove_later(self, paths: list[str]) -> None:
        environment, filesystem = self._environment, self._filesystem

        def remove() -> None:
            for path in paths:
                filesystem.remove(path)

        def removed(_: object, error: Exception | None) -> None:
            if isinstance(error, OSError):
                self._failed("deletion of segments", error)

        environment.scheduler.call_later(
            self._config.file_delete_delay_ms, lambda: environment.blocking.submit(remove, removed)
        )

    def sync_job(self, from_offset: int, also: list[str]) -> Callable[[], None]:
        """What makes the log durable from `from_offset` to its present end; `also` names files.

        The folder is synced where names in it are new: a flush of the metadata log, at each
        commit, is one fsync.
        """
        jobs = [segment.sync_job() for segment in self.segments.from_floor(from_offset)]
        filesystem, directory = self._filesystem, self.directory
        names_too = self._names_unsynced or bool(also)
        self._names_unsynced = False

        def sync() -> None:
            for job in jobs:
                job()
            for path in also:
                sync_path(filesystem, path)
            if names_too:
                filesystem.sync_dir(directory)

        return sync

    def rename(self, directory: str) -> None:
        """The folder gets another name; open files stay open."""
        self._filesystem.rename(self.directory, directory)
        self.directory = directory
        for segment in self.segments:
            segment.moved(directory)
        self.snapshots.moved(directory)
        self._leader_epochs.moved(directory)

    def write_indexes(self) -> bool:
        """Bring the active segment's indexes to their files; False where they are there."""
        written = self.segments.active.write_indexes()
        self._names_unsynced = self._names_unsynced or written
        return written

    def close(self) -> None:
        """Give descriptors back; the active segment's indexes were written before."""
        self._give_back_room()
        for segment in self.segments:
            segment.close()

    def let_go(self) -> None:
        """The log takes and gives nothing any more: descriptors are left to slices in flight."""
        for segment in self.segments:
            segment.let_go()

    # ---- room on the disk ----------------------------------------------------------------------

    def prepare_disk(self, *, early: bool) -> None:
        """The log has grown: have room for its next segment and, if `early`, let the disk begin
        with what came, where enough has come together. Asked once an index entry: an append in
        between is too little for a disk to mind."""
        environment, active = self._environment, self.segments.active
        if early:
            environment.write_back.appended(active, environment.blocking, self._disk_failed)
        if 2 * active.size > self._config.segment_size_bytes:
            now_ms = environment.scheduler.wall_ms()
            self._next_segment.prepare(active, now_ms, environment.blocking, self._disk_failed)

    def _disk_failed(self, error: OSError) -> None:
        self._failed("preparing the disk", error)

    def give_back_unused_room(self, end: int) -> None:
        """Let others have what the log holds of the disk, if it took nothing since the last call:
        `end` is its end offset now."""
        unused = self._end_at_last_look == end
        self._end_at_last_look = end
        if unused and self._next_segment.holds_room:
            self._give_back_room()

    def _give_back_room(self) -> None:
        self._next_segment.give_back(self.directory, self.segments.active)

    def _create(self, base_offset: int, now_ms: int) -> LogSegment:
        self._next_segment.take(
            self.directory, segment_path(self.directory, base_offset, LOG_SUFFIX)
        )
        random_below = self._environment.random_below
        jitter_max = min(self._config.segment_jitter_ms, self._config.segment_ms)
        segment = LogSegment(
            self._filesystem,
            self.directory,
            base_offset,
            self._config,
            created_ms=now_ms,
            create=True,
            roll_jitter_ms=random_below(jitter_max) if jitter_max > 0 else 0,
            files=self.files,
        )
        if segment.size:  # a file that a failed removal left: never read it as ours
            segment.file.truncate(0)
            segment.set_aborted([])
        return segment

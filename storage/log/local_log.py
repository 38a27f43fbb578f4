"""The files of one log: its folder, its segments, and the work on whole segments.

Owns: rolling, truncation, deletion, syncing and renaming; the removal of producer snapshots with
their segments; the preallocated disk space. Never: knows the log's offsets beyond those of its
segments, or the content of the side files: `storage.log.unified_log` keeps them in step.

All methods raise OSError. `failed(doing, error)` is called for failures of work that runs later.
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
    """The segments of a log in their folder."""

    __slots__ = (
        "_config",
        "_end_at_last_call",
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
        """Use segments that a loader opened: keep the last one's file open, and let the others
        share the node's descriptors. It may run on another thread. Raises OSError."""
        filesystem, files = environment.filesystem, environment.descriptors.closed_files
        self._environment = environment
        self._failed = failed
        self._names_unsynced = True
        self._end_at_last_call = -1
        self._filesystem = filesystem
        self.directory = directory
        self._config = config
        self.segments = segments
        self.snapshots = snapshots
        self._leader_epochs = leader_epochs
        self.files = files
        segments.active.mark_active()  # before `files`, which another thread may use
        for segment in segments:
            segment.use(files)
        self._next_segment = NextSegment(filesystem)

    def update_config(self, config: LogConfig) -> None:
        """Apply a new config to the log and to all its segments."""
        self._config = config
        for segment in self.segments:
            segment.update_config(config)

    def roll(self, base_offset: int, now_ms: int) -> LogSegment:
        """Begin a new active segment, and return it.

        An empty active segment with that base offset is kept. After an OSError the log is as it
        was, and the roll may be retried.
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
        """Add a transaction to the active segment's index, after its abort marker was written."""
        self.segments.active.add_aborted(transaction)
        self._names_unsynced = True  # its file may be new

    def truncate_to(self, offset: int) -> int:
        """Remove the batch that holds `offset`, and all after it. Return the new end offset.

        It is durable when this returns. Otherwise, removed records could come back after a loss of
        power, behind other records that a new leader sent for these offsets.
        """
        self.snapshots.remove_outside(-1, offset)  # before the cut syncs the folder
        beyond = self.segments.beyond(offset)
        # The last first: after a crash at any step, the segments that are left have no gap.
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
        """Remove all segments and snapshots, and begin an empty segment at `offset`. Durable when
        this returns."""
        self.snapshots.remove_outside(-1, -1)
        self.set_aside(list(self.segments)[::-1])
        self.segments.add(self._create(offset, now_ms))
        self._filesystem.sync_dir(self.directory)

    def remove_oldest(self, segments: list[LogSegment]) -> None:
        """Remove the oldest segments, as `set_aside` does, and the producer snapshots before the
        remaining ones."""
        self.set_aside(segments)
        self.snapshots.remove_before(self.segments.first.base_offset)

    def set_aside(self, segments: list[LogSegment]) -> None:
        """Take segments out of the log, and rename their files to `.deleted`.

        The files are removed, off the loop, after `file.delete.delay.ms`.
        """
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
        """Remove the files off the loop, after `file.delete.delay.ms`. The log's failure callback
        gets an OSError."""
        environment, filesystem = self._environment, self._filesystem

        def remove() -> None:
            for path in paths:
                filesystem.remove(path)

        def removed(_: object, error: Exception | None) -> None:
            """Pass an OSError of the removal to the log's failure callback."""
            if isinstance(error, OSError):
                self._failed("deletion of segments", error)

        environment.scheduler.call_later(
            self._config.file_delete_delay_ms, lambda: environment.blocking.submit(remove, removed)
        )

    def sync_job(self, from_offset: int, also: list[str]) -> Callable[[], None]:
        """Return a job that makes the log durable from `from_offset` to its present end.

        `also` are paths of further files to sync. The folder is synced only if names in it are
        new: so a flush of the metadata log, at each commit, is one fsync.
        """
        jobs = [segment.sync_job() for segment in self.segments.from_floor(from_offset)]
        filesystem, directory = self._filesystem, self.directory
        names_too = self._names_unsynced or bool(also)
        self._names_unsynced = False

        def sync() -> None:
            """Fsync the segments, the other files, and the folder if names are new. Raises
            OSError."""
            for job in jobs:
                job()
            for path in also:
                sync_path(filesystem, path)
            if names_too:
                filesystem.sync_dir(directory)

        return sync

    def rename(self, directory: str) -> None:
        """Rename the folder. Open files stay open."""
        self._filesystem.rename(self.directory, directory)
        self.directory = directory
        for segment in self.segments:
            segment.set_directory(directory)
        self.snapshots.set_directory(directory)
        self._leader_epochs.set_directory(directory)

    def write_indexes(self) -> bool:
        """Write the active segment's indexes to their files. Return False if they are current."""
        written = self.segments.active.write_indexes()
        self._names_unsynced = self._names_unsynced or written
        return written

    def close(self) -> None:
        """Close all segments, and free preallocated disk space. The active segment's indexes were
        written before."""
        self._give_back_room()
        for segment in self.segments:
            segment.close()

    def release_descriptors(self) -> None:
        """Close the files of all segments. Slices that are being sent keep their descriptors."""
        for segment in self.segments:
            segment.release_descriptors()

    # ---- disk space ----------------------------------------------------------------------------

    def prepare_disk(self, *, early: bool) -> None:
        """Preallocate the next segment if it is time; if `early`, write back appended bytes.

        It is called once per index entry, because a single append changes little.
        """
        environment, active = self._environment, self.segments.active
        if early:
            environment.write_back.appended(active, environment.blocking, self._disk_failed)
        if 2 * active.size > self._config.segment_size_bytes:
            now_ms = environment.scheduler.wall_ms()
            self._next_segment.prepare(active, now_ms, environment.blocking, self._disk_failed)

    def _disk_failed(self, error: OSError) -> None:
        """Pass an error of preallocation or write-back to the log's failure callback."""
        self._failed("preparing the disk", error)

    def give_back_unused_room(self, end: int) -> None:
        """Free preallocated disk space if the log has not grown since the last call.

        `end` is the log end offset now.
        """
        unused = self._end_at_last_call == end
        self._end_at_last_call = end
        if unused and self._next_segment.holds_room:
            self._give_back_room()

    def _give_back_room(self) -> None:
        """Remove the preallocated file, and free unused blocks of the active segment."""
        self._next_segment.give_back(self.directory, self.segments.active)

    def _create(self, base_offset: int, now_ms: int) -> LogSegment:
        """Return a new segment at `base_offset`, in the preallocated file if there is one. Files of
        a failed removal are emptied."""
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
        if segment.size:  # a file that a failed removal left: its records are not this log's
            segment.file.truncate(0)
            segment.set_aborted([])
        return segment

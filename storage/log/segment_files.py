"""The files of a segment. Those of the active segment are always open; those of a closed one are
open while `storage.log.closed_files` has room for them.

Owns the `.log` file, open or closed, and the knowledge which indexes are not fsynced yet. It is a
part of `storage.log.log_segment.LogSegment`. Never reads or writes batches.
"""

from __future__ import annotations

from collections.abc import Callable

from ground.filesystem import File, Filesystem
from log_format.segment_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from storage.log.closed_files import ClosedFile, ClosedFiles
from storage.log.indexes import OffsetIndex, TimeIndex


class SegmentFiles:
    """The files of one segment."""

    __slots__ = ("_files", "_indexes_unsynced", "_transactions_unsynced", "directory", "file")

    base_offset: int
    filesystem: Filesystem
    offset_index: OffsetIndex
    time_index: TimeIndex

    def _begin_files(
        self, directory: str, files: ClosedFiles | None, *, closed: bool, create: bool
    ) -> None:
        """Set the attributes of the files. A closed segment's file opens when it is used; another
        is opened now, and created if `create` is set. Raises OSError."""
        self.directory = directory
        self._files = files if files is not None else ClosedFiles()
        self._indexes_unsynced = self._transactions_unsynced = False
        path = self.path(LOG_SUFFIX)
        if closed:
            size = self.filesystem.size(path)
            self.file: File = ClosedFile(self._files, self.filesystem, path, size, None)
        else:
            self.file = self.filesystem.open(path, create=create)

    def _indexes_written(self) -> None:
        """Let the next sync job fsync the index files too."""
        self._indexes_unsynced = True

    def _transactions_written(self) -> None:
        """Let the next sync job fsync the transaction index too."""
        self._transactions_unsynced = True

    def path(self, suffix: str) -> str:
        """Return the path of this segment's file with `suffix`."""
        return segment_path(self.directory, self.base_offset, suffix)

    @property
    def open_file(self) -> File | None:
        """The open file, for a caller that keeps it; None if it is not open."""
        file = self.file
        return file.current if type(file) is ClosedFile else file

    def mark_active(self) -> None:
        """Keep the file open, because the segment is the active one now. Raises OSError."""
        file = self.file
        if type(file) is ClosedFile:
            self.file = file.detach()

    def mark_closed(self) -> None:
        """Close and open the file as needed from now on: the segment is no longer active."""
        file = self.file
        if type(file) is not ClosedFile:
            path = self.path(LOG_SUFFIX)
            self.file = ClosedFile(self._files, self.filesystem, path, file.size, file)

    def use(self, files: ClosedFiles) -> None:
        """Let `files` limit the open files of the segment from now on, once it is closed. Close
        those that a closed segment has open."""
        self._files = files
        self.offset_index.use(files)
        self.time_index.use(files)
        file = self.file
        if type(file) is ClosedFile:
            file.release()
            self.file = ClosedFile(files, self.filesystem, file.path, file.size, None)

    def set_directory(self, directory: str) -> None:
        """Open files in `directory` from now on, because the folder was renamed. Close the files of
        a closed segment."""
        self.directory = directory
        self.release_closed()
        file = self.file
        if type(file) is ClosedFile:
            file.set_path(self.path(LOG_SUFFIX))

    def release_descriptors(self) -> None:
        """Close the segment's files, which open again when they are used. Slices that are being
        sent keep their descriptors."""
        self.mark_closed()
        self.release_handles()

    def release_closed(self) -> None:
        """Close the files of a closed segment. Do nothing for the active one."""
        if not self.offset_index.is_open:
            self.release_handles()

    def release_handles(self) -> None:
        """Close the files that a closed segment keeps open. Do not call this for the active one."""
        self.offset_index.release()
        self.time_index.release()
        file = self.file
        if type(file) is ClosedFile:
            file.release()

    def _file_to_sync(self) -> File | None:
        """Return the open file, which the sync job keeps: so the fsync reports any disk error.

        Return None if the job is to open the file itself. Many segments may be rolled before the
        first is synced, and reads would lack their descriptors. Also return None for an empty file,
        such as that of a segment that was just rolled.
        """
        file = self.file
        if not file.size:
            return None
        if type(file) is not ClosedFile:
            return file
        return file.current if self._files.has_ample_room else None

    def sync_job(self) -> Callable[[], None]:
        """Return a job that makes the segment durable up to its present end.

        The job may run on another thread: it touches files only.
        """
        file, filesystem = self._file_to_sync(), self.filesystem
        paths = [self.path(LOG_SUFFIX)] if file is None and self.file.size else []
        if self._indexes_unsynced:
            paths += [self.path(INDEX_SUFFIX), self.path(TIME_INDEX_SUFFIX)]
            self._indexes_unsynced = False
        if self._transactions_unsynced:
            paths.append(self.path(TXN_INDEX_SUFFIX))
            self._transactions_unsynced = False

        def sync() -> None:
            """Fsync the batches and the new index files. Raises OSError."""
            if file is not None:
                file.sync()
            for path in paths:
                sync_path(filesystem, path)

        return sync

    def close(self) -> None:
        """Close all files. The caller has called `write_indexes` before."""
        self.release_handles()
        self.file.close()

    def remove_files(self) -> None:
        """Delete the segment's files. Slices that are being sent keep their data until they are
        sent."""
        for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
            self.filesystem.remove(self.path(suffix))


def sync_path(filesystem: Filesystem, path: str) -> None:
    """Fsync a file that was written before. Raises OSError.

    A file that was deleted meanwhile is ignored. If its folder is gone too, FileNotFoundError is
    raised: only the caller knows whether the folder was renamed.
    """
    try:
        file = filesystem.open(path)
    except FileNotFoundError:  # deleted by the loop while this runs on another thread
        if not filesystem.exists(path.rpartition("/")[0]):
            raise
        return
    try:
        file.sync()
    finally:
        file.close()

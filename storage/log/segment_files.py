"""The files of a segment, and whether they are open: always while it is the active one, as
`storage.log.closed_files` has room for them while it is closed.

Owns the `.log` file as an open or closed one, and what is not on stable storage of its indexes; a
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
    """See the module."""

    __slots__ = ("_files", "_indexes_unsynced", "_transactions_unsynced", "directory", "file")

    base_offset: int
    filesystem: Filesystem
    offset_index: OffsetIndex
    time_index: TimeIndex

    def _begin_files(
        self, directory: str, files: ClosedFiles | None, *, closed: bool, create: bool
    ) -> None:
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
        self._indexes_unsynced = True

    def _transactions_written(self) -> None:
        self._transactions_unsynced = True

    def path(self, suffix: str) -> str:
        """Where the file of this segment with `suffix` lies."""
        return segment_path(self.directory, self.base_offset, suffix)

    @property
    def open_file(self) -> File | None:
        """For who keeps the file beyond this call; None where it is not open."""
        file = self.file
        return file.current if type(file) is ClosedFile else file

    def hold_file(self) -> None:
        """It is the active one: its file stays open. Raises OSError."""
        file = self.file
        if type(file) is ClosedFile:
            self.file = file.detach()

    def rest_file(self) -> None:
        """It is closed: its file may be closed, too, and opened again."""
        file = self.file
        if type(file) is not ClosedFile:
            path = self.path(LOG_SUFFIX)
            self.file = ClosedFile(self._files, self.filesystem, path, file.size, file)

    def use(self, files: ClosedFiles) -> None:
        """`files` keeps open what it needs while it is closed, from now on."""
        self._files = files
        self.offset_index.use(files)
        self.time_index.use(files)
        file = self.file
        if type(file) is ClosedFile:
            file.release()
            self.file = ClosedFile(files, self.filesystem, file.path, file.size, None)

    def moved(self, directory: str) -> None:
        """Its folder has another name, by which what is closed is opened from now on."""
        self.directory = directory
        self.release_closed()
        file = self.file
        if type(file) is ClosedFile:
            file.moved(self.path(LOG_SUFFIX))

    def let_go(self) -> None:
        """The log takes and gives nothing any more: descriptors are left to slices in flight."""
        self.rest_file()
        self.release_handles()

    def release_closed(self) -> None:
        """Give back the files of a closed segment; the active one keeps its memory."""
        if not self.offset_index.is_open:
            self.release_handles()

    def release_handles(self) -> None:
        """Give back what a closed segment keeps open. Not for the active segment."""
        self.offset_index.release()
        self.time_index.release()
        file = self.file
        if type(file) is ClosedFile:
            file.release()

    def _file_to_sync(self) -> File | None:
        """The open file, which the job keeps: an error of the disk is sure to be told to it. Many
        segments may be rolled before the first is synced: where that would take what readers
        need, None, and the job opens the file itself. An empty one, as that which a roll has just
        begun, is not worth a descriptor until then."""
        file = self.file
        if not file.size:
            return None
        if type(file) is not ClosedFile:
            return file
        return file.current if self._files.is_roomy else None

    def sync_job(self) -> Callable[[], None]:
        """What makes this segment durable as it is now: for another thread, touches only files."""
        file, filesystem = self._file_to_sync(), self.filesystem
        paths = [self.path(LOG_SUFFIX)] if file is None and self.file.size else []
        if self._indexes_unsynced:
            paths += [self.path(INDEX_SUFFIX), self.path(TIME_INDEX_SUFFIX)]
            self._indexes_unsynced = False
        if self._transactions_unsynced:
            paths.append(self.path(TXN_INDEX_SUFFIX))
            self._transactions_unsynced = False

        def sync() -> None:
            if file is not None:
                file.sync()
            for path in paths:
                sync_path(filesystem, path)

        return sync

    def close(self) -> None:
        """Give the descriptors back; `write_indexes` comes before."""
        self.release_handles()
        self.file.close()

    def remove_files(self) -> None:
        """Delete the segment's files. Slices in flight keep the data until they are sent."""
        for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
            self.filesystem.remove(self.path(suffix))


def sync_path(filesystem: Filesystem, path: str) -> None:
    """fsync a file that was written before; one that is gone meanwhile is no error, unless its
    folder is gone too: who asks knows whether that has another name now."""
    try:
        file = filesystem.open(path)
    except FileNotFoundError:  # deleted on the loop while this runs elsewhere
        if not filesystem.exists(path.rpartition("/")[0]):
            raise
        return
    try:
        file.sync()
    finally:
        file.close()

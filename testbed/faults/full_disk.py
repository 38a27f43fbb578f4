"""A disk that is full as soon as a test says so.

Owns the set of full paths. A write that needs more room there fails with ENOSPC, as on a real disk,
and none of it is kept. Calls that free room, or take none, work as before. Compaction runs in a
process of its own, on the machine's real disk.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from ground.filesystem import BytesLike, File, Filesystem, Lock, VolumeUsage

_TEXT = "No space left on device"


class Room:
    """The space of the disk: none below some paths, elsewhere as much as the machine has."""

    def __init__(self) -> None:
        self._full: tuple[str, ...] = ()

    def fill(self, path: str) -> None:
        """Leave no room at this path and below it, in addition to the paths that are full
        already."""
        self._full = (*self._full, f"{path}/")

    def free(self) -> None:
        """Make room again everywhere."""
        self._full = ()

    def is_full(self, path: str) -> bool:
        """Return whether nothing can be written at this path."""
        return bool(self._full) and f"{path}/".startswith(self._full)

    def check_room(self, path: str) -> None:
        """Raise OSError (ENOSPC) if there is no room at this path."""
        if self.is_full(path):
            raise OSError(errno.ENOSPC, _TEXT, path)


class FillableFile:
    """A file (`ground.filesystem.File`) whose writes fail while its disk is full."""

    __slots__ = ("__weakref__", "_file", "_room", "path")

    def __init__(self, file: File, room: Room) -> None:
        """Wrap a file, whose writes need room in `room`."""
        self._file = file
        self._room = room
        self.path = file.path

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self._file.size

    def append(self, data: BytesLike) -> None:
        """Append the data, as `File.append` does. Raises OSError (ENOSPC), and writes nothing, if
        the disk is full."""
        self._room.check_room(self.path)
        self._file.append(data)

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """Append the parts, as `File.append_parts` does. Raises OSError (ENOSPC), and writes
        nothing, if the disk is full."""
        self._room.check_room(self.path)
        self._file.append_parts(parts)

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from `offset`, also while the disk is full."""
        return self._file.pread(size, offset)

    def write_at(self, data: BytesLike, offset: int) -> None:
        """Write the data, as `File.write_at` does. If that would make the file longer while the
        disk is full, raises OSError (ENOSPC) and writes nothing."""
        if offset + len(data) > self._file.size:
            self._room.check_room(self.path)
        self._file.write_at(data, offset)

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, also while the disk is full."""
        self._file.truncate(size)

    def sync(self) -> None:
        """Sync the file, as `File.sync` does, also while the disk is full."""
        self._file.sync()

    def write_back(self, offset: int, size: int) -> None:
        """Write these bytes of the file's cache to the disk, as `File.write_back` does, also while
        the disk is full."""
        self._file.write_back(offset, size)

    def give_back_room(self) -> None:
        """Free the blocks beyond the file's end, as `File.give_back_room` does."""
        self._file.give_back_room()

    def close(self) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()


class FillableFilesystem:
    """A file system (`ground.filesystem.Filesystem`) whose disk a test can fill."""

    def __init__(self, filesystem: Filesystem, room: Room) -> None:
        """Wrap a file system, whose new bytes need room in `room`."""
        self._real = filesystem
        self._room = room

    def open(self, path: str, *, create: bool = False) -> FillableFile:
        """Open a file, whose writes fail while the disk is full. A new, empty file needs no
        room."""
        return FillableFile(self._real.open(path, create=create), self._room)

    def make_with_room(self, path: str, size: int) -> None:
        """Create a file with allocated blocks, as `Filesystem.make_with_room` does. Raises OSError
        (ENOSPC) if the disk is full."""
        self._room.check_room(path)
        self._real.make_with_room(path, size)

    def read(self, path: str) -> bytes:
        return self._real.read(path)

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Replace a file's contents, as `Filesystem.replace_atomically` does. Raises OSError
        (ENOSPC), and keeps the old contents, if the disk is full."""
        self._room.check_room(path)
        self._real.replace_atomically(path, data, sync=sync)

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, as `Filesystem.rename` does, also while the disk is full."""
        self._real.rename(source, target)

    def remove(self, path: str) -> None:
        self._real.remove(path)

    def remove_tree(self, path: str) -> None:
        self._real.remove_tree(path)

    def list_dir(self, path: str) -> list[str]:
        return self._real.list_dir(path)

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents if they are missing. Raises OSError (ENOSPC) if the
        folder is missing and the disk is full."""
        if not self._real.exists(path):
            self._room.check_room(path)
        self._real.make_dirs(path)

    def exists(self, path: str) -> bool:
        return self._real.exists(path)

    def is_dir(self, path: str) -> bool:
        return self._real.is_dir(path)

    def real_path(self, path: str) -> str:
        return self._real.real_path(path)

    def size(self, path: str) -> int:
        return self._real.size(path)

    def modified_ms(self, path: str) -> int:
        return self._real.modified_ms(path)

    def sync_dir(self, path: str) -> None:
        """Sync a folder, as `Filesystem.sync_dir` does, also while the disk is full."""
        self._real.sync_dir(path)

    def lock(self, path: str) -> Lock | None:
        """Lock a file, as `Filesystem.lock` does, also while the disk is full; None if another
        process has the lock."""
        return self._real.lock(path)

    def usage(self, path: str) -> VolumeUsage:
        """Return the size and free space of the real volume of `path`; no free space if the disk is
        full there."""
        usage = self._real.usage(path)
        return VolumeUsage(usage.total_bytes, 0) if self._room.is_full(path) else usage

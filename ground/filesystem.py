"""The access to disk: the `Filesystem` protocol that logs use, and its implementation on real
disks.

It owns file descriptors, the crash-safe replacement of small files, and locks on log directories.
It never knows a format, retries a failed fsync, or hides an `OSError`. The owner of a log directory
takes it offline if an `OSError` is raised (`storage.log.log_dir_failure`).

Components get a `Filesystem` by their constructor; the simulator passes one that loses and tears
bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from ground import platform_calls

T = TypeVar("T")
BytesLike = bytes | bytearray | memoryview

_PARTS_PER_WRITE = 512  # below Linux's IOV_MAX of 1,024
_STAT_BLOCK_BYTES = 512  # stat(2)
_ROOM_KEPT_BYTES = 4 << 20  # a segment that was rolled by its size leaves less unused
_REFUSED = (errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ESPIPE)
"""The errors of a call that the system does not have or does not support for this file, and of a
call on a file that was closed meanwhile."""


class File(Protocol):
    """An open file that grows at its end. All methods raise `OSError`."""

    @property
    def path(self) -> str:
        """The path at which the file was opened, for messages. A rename of its folder does not
        change it."""

    @property
    def size(self) -> int:
        """The size of the file in bytes. Writes through other handles do not change it."""

    def append(self, data: BytesLike) -> None:
        """Append all of `data`; if that fails, raise `OSError` and keep nothing of it."""

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """Append several parts, one behind the other; if that fails, raise `OSError` and keep
        nothing of them."""

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from `offset`; fewer only at the end of the file."""

    def write_at(self, data: BytesLike, offset: int) -> None:
        """Write all of `data` at `offset`: over existing bytes, or from the end of the file on."""

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes."""

    def sync(self) -> None:
        """Return when the bytes are on stable storage. A failure is final: do not call it again."""

    def write_back(self, offset: int, size: int) -> None:
        """Write these bytes to the disk, which may keep them in its cache, so they are not durable
        when this returns. A failure is as final as one of `sync`."""

    def give_back_room(self) -> None:
        """Free the blocks that are allocated beyond the file's end, unless they are few (on a real
        disk, up to 4 MiB)."""

    def close(self) -> None:
        """Close the descriptor; a second call has no effect."""

    def fileno(self) -> int:
        """Return the descriptor, for sendfile. Raises `OSError` if there is none."""


class Lock(Protocol):
    """A lock on a log directory, held by this process."""

    def release(self) -> None:
        """Unlock the directory for other processes."""

    def sync_volume(self) -> bool:
        """Return True when all data of the directory's volume is on stable storage, False if the
        system cannot say so.

        Raises `OSError` for any write on the volume that failed since the lock was taken, also one
        of another process.
        """


@dataclass(frozen=True, slots=True)
class VolumeUsage:
    """The size and the free space of a volume, in bytes."""

    total_bytes: int
    usable_bytes: int


class Filesystem(Protocol):
    """A file system. Paths are `str`, joined with "/". All methods raise `OSError`."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open a file for reading and writing; `create` makes it if it is missing."""

    def make_with_room(self, path: str, size: int) -> None:
        """Create an empty file with allocated blocks for `size` bytes, in place of an existing one.
        If that fails, there is no file; `ENOSYS` on a system that cannot allocate blocks."""

    def read(self, path: str) -> bytes:
        """Return the whole contents of a small file."""

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Replace the contents of `path` by `data`; after a crash the file has the old or the new
        contents.

        `data` is written to `path.tmp`, fsynced and renamed, and the folder is fsynced.
        `sync=False` leaves out both fsyncs, for files that can be rebuilt: they survive the death
        of the process, but not the loss of power.
        """

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, and replace a file at `target`."""

    def remove(self, path: str) -> None:
        """Remove a file; a missing file is no error."""

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all its contents; a missing folder is no error. For a link to a
        folder, remove the link and the contents of the folder."""

    def list_dir(self, path: str) -> list[str]:
        """Return the sorted names in a folder."""

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents if they are missing."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""

    def is_dir(self, path: str) -> bool:
        """Return whether there is a folder."""

    def real_path(self, path: str) -> str:
        """Return the absolute path without links to which `path` leads; it is the same for all
        names of a file."""

    def size(self, path: str) -> int:
        """Return the number of bytes in a file."""

    def modified_ms(self, path: str) -> int:
        """Return when a file was last written, in milliseconds since 1970."""

    def sync_dir(self, path: str) -> None:
        """Make the names in a folder durable."""

    def lock(self, path: str) -> Lock | None:
        """Lock a file, which is created if it is missing, against other processes. Return None if
        another process has the lock.

        On a real disk the file contains the process id of the lock's owner, in decimal.
        """

    def usage(self, path: str) -> VolumeUsage:
        """Return the size and free space of the volume of `path`."""


class LocalFile:
    """A `File` with a descriptor, which stays open as long as the object is referenced.

    A fetched slice may still be sent to a client when its segment is deleted. So deletion only
    drops the reference, and the descriptor is closed with the last slice. If it were closed
    earlier, its number could be reused, and a consumer would get the bytes of another file.
    """

    __slots__ = ("__weakref__", "_fd", "path", "size")

    def __init__(self, path: str, fd: int) -> None:
        """Use the open descriptor `fd`, and close it when this object is freed. If the size cannot
        be read, raise OSError and leave `fd` open."""
        self._fd = -1  # __del__ needs a value if fstat fails
        self.path = path
        self.size = os.fstat(fd).st_size
        self._fd = fd

    def append(self, data: BytesLike) -> None:
        """Append all of `data`. If a write fails, cut the file back to its size before, and raise
        OSError."""
        position = self.size
        length = len(data)
        try:
            written = os.pwrite(self._fd, data, position)
            while written < length:  # a signal, or a nearly full disk, which the next call reports
                written += os.pwrite(self._fd, memoryview(data)[written:], position + written)
        except OSError:
            self._cut_back(position)
            raise
        self.size = position + length

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """Append the parts, one behind the other, in one call if they are at most 512. If a write
        fails, cut the file back to its size before, and raise OSError."""
        position = self.size
        length = sum(map(len, parts))
        try:
            many = len(parts) > _PARTS_PER_WRITE
            if many or platform_calls.write_parts(self._fd, parts, position) < length:
                self.append(b"".join(parts))
        except OSError:
            self._cut_back(position)
            raise
        self.size = position + length

    def _cut_back(self, position: int) -> None:
        """Cut the file to `position` after a partial write. An error is ignored."""
        try:
            os.ftruncate(self._fd, position)
        except OSError:
            return  # the first error counts; recovery cuts the tail

    def pread(self, size: int, offset: int) -> bytes:
        """Return `size` bytes from `offset`, fewer only at the end of the file."""
        data = os.pread(self._fd, size, offset)
        while len(data) < size:
            more = os.pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def write_at(self, data: BytesLike, offset: int) -> None:
        """Write all of `data` at `offset`, and raise `size` to the end of the data if that is
        larger. Raises OSError."""
        view, written = memoryview(data), 0
        while written < len(view):
            written += os.pwrite(self._fd, view[written:], offset + written)
        self.size = max(self.size, offset + len(view))

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self.size = size

    def sync(self) -> None:
        """Return when the bytes and the size of the file are on stable storage. Raises OSError."""
        platform_calls.sync_data(self._fd)

    def write_back(self, offset: int, size: int) -> None:
        """Make the drive take these bytes, maybe into its own cache only. Do nothing if the system
        has no such call, or refuses it for this file. Raises OSError."""
        call = platform_calls.sync_file_range()
        error = call(self._fd, offset, size) if call is not None else 0
        if error and error not in _REFUSED:
            raise OSError(error, os.strerror(error), self.path)

    def give_back_room(self) -> None:
        """Free the blocks that are allocated beyond the file's end, if they are more than 4 MiB."""
        status = os.fstat(self._fd)
        if status.st_blocks * _STAT_BLOCK_BYTES > status.st_size + _ROOM_KEPT_BYTES:
            os.ftruncate(self._fd, self.size)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def fileno(self) -> int:
        """Return the descriptor. Raises OSError after `close`."""
        if self._fd < 0:
            raise OSError(f"{self.path} is closed")
        return self._fd

    def __del__(self) -> None:
        self.close()


def _write_holder(fd: int) -> None:
    """Write the id of this process into a lock file, for processes that do not get the lock. Ignore
    an OSError, such as that of a full disk: it must not prevent a start."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


class LocalLock:
    """A `Lock` of a file. It is held while its descriptor is open, at the latest until the object
    is freed."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        """Hold the lock of `fd` (`platform_calls.lock_file`)."""
        self._fd = fd

    def release(self) -> None:
        """Close the descriptor, which unlocks the file. A second call has no effect."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def sync_volume(self) -> bool:
        """Return True when all data of the lock file's volume is on stable storage, False if the
        system cannot do this. Raises OSError for any write on the volume that failed since the lock
        was taken."""
        call = platform_calls.sync_volume()
        if call is None:
            return False
        error = call(self._fd)
        if error in _REFUSED:
            return False
        if error:
            raise OSError(error, os.strerror(error))
        return True

    def __del__(self) -> None:
        self.release()


class LocalFilesystem:
    """The `Filesystem` of this machine.

    It keeps `spares` descriptors open in reserve. If the process has no other left, it closes a
    spare one to open a file. So logs still work when connections have taken all other descriptors.
    Files and folders at the paths `private`, or below them, are created for the owner of the
    process only.
    """

    opened: ClassVar[type[LocalFile]] = LocalFile
    """The class of the files that `open` returns."""

    def __init__(self, spares: int = 0, private: Sequence[str] = ()) -> None:
        """Open `spares` descriptors in reserve, to be closed when the process has no other left.

        Files and folders at the paths `private`, and below them, are created for the owner only.
        """
        self._private = tuple(path.rstrip("/") for path in private)
        self._spares_wanted = spares
        self._spares: list[int] = []
        self._keep_spares()

    def __del__(self) -> None:
        """Close the spare descriptors."""
        while self._spares:
            os.close(self._spares.pop())

    def _keep_spares(self) -> None:
        """Open spare descriptors up to the wanted number. If the process has too few, later calls
        try again."""
        try:
            while len(self._spares) < self._spares_wanted:
                self._spares.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return  # tried again by the next call

    def _mode(self, path: str) -> int:
        """Return the mode of a new file: 0600 at a private path, else 0644."""
        return 0o600 if self._is_private(path) else 0o644

    def _opener(self, path: str) -> Callable[[str, int], int] | None:
        """Return the opener for a private file, which only the owner may read; None for other
        files."""
        if not self._is_private(path):
            return None
        return lambda temporary, flags: os.open(temporary, flags, 0o600)

    def _is_private(self, path: str) -> bool:
        return any(path == private or path.startswith(f"{private}/") for private in self._private)

    def _retried(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, and open spare descriptors that are missing. If the process
        has too few descriptors, close a spare and call again. Raises the OSError of the last
        call."""
        try:
            result = call()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._spares:
                raise
            os.close(self._spares.pop())
            return call()
        if len(self._spares) < self._spares_wanted:
            self._keep_spares()
        return result

    def open(self, path: str, *, create: bool = False) -> LocalFile:
        """Open a file for reading and writing; `create` makes it if it is missing. Raises
        OSError."""
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return self.opened(path, self._retried(lambda: os.open(path, flags, self._mode(path))))

    def make_with_room(self, path: str, size: int) -> None:
        """Create an empty file with allocated blocks for `size` bytes, in place of an existing one.
        If that fails, remove the file and raise OSError; ENOSYS on a system that cannot allocate
        blocks."""
        call = platform_calls.fallocate()
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        fd = self._retried(lambda: os.open(path, flags, self._mode(path)))
        try:
            error = errno.ENOSYS if call is None else call(fd, size)
        finally:
            os.close(fd)
        if error:
            self.remove(path)
            raise OSError(error, os.strerror(error), path)

    def read(self, path: str) -> bytes:
        with self._retried(lambda: open(path, "rb")) as file:
            return file.read()

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Write `data` to `path.tmp`, and rename that to `path`. With `sync`, fsync the new file
        before the rename, and the folder after it. Raises OSError."""
        temporary = path + ".tmp"
        with self._retried(lambda: open(temporary, "wb", opener=self._opener(path))) as file:
            file.write(data)
            if sync:
                file.flush()
                platform_calls.sync(file.fileno())
        os.replace(temporary, path)
        if sync:
            self.sync_dir(os.path.dirname(path) or ".")

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, and replace a file at `target`."""
        os.replace(source, target)

    def remove(self, path: str) -> None:
        """Remove a file; a missing file is no error."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all its contents; a missing folder is no error. For a link to a
        folder, remove the link and the contents of the folder."""
        import shutil  # imports archive modules, which a start does not need

        if os.path.islink(path):
            for name in self.list_dir(path) if os.path.isdir(path) else ():
                inside = f"{path}/{name}"
                if os.path.isdir(inside) and not os.path.islink(inside):
                    self._retried(lambda folder=inside: shutil.rmtree(folder))  # type: ignore[misc]
                else:
                    self.remove(inside)
            os.unlink(path)
        elif os.path.isdir(path):
            self._retried(lambda: shutil.rmtree(path))

    def list_dir(self, path: str) -> list[str]:
        """Return the sorted names in a folder."""
        return sorted(self._retried(lambda: os.listdir(path)))

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents if they are missing; a private folder for the owner
        only."""
        os.makedirs(path, 0o700 if self._is_private(path) else 0o777, exist_ok=True)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def sync_dir(self, path: str) -> None:
        fd = self._retried(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        try:
            platform_calls.sync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> LocalLock | None:
        """Lock a file, which is created if it is missing, against other processes of Ottla and
        Apache Kafka, and write this process's id into it. Return None if another process has the
        lock. Raises OSError."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            platform_calls.lock_file(fd)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        _write_holder(fd)
        return LocalLock(fd)

    def usage(self, path: str) -> VolumeUsage:
        """Return the size of the volume of `path`, and the bytes that an unprivileged process may
        still write."""
        stat = os.statvfs(path)
        return VolumeUsage(stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bavail)

"""The only door of the cores to disk: what a log asks of a file system, and the real one.

Owns: file descriptors, the crash-safe replacement of small files, locks on log directories.
Never: knows a format, retries a failed fsync, or hides an `OSError`. Whoever holds a log directory
takes it offline when one is raised (`storage.log.log_dir_failure`).

Cores get a `Filesystem` by constructor; the simulator brings one that loses and tears bytes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from ground import platform_calls

T = TypeVar("T")
BytesLike = bytes | bytearray | memoryview

_PARTS_PER_WRITE = 512  # below Linux's IOV_MAX of 1,024
_STAT_BLOCK_BYTES = 512  # stat(2)
_ROOM_KEPT_BYTES = 4 << 20  # a roll by size leaves less than a batch
_REFUSED = (errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ESPIPE)
"""What the call says where it cannot be made: here, or for a file that was closed meanwhile."""


class File(Protocol):
    """An open file that grows at its end. All methods raise `OSError`."""

    @property
    def path(self) -> str:
        """Where it was opened: for messages; a rename of its folder does not change it."""

    @property
    def size(self) -> int:
        """Bytes in the file, as written through this handle."""

    def append(self, data: BytesLike) -> None:
        """Write at the end: whole, or `OSError` and nothing is kept."""

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """The same of several parts, one behind the other."""

    def pread(self, size: int, offset: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end of the file."""

    def write_at(self, data: BytesLike, offset: int) -> None:
        """Overwrite bytes that exist, or extend the file from its end."""

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes."""

    def sync(self) -> None:
        """Return once the bytes are on stable storage. A failure is final: do not call again."""

    def write_back(self, offset: int, size: int) -> None:
        """Return once the disk has taken these bytes, which makes nothing durable. A failure is as
        final as one of `sync`."""

    def give_back_room(self) -> None:
        """Let others have blocks that were allocated beyond the end, where they are more than one
        append leaves unused."""

    def close(self) -> None:
        """Give the descriptor back; calling it twice is harmless."""

    def fileno(self) -> int:
        """The descriptor, for sendfile; `OSError` where there is none."""


class Lock(Protocol):
    """A held lock on a log directory."""

    def release(self) -> None:
        """Let another process have it."""

    def sync_volume(self) -> bool:
        """Return once everything on the directory's volume is on stable storage.

        False where the system cannot say so. Raises `OSError` for any write on the volume that
        failed since the lock was taken, also one of another process.
        """


@dataclass(frozen=True, slots=True)
class Usage:
    """Room on a volume, in bytes."""

    total_bytes: int
    usable_bytes: int


class Filesystem(Protocol):
    """Paths are `str`, joined with "/". All methods raise `OSError`."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing; `create` makes it when missing."""

    def make_with_room(self, path: str, size: int) -> None:
        """Make an empty file with blocks for `size` bytes, in place of one that is there. No file
        where it cannot be; `ENOSYS` on a system that has no such thing."""

    def read(self, path: str) -> bytes:
        """The whole of a small file."""

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Make `path` hold `data`, so that a crash leaves the old or the new content.

        Written to `path.tmp`, fsynced, renamed, and the folder fsynced. `sync=False` leaves both
        fsyncs out, for what can be rebuilt: it stands process death, not the loss of power.
        """

    def rename(self, source: str, target: str) -> None:
        """Rename a file or folder, replacing a file at `target`."""

    def remove(self, path: str) -> None:
        """Remove a file; one that is missing is no error."""

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all in it; one that is missing is no error. Of a link to a folder
        go the link and what is in the folder."""

    def list_dir(self, path: str) -> list[str]:
        """Names in a folder, sorted."""

    def make_dirs(self, path: str) -> None:
        """Make a folder and its parents where missing."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    def is_dir(self, path: str) -> bool:
        """Whether there is a folder."""

    def real_path(self, path: str) -> str:
        """The one name, from the root on, of what `path` leads to: the same for all its names."""

    def size(self, path: str) -> int:
        """Bytes in a file."""

    def modified_ms(self, path: str) -> int:
        """When a file was last written, in milliseconds since the epoch."""

    def sync_dir(self, path: str) -> None:
        """Make the names in a folder durable."""

    def lock(self, path: str) -> Lock | None:
        """Lock a file (made when missing) against other processes; None when another has it.

        On a machine's disk it holds the process id of whoever has it, in decimal.
        """

    def usage(self, path: str) -> Usage:
        """Room on the volume that holds `path`."""


class LocalFile:
    """A `File` on a descriptor. The descriptor lives while anything still refers to the object.

    A fetched slice may be in flight when its segment is deleted. Deletion therefore only drops
    the reference, and the descriptor closes with the last slice: closed earlier, its number could
    be reused, and a consumer would get the bytes of some other file.
    """

    __slots__ = ("__weakref__", "_fd", "path", "size")

    def __init__(self, path: str, fd: int) -> None:
        self._fd = -1  # so that __del__ finds one, should fstat fail
        self.path = path
        self.size = os.fstat(fd).st_size
        self._fd = fd

    def append(self, data: BytesLike) -> None:
        """See `File.append`; after a partial write the file is cut back to where it was."""
        position = self.size
        length = len(data)
        try:
            written = os.pwrite(self._fd, data, position)
            while written < length:  # a signal, or a nearly full disk: the next call tells
                written += os.pwrite(self._fd, memoryview(data)[written:], position + written)
        except OSError:
            self._cut_back(position)
            raise
        self.size = position + length

    def append_parts(self, parts: Sequence[BytesLike]) -> None:
        """See `File.append_parts`; in one call where they are not too many."""
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
        try:
            os.ftruncate(self._fd, position)
        except OSError:
            return  # the first error is what counts; recovery cuts the tail

    def pread(self, size: int, offset: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        while len(data) < size:
            more = os.pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def write_at(self, data: BytesLike, offset: int) -> None:
        view, written = memoryview(data), 0
        while written < len(view):
            written += os.pwrite(self._fd, view[written:], offset + written)
        self.size = max(self.size, offset + len(view))

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self.size = size

    def sync(self) -> None:
        """See `File.sync`; the size is on stable storage with them."""
        platform_calls.sync_data(self._fd)

    def write_back(self, offset: int, size: int) -> None:
        """See `File.write_back`; nothing is done where the system cannot."""
        call = platform_calls.sync_file_range()
        error = call(self._fd, offset, size) if call is not None else 0
        if error and error not in _REFUSED:
            raise OSError(error, os.strerror(error), self.path)

    def give_back_room(self) -> None:
        told = os.fstat(self._fd)
        if told.st_blocks * _STAT_BLOCK_BYTES > told.st_size + _ROOM_KEPT_BYTES:
            os.ftruncate(self._fd, self.size)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def fileno(self) -> int:
        if self._fd < 0:
            raise OSError(f"{self.path} is closed")
        return self._fd

    def __del__(self) -> None:
        self.close()


def _write_holder(fd: int) -> None:
    """Write into a lock who has it, for those who do not get it; a full disk is no reason to
    refuse a start."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


class LocalLock:
    """A `Lock` by flock, held while its descriptor is open: at most as long as it is there."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def sync_volume(self) -> bool:
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
    """The machine's `Filesystem`. It keeps `spares` descriptors open for nothing: where there is no
    other left, one makes room for what is opened here. Logs go on so, whoever took the rest.

    What it makes at the paths `private`, or below them, is for the owner of the process alone.
    """

    opened: ClassVar[type[LocalFile]] = LocalFile
    """What `open` makes."""

    def __init__(self, spares: int = 0, private: Sequence[str] = ()) -> None:
        self._private = tuple(path.rstrip("/") for path in private)
        self._spares_wanted = spares
        self._spares: list[int] = []
        self._keep_spares()

    def __del__(self) -> None:
        while self._spares:
            os.close(self._spares.pop())

    def _keep_spares(self) -> None:
        try:
            while len(self._spares) < self._spares_wanted:
                self._spares.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return  # tried again with the next call

    def _mode(self, path: str) -> int:
        """Of a file that is made."""
        return 0o600 if self._is_private(path) else 0o644

    def _opener(self, path: str) -> Callable[[str, int], int] | None:
        if not self._is_private(path):
            return None
        return lambda temporary, flags: os.open(temporary, flags, 0o600)

    def _is_private(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self._private)

    def _sparing(self, call: Callable[[], T]) -> T:
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
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return self.opened(path, self._sparing(lambda: os.open(path, flags, self._mode(path))))

    def make_with_room(self, path: str, size: int) -> None:
        call = platform_calls.fallocate()
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        fd = self._sparing(lambda: os.open(path, flags, self._mode(path)))
        try:
            error = errno.ENOSYS if call is None else call(fd, size)
        finally:
            os.close(fd)
        if error:
            self.remove(path)
            raise OSError(error, os.strerror(error), path)

    def read(self, path: str) -> bytes:
        with self._sparing(lambda: open(path, "rb")) as file:
            return file.read()

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        temporary = path + ".tmp"
        with self._sparing(lambda: open(temporary, "wb", opener=self._opener(path))) as file:
            file.write(data)
            if sync:
                file.flush()
                platform_calls.sync(file.fileno())
        os.replace(temporary, path)
        if sync:
            self.sync_dir(os.path.dirname(path) or ".")

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def remove_tree(self, path: str) -> None:
        import shutil  # brings the packers of archives along, which a start does not need

        if os.path.islink(path):
            for name in self.list_dir(path) if os.path.isdir(path) else ():
                inside = f"{path}/{name}"
                if os.path.isdir(inside) and not os.path.islink(inside):
                    self._sparing(lambda folder=inside: shutil.rmtree(folder))  # type: ignore[misc]
                else:
                    self.remove(inside)
            os.unlink(path)
        elif os.path.isdir(path):
            self._sparing(lambda: shutil.rmtree(path))

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._sparing(lambda: os.listdir(path)))

    def make_dirs(self, path: str) -> None:
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
        fd = self._sparing(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        try:
            platform_calls.sync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> LocalLock | None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        _write_holder(fd)
        return LocalLock(fd)

    def usage(self, path: str) -> Usage:
        """See `Filesystem.usage`; usable is what an unprivileged process may still write."""
        stat = os.statvfs(path)
        return Usage(stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bavail)

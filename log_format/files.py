"""The package's only access to a disk: the folders and files of this machine, for reading.

Owns the texts of disk errors. Never writes, and never interprets a byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from log_format.damage import LogError

Read: TypeAlias = Callable[[int, int], bytes]
"""The function `read(size, position)` of a file, which returns fewer bytes at the file's end."""


class Stamp(NamedTuple):
    """The attributes of a file that change when it is written or replaced."""

    size: int
    modified_ns: int
    number: int
    """The inode number."""

    @property
    def modified_ms(self) -> int:
        """The time of the last write, in ms since the epoch."""
        return self.modified_ns // 1_000_000


class Files:
    """The local disk."""

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted. Raises LogError."""
        try:
            return sorted(os.listdir(folder))
        except OSError as error:
            raise LogError(f"{folder}: {error.strerror}") from None

    def is_folder(self, path: str) -> bool:
        """Return whether `path` is a folder."""
        return os.path.isdir(path)

    def content(self, path: str) -> bytes | None:
        """Return the content of a small file; None: it does not exist. Raises LogError."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes. Raises LogError."""
        try:
            return os.path.getsize(path)
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def stamp(self, path: str) -> Stamp | None:
        """Return the stamp of a file; None: it does not exist. Raises LogError."""
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None
        return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)

    def opened(self, path: str) -> OpenFile:
        """Return an open file, to read pieces of it within a `with` block. Raises LogError."""
        return OpenFile(path)


class OpenFile:
    """An open file, which the end of its `with` block closes."""

    def __init__(self, path: str) -> None:
        """Open the file for reading. Raises LogError."""
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def read(self, size: int, position: int) -> bytes:
        """Return `size` bytes from `position` on, fewer at the file's end. Raises LogError."""
        try:
            return os.pread(self._descriptor, size, position)
        except OSError as error:
            raise LogError(f"{self.path}: {error.strerror}") from None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

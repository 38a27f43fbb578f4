"""The only door of this package to a disk: folders and files of a machine, to read alone.

Owns how an error of the disk is told. Never interprets a byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from log_format.damage import LogError

Read: TypeAlias = Callable[[int, int], bytes]
"""`read(size, position)` of a file; fewer bytes where it ends."""


class Stamp(NamedTuple):
    """What of a file changes when somebody writes to it, or puts another one in its place."""

    size: int
    modified_ns: int
    number: int
    """The inode."""

    @property
    def modified_ms(self) -> int:
        """When it was written last, ms since the epoch."""
        return self.modified_ns // 1_000_000


class Files:
    """The local disk."""

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, sorted. Raises LogError."""
        try:
            return sorted(os.listdir(folder))
        except OSError as error:
            raise LogError(f"{folder}: {error.strerror}") from None

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder of this name."""
        return os.path.isdir(path)

    def content(self, path: str) -> bytes | None:
        """All of a small file; None where there is none. Raises LogError."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def size(self, path: str) -> int:
        """In bytes. Raises LogError."""
        try:
            return os.path.getsize(path)
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def stamp(self, path: str) -> Stamp | None:
        """None where there is no such file. Raises LogError."""
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None
        return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)

    def opened(self, path: str) -> OpenFile:
        """A file to read pieces of. Raises LogError."""
        return OpenFile(path)


class OpenFile:
    """A file that is open until `close`; a context manager."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise LogError(f"{path}: {error.strerror}") from None

    def read(self, size: int, position: int) -> bytes:
        """`Read` of this file. Raises LogError."""
        try:
            return os.pread(self._descriptor, size, position)
        except OSError as error:
            raise LogError(f"{self.path}: {error.strerror}") from None

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

"""The folders of brokers under test: one of the host, and in it one of each broker.

The host's folder has a file that the host locks as long as it lives. If the lock is free, the host
was killed before it could clean up, and the next host removes the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "ottla-test-"
_OWNER = ".owner"
_YOUNG_S = 60.0
"""The age below which `sweep` leaves a folder: its host may not have locked it yet."""


class HostFolders:
    """The folders of one host. The host's own folder is created with the first broker's folder."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._lock = -1
        self._kept: set[str] = set()
        self._count = 0

    def make(self, name: str, *, keep: bool = False) -> str:
        """Create a folder that only this user can read, and return its path: `name` with a number,
        in the host's folder. With `keep` it stays after the host has ended."""
        root = self._root or self._make_root()
        self._count += 1
        folder = root / f"{name}-{self._count}"
        folder.mkdir(mode=0o700)
        if keep:
            self._kept.add(str(folder))
        return str(folder)

    def remove(self, folder: str) -> None:
        """Remove a broker's folder, unless it is kept. It must be a folder of this host."""
        assert self._root is not None and Path(folder).parent == self._root, folder
        if folder not in self._kept:
            shutil.rmtree(folder, ignore_errors=True)

    def remove_all(self) -> None:
        """Remove the host's folder with all brokers' folders. If some are kept, remove the others
        and the lock's file."""
        if self._root is None:
            return
        if not self._kept:
            shutil.rmtree(self._root, ignore_errors=True)
            return
        for entry in self._root.iterdir():
            if str(entry) not in self._kept and entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        with contextlib.suppress(OSError):
            (self._root / _OWNER).unlink()

    def leave(self) -> None:
        """Close the lock's file in a forked process, which does not own the folders."""
        if self._lock != -1:
            os.close(self._lock)

    def _make_root(self) -> Path:
        """Create the host's folder among the temporary files, lock it, and return its path. First
        remove the folders of killed hosts."""
        sweep(Path(tempfile.gettempdir()))
        root = self._root = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(root / _OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return root


def sweep(folder: Path) -> None:
    """Remove the folders of killed hosts in `folder`. A folder without an owner file, or younger
    than a minute, is kept."""
    for root in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - root.stat().st_mtime > _YOUNG_S and _is_left(root / _OWNER):
                shutil.rmtree(root, ignore_errors=True)


def _is_left(owner: Path) -> bool:
    """Return whether the process that owns the folder has ended, so that its lock is free. Raises
    OSError without an owner file."""
    lock = os.open(owner, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True

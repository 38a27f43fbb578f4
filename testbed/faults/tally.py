"""How many requests a fault was meant for, and how many it has met: of one broker, or of several.

Several brokers count together in files to which each appends a byte for each request: where its
byte lies is the request's number, so no two brokers have the same one. Nobody waits for a lock,
which a broker that is paused would hold.
"""

from __future__ import annotations

import contextlib
import os
from typing import Protocol


class Tally(Protocol):
    """See the module."""

    @property
    def seen(self) -> int:
        """Requests that were meant, met or not."""

    @property
    def met(self) -> int:
        """Requests that were met."""

    def see(self) -> int:
        """Count a request that is meant; its number, from 1."""

    def take(self, times: int | None) -> bool:
        """Count a request as met, unless so many are; whether it is."""

    def give_back(self) -> None:
        """One that was taken was not met."""

    def close(self) -> None:
        """Nothing more is counted."""


class OwnTally:
    """Of one broker."""

    __slots__ = ("met", "seen")

    def __init__(self) -> None:
        self.seen = 0
        self.met = 0

    def see(self) -> int:
        self.seen += 1
        return self.seen

    def take(self, times: int | None) -> bool:
        if times is not None and self.met >= times:
            return False
        self.met += 1
        return True

    def give_back(self) -> None:
        self.met -= 1

    def close(self) -> None:
        """There is nothing to close."""


class SharedTally:
    """Of several brokers, which are given the same path."""

    def __init__(self, path: str) -> None:
        self._files = [_Count(f"{path}.{what}") for what in ("seen", "taken", "given-back")]
        self._seen, self._taken, self._given_back = self._files

    @property
    def seen(self) -> int:
        return self._seen.count

    @property
    def met(self) -> int:
        return self._taken.count - self._given_back.count

    def see(self) -> int:
        return self._seen.add()

    def take(self, times: int | None) -> bool:
        if times is not None and self.met >= times:
            return False
        taken = self._taken.add() - self._given_back.count
        if times is None or taken <= times:
            return True
        self.give_back()  # another broker was quicker
        return False

    def give_back(self) -> None:
        self._given_back.add()

    def close(self) -> None:
        for one in self._files:
            one.close()


class _Count:
    """A number that several processes count up."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @property
    def count(self) -> int:
        return 0 if self._file < 0 else os.fstat(self._file).st_size

    def add(self) -> int:
        """The number after this one was counted; 0 where the fault is no more."""
        if self._file < 0:
            return 0
        os.write(self._file, b".")
        return os.lseek(self._file, 0, os.SEEK_CUR)  # behind what this process wrote

    def close(self) -> None:
        os.close(self._file)
        self._file = -1
        with contextlib.suppress(FileNotFoundError):  # others have it open
            os.unlink(self._path)

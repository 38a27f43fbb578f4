"""The counts of a fault, for one broker or several: requests that matched, requests that it applied
to.

Several brokers count together in files, to which each appends a byte for each request. The offset
of the byte is the request's number, so no two brokers have the same one. There is no lock, because
a paused broker would hold it.
"""

from __future__ import annotations

import contextlib
import os
from typing import Protocol


class Tally(Protocol):
    """The counts of one fault."""

    @property
    def matched(self) -> int:
        """The number of requests that matched, whether the fault applied or not."""

    @property
    def applied(self) -> int:
        """The number of requests that the fault applied to."""

    def see(self) -> int:
        """Count a request that matches, and return its number, from 1."""

    def take(self, times: int | None) -> bool:
        """Return whether the fault applies to one more request, and if so, count it. After `times`
        requests it does not apply; None: no limit."""

    def give_back(self) -> None:
        """Take back one `take`: the fault could not be applied."""

    def close(self) -> None:
        """Stop counting, and remove the files, if the counts are in files."""


class OwnTally:
    """The counts of a fault of one broker."""

    __slots__ = ("applied", "matched")

    def __init__(self) -> None:
        self.matched = 0
        self.applied = 0

    def see(self) -> int:
        """Count a request that matches, and return its number, from 1."""
        self.matched += 1
        return self.matched

    def take(self, times: int | None) -> bool:
        """Return True and count a request that the fault applies to; False if `times` requests are
        counted (None: no limit)."""
        if times is not None and self.applied >= times:
            return False
        self.applied += 1
        return True

    def give_back(self) -> None:
        """Take back one `take`: the fault could not be applied."""
        self.applied -= 1

    def close(self) -> None:
        """Do nothing: there is no file."""


class SharedTally:
    """The counts of a fault of several brokers, which use the same path."""

    def __init__(self, path: str) -> None:
        """Open the files of the counts, whose names begin with `path`, and create them if they are
        missing."""
        self._files = [_Count(f"{path}.{kind}") for kind in ("seen", "taken", "given-back")]
        self._seen, self._taken, self._given_back = self._files

    @property
    def matched(self) -> int:
        """The number of requests that matched, at all brokers together; 0 after `close`."""
        return self._seen.count

    @property
    def applied(self) -> int:
        """The number of requests that the fault applied to, at all brokers together; 0 after
        `close`."""
        return self._taken.count - self._given_back.count

    def see(self) -> int:
        """Count a request that matches, and return its number among those of all brokers, from 1; 0
        after `close`."""
        return self._seen.add()

    def take(self, times: int | None) -> bool:
        """Return True and count a request that the fault applies to; False if all brokers together
        have counted `times` (None: no limit)."""
        if times is not None and self.applied >= times:
            return False
        count = self._taken.add() - self._given_back.count
        if times is None or count <= times:
            return True
        self.give_back()  # other brokers took the rest at the same time
        return False

    def give_back(self) -> None:
        """Take back one `take`: the fault could not be applied."""
        self._given_back.add()

    def close(self) -> None:
        """Stop counting, and remove the files; the other brokers that have them open still
        count."""
        for count in self._files:
            count.close()


class _Count:
    """A number that several processes count up."""

    def __init__(self, path: str) -> None:
        """Open the file, which is created if it is missing. Its size is the number."""
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @property
    def count(self) -> int:
        """The number that all processes have counted so far; 0 if this count is closed."""
        return 0 if self._file < 0 else os.fstat(self._file).st_size

    def add(self) -> int:
        """Count one more, and return the number after that; 0 if this count is closed."""
        if self._file < 0:
            return 0
        os.write(self._file, b".")
        return os.lseek(self._file, 0, os.SEEK_CUR)  # the offset behind the byte that was written

    def close(self) -> None:
        """Close the file, and remove it from the folder. Call this once."""
        os.close(self._file)
        self._file = -1
        with contextlib.suppress(FileNotFoundError):  # another broker has removed it
            os.unlink(self._path)

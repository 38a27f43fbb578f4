"""What the members of a group read and committed, and for how long one of them read nothing.

`Reading` is shared by threads. It says what was read after it was committed, what was passed
over, and the longest times without a record by stage of the run: of a member since its record
before, of a new member since it came, of a partition whoever reads it. Never asks anything. Times
are in seconds.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pauses:
    """The longest of one stage, as (seconds, whose)."""

    member: tuple[float, str] = (0.0, "")
    new_member: tuple[float, str] = (0.0, "")
    partition: tuple[float, str] = (0.0, "")


@dataclass(slots=True)
class _Since:
    """When a member or partition was last heard of, in which stage, and whether by a record."""

    at: float
    stage: str
    has_read: bool = True


@dataclass(slots=True)
class Reading:
    """Of one group and one topic. `stage` names what is going on; pauses count where they begin."""

    stage: str
    read_again: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Records that nobody had read when a later one was."""
    pauses: dict[str, Pauses] = field(default_factory=dict)
    _following: dict[int, int] = field(default_factory=dict)
    """The committed offset of each partition."""
    _unread: dict[int, int] = field(default_factory=dict)
    """The first offset of each partition that nobody has read."""
    _members: dict[str, _Since] = field(default_factory=dict)
    _partitions: dict[int, _Since] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def comes(self, member: str, now: float) -> None:
        """It wants to read from now on."""
        with self._lock:
            self._members[member] = _Since(now, self.stage, has_read=False)

    def goes(self, member: str) -> None:
        """It reads no more: what follows is no pause of its."""
        with self._lock:
            self._members.pop(member, None)

    def read(self, member: str, partition: int, offset: int, now: float) -> None:
        """A member was given a record."""
        with self._lock:
            following = self._following.get(partition, 0)
            if offset < following:
                self.read_again.append(
                    f"{member} reads {offset} of {partition}, committed up to {following}"
                )
            unread = self._unread.get(partition, 0)
            if offset > unread:
                self.skipped.append(f"{member} reads {offset} of {partition}, nobody read {unread}")
            self._unread[partition] = max(unread, offset + 1)
            self._note_member(member, now)
            before = self._partitions.get(partition)
            if before is not None:
                pauses = self._of(before.stage)
                pauses.partition = max(pauses.partition, _pause(before, now, str(partition)))
            self._partitions[partition] = _Since(now, self.stage)

    def committed(self, partition: int, offset: int) -> None:
        """The group stands at `offset`, says the broker."""
        with self._lock:
            self._following[partition] = max(offset, self._following.get(partition, 0))

    def total_committed(self) -> int:
        """How many records are committed."""
        with self._lock:
            return sum(self._following.values())

    def _note_member(self, member: str, now: float) -> None:
        before = self._members.get(member)
        if before is not None:
            pauses, pause = self._of(before.stage), _pause(before, now, member)
            if before.has_read:
                pauses.member = max(pauses.member, pause)
            else:
                pauses.new_member = max(pauses.new_member, pause)
        self._members[member] = _Since(now, self.stage)

    def _of(self, stage: str) -> Pauses:
        return self.pauses.setdefault(stage, Pauses())


def _pause(since: _Since, now: float, whose: str) -> tuple[float, str]:
    return round(now - since.at, 3), whose

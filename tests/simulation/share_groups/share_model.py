"""The model of a share-partition: what became of each record, across all leaders.

It knows no broker. Times are virtual, in ms. A rule that is broken is returned as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

AHEAD_MS = 10.0
"""How far a leader's clock may be ahead of the world's: it goes on while the leader works."""


@dataclass(slots=True)
class Lock:
    """A delivery of a record: to whom, by which leader, and until when nobody else has it."""

    holder: object
    """The member's session at the leader."""
    leader: object
    """The share-partition at its leader; one that is loaded again knows of no lock."""
    deliveries: int
    since_ms: float
    until_ms: float


@dataclass(slots=True)
class SharedRecords:
    """The records of a partition for a group, by their offsets."""

    limit: int
    """The most deliveries of a record."""
    ended_ms: dict[int, float] = field(default_factory=dict)
    """When it was answered that a record is accepted, rejected, or no record."""
    may_end: dict[int, bool] = field(default_factory=dict)
    """Those for which that was requested at least, and whether one is to be a dead letter then."""
    deliveries: dict[int, int] = field(default_factory=dict)
    """The highest delivery count."""
    released: dict[int, int] = field(default_factory=dict)
    """The delivery count at the last release that was answered."""
    locks: dict[int, Lock] = field(default_factory=dict)

    def delivered(self, offset: int, lock: Lock) -> str | None:
        """Return the rule that a delivery breaks; take it over otherwise."""
        last, count = self.locks.get(offset), lock.deliveries
        released, before = self.released.get(offset, 0), self.deliveries.get(offset, 0)
        self.locks[offset] = lock
        self.deliveries[offset] = max(before, count)
        if offset in self.ended_ms:
            return f"its end was answered at {self.ended_ms[offset]:.0f}"
        if count > self.limit:
            return f"this is delivery {count} of at most {self.limit}"
        if count > before + 1:
            return f"this is delivery {count} after {before}"
        if count <= released:
            return f"this is delivery {count}, and it was released after {released}"
        if last is None or last.leader is not lock.leader:
            return None
        is_locked = lock.since_ms + AHEAD_MS < last.until_ms
        return f"it is locked until {last.until_ms:.0f}" if is_locked else None

    def ended(self, offset: int, answered_ms: float) -> str | None:
        """Note an answer by which a record is finished; return the rule that it breaks, or None."""
        self.ended_ms.setdefault(offset, answered_ms)
        lock = self.locks.get(offset)
        late = lock is not None and lock.since_ms > answered_ms
        return f"its end was answered at {answered_ms:.0f}" if late else None

    def unlock(self, offset: int, holder: object) -> int:
        """A session gives a record back; return its delivery count, 0 if the session has not got
        it."""
        lock = self.locks.get(offset)
        if lock is None or lock.holder is not holder:
            return 0
        lock.until_ms = lock.since_ms
        return lock.deliveries

    def forget_answers(self) -> None:
        """Forget the answers, because a power failure may have lost their records."""
        for answers in (self.ended_ms, self.released, self.locks):
            answers.clear()

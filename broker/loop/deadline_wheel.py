"""A wheel of buckets for many deadlines, most of which are never reached.

Owns: the tick in which each key is due. Never: a clock or a timer; a Processor asks it.
Adding, removing and expiring a key take constant time, however many there are. Activity in between
costs nothing: a key that was active is checked when it comes due, and added again. (Kafka's
Selector reorders a LinkedHashMap at every read and write of a connection instead.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")


class DeadlineWheel(Generic[K]):
    """Deadlines rounded up to `tick_s`: no key is due early, or late by more than a tick."""

    def __init__(self, tick_s: float) -> None:
        """Create a wheel without deadlines. Raises ValueError if `tick_s` is not positive."""
        if tick_s <= 0:
            raise ValueError("a tick must last")
        self._tick_s = tick_s
        self._buckets: dict[int, dict[K, None]] = {}
        self._bucket_of: dict[K, int] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._bucket_of

    def __iter__(self) -> Iterator[K]:
        return iter(self._bucket_of)

    def add(self, key: K, due_s: float) -> None:
        """Set the deadline of `key` to `due_s`, rounded up to a tick, replacing an earlier
        deadline."""
        self.remove(key)
        bucket = int(due_s // self._tick_s) + 1
        self._bucket_of[key] = bucket
        self._buckets.setdefault(bucket, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove the deadline of `key`, if it has one."""
        bucket = self._bucket_of.pop(key, None)
        if bucket is None:
            return
        keys = self._buckets[bucket]
        del keys[key]
        if not keys:
            del self._buckets[bucket]

    def next_due(self) -> float | None:
        """Return the time to call `pop_due` next, in seconds of the caller's clock; None if there
        are no deadlines."""
        if not self._buckets:
            return None
        return min(self._buckets) * self._tick_s

    def pop_due(self, now_s: float) -> list[K]:
        """Remove and return all keys that are due, in the order of their ticks."""
        due: list[K] = []
        for bucket in sorted(b for b in self._buckets if b * self._tick_s <= now_s):
            for key in self._buckets.pop(bucket):
                del self._bucket_of[key]
                due.append(key)
        return due

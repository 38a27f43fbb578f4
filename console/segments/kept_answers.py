"""What the cluster said, kept for a moment: a page asks the same again and again.

Owns the answers by what was asked, at most so many. Never: asks by itself (`ask` does).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class KeptAnswers(Generic[K, V]):
    """`KeptAnswers(ask, 2.0, 1_000, now).of(key)`, in any thread."""

    def __init__(
        self, ask: Callable[[K], V], kept_s: float, most: int, now: Callable[[], float]
    ) -> None:
        """Each answer of `ask` is good for `kept_s` seconds of the clock `now`."""
        self._ask = ask
        self._kept_s = kept_s
        self._most = most
        self._now = now
        self._lock = Lock()
        self._known: dict[K, tuple[float, V]] = {}

    def of(self, key: K) -> V:
        """The answer. Raises what `ask` raises, and keeps nothing then."""
        with self._lock:
            known = self._known.get(key)
        if known is not None and self._now() - known[0] < self._kept_s:
            return known[1]
        found = self._ask(key)
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = self._now(), found
        return found

"""A cache of the cluster's answers for a few seconds, because open pages repeat their requests.

Owns the answers by key, with a limit of their number. Sends no request: `ask` does.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class KeptAnswers(Generic[K, V]):
    """A cache for all threads: `KeptAnswers(ask, 2.0, 1_000, now).of(key)`."""

    def __init__(
        self, ask: Callable[[K], V], kept_s: float, most: int, now: Callable[[], float]
    ) -> None:
        """Keep at most `most` answers of `ask`, each for `kept_s` seconds of the clock `now`."""
        self._ask = ask
        self._kept_s = kept_s
        self._most = most
        self._now = now
        self._lock = Lock()
        self._answers: dict[K, tuple[float, V]] = {}

    def of(self, key: K) -> V:
        """Return the answer of `ask(key)`, cached or new. Raises the errors of `ask`, uncached."""
        with self._lock:
            cached = self._answers.get(key)
        if cached is not None and self._now() - cached[0] < self._kept_s:
            return cached[1]
        answer = self._ask(key)
        with self._lock:
            if len(self._answers) >= self._most:
                self._answers.clear()
            self._answers[key] = self._now(), answer
        return answer

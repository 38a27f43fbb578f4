"""The ports through which cores meet time and threads.

A shell fills them: `broker.scheduler` with the event loop and thread pools, the simulator with
virtual time and a heap. All methods are called, and all callbacks run, on the one thread that owns
the broker's state. The door to disk is `storage.filesystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    """One pending `Scheduler.call_later`."""

    def cancel(self) -> None:
        """Forget the call. Legal, and without effect, once it has run."""


class Scheduler(Protocol):
    """Time, as a core sees it."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch: record timestamps and retention. May jump."""

    def monotonic_ms(self) -> float:
        """Milliseconds on a clock that never goes back: deadlines and time-outs."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` once, `delay_ms` from now."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, after what runs now."""


class Blocking(Protocol):
    """Work that may block: fsync, cold reads, recovery, deletion."""

    def submit(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job` elsewhere, then `done(result, error)` on the loop.

        A job gets immutable things, such as file slices, and touches no broker state. `done` runs
        later, in any order among jobs, and checks epoch and segment again before it acts.
        """

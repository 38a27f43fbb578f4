"""Requests that wait for a change, under keys and with deadlines.

A `DelayedOperation` waits under one or more keys. Code that changes the object of a key calls
`check(key)`; then each operation under that key checks whether it is complete. An operation that
reaches its deadline first expires. Either way it completes exactly once and leaves all its keys.

Owns the waiting operations; `broker.purgatory.deadlines` owns their deadlines. Never knows what
they wait for. Their number is bounded by that of connections, because a connection has one request
at a time. Follows Kafka's `DelayedOperationPurgatory`. Watching is cheaper here, because one loop
owns all state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from broker.purgatory.deadlines import DeadlineQueue, Deadlines
from ground.ports import Scheduler


class DelayedOperation:
    """An operation that completes when `try_complete` returns True, or at its deadline."""

    __slots__ = ("_deadlines", "_keys", "_purgatory", "done")

    def __init__(self) -> None:
        self.done = False
        self._keys: tuple[Hashable, ...] = ()
        self._deadlines: DeadlineQueue[DelayedOperation] | None = None
        self._purgatory: Purgatory | None = None

    def try_complete(self, key: Hashable) -> bool:
        """Return whether the operation is complete, after `key` has changed. Subclasses implement
        it.

        Must not change state outside of the operation.
        """
        raise NotImplementedError

    def on_complete(self) -> None:
        """Send the answer to the request. Called once, after `try_complete` or at the deadline.
        Subclasses implement it."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Prepare for `on_complete`, which is called next: the deadline came first. Does nothing by
        default."""

    def complete(self) -> bool:
        """Remove the operation from its purgatory, and call `on_complete`. Return False if it was
        complete already; then nothing is done."""
        if self.done:
            return False
        self.done = True
        if self._purgatory is not None:
            self._purgatory.forget(self)
        self.on_complete()
        return True


def _always() -> bool:
    """Return True: every operation is to be tried."""
    return True


class Purgatory:
    """All waiting operations of one kind."""

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        self.name = name
        self._deadlines: Deadlines[DelayedOperation] = Deadlines(scheduler, self._expire)
        self._watchers: dict[Hashable, dict[DelayedOperation, None]] = {}
        self.waiting = 0
        """The number of operations that wait (Kafka's PurgatorySize)."""
        self.expired = 0
        self._closed = False

    def __len__(self) -> int:
        return self.waiting

    def watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable], timeout_ms: float
    ) -> None:
        """Let `operation` wait under `keys` for at most `timeout_ms`, or until the loop's next turn
        if the purgatory is closed. An operation is watched once.

        It never completes during this call, so the caller may set up the answer after it.
        """
        assert operation._purgatory is None, "an operation is watched once"
        operation._purgatory = self
        operation._keys = tuple(dict.fromkeys(keys))
        for key in operation._keys:
            self._watchers.setdefault(key, {})[operation] = None
        self.waiting += 1
        operation._deadlines = self._deadlines.add(operation, 0 if self._closed else timeout_ms)

    def is_watched(self, key: Hashable) -> bool:
        """Return whether an operation waits under `key`."""
        return key in self._watchers

    def check(self, key: Hashable, goes_on: Callable[[], bool] = _always) -> int:
        """Try each operation under `key`, and complete those whose `try_complete` returns True.
        Return the number of completed operations.

        `goes_on()` is called before each: False ends the check, because nothing is left for the
        other operations.
        """
        watchers = self._watchers.get(key)
        if not watchers:
            return 0
        completed = 0
        for operation in list(watchers):
            if not goes_on():
                break
            if not operation.done and operation.try_complete(key):
                completed += operation.complete()
        return completed

    def close(self) -> None:
        """Let all operations expire now, as at their deadlines.

        Operations that are added later complete in the loop's next turn, because nothing will wake
        them.
        """
        self._closed = True
        waiting = dict.fromkeys(op for watchers in self._watchers.values() for op in watchers)
        for operation in waiting:
            self._expire(operation)

    def forget(self, operation: DelayedOperation) -> None:
        """Remove a completed operation from all its keys, and cancel its deadline."""
        self.waiting -= 1
        if operation._deadlines is not None:
            self._deadlines.remove(operation, operation._deadlines)
        for key in operation._keys:
            watchers = self._watchers[key]
            del watchers[operation]
            if not watchers:
                del self._watchers[key]

    def _expire(self, operation: DelayedOperation) -> None:
        """Call `on_expiration` of an operation whose time is over, and complete it. No effect if it
        is done."""
        if not operation.done:
            self.expired += 1
            operation.on_expiration()
            operation.complete()

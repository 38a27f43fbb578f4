"""Requests that wait: one mechanism of keys and deadlines.

A `DelayedOperation` waits under one or more keys. Whoever changes what a key stands for calls
`check(key)`; each operation that waits there looks whether it is now complete. One that reaches
its deadline first is expired. Either way it completes exactly once and leaves all its keys.

Owns the waiting operations; their deadlines are of `broker.purgatory.deadlines`. Never knows what
they wait for. The number that wait is bounded by the connections: one request of a connection at a
time. Follows Kafka's `DelayedOperationPurgatory`; watching is cheaper here: one loop owns all
state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from broker.purgatory.deadlines import DeadlineQueue, Deadlines
from ground.ports import Scheduler


class DelayedOperation:
    """Something that completes when `try_complete` says so, or when its time is up."""

    __slots__ = ("_deadlines", "_keys", "_purgatory", "done")

    def __init__(self) -> None:
        self.done = False
        self._keys: tuple[Hashable, ...] = ()
        self._deadlines: DeadlineQueue[DelayedOperation] | None = None
        self._purgatory: Purgatory | None = None

    def try_complete(self, key: Hashable) -> bool:
        """Look, after `key` changed, whether all is there. Must not change state."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Answer. Called once, after `try_complete` or at the deadline."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Called before `on_complete` where the deadline came first."""

    def complete(self) -> bool:
        """Complete now, if it is not yet; whether it was this call that did."""
        if self.done:
            return False
        self.done = True
        if self._purgatory is not None:
            self._purgatory.forget(self)
        self.on_complete()
        return True


class Purgatory:
    """All delayed operations of one kind."""

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        self.name = name
        self._deadlines: Deadlines[DelayedOperation] = Deadlines(scheduler, self._expire)
        self._watchers: dict[Hashable, dict[DelayedOperation, None]] = {}
        self.waiting = 0
        """Operations that wait (Kafka's PurgatorySize)."""
        self.expired = 0
        self._closed = False

    def __len__(self) -> int:
        return self.waiting

    def watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable], timeout_ms: float
    ) -> None:
        """Let `operation` wait under `keys` for at most `timeout_ms`.

        It is never complete when this returns: the caller may still say whom to answer."""
        assert operation._purgatory is None, "an operation is watched once"
        operation._purgatory = self
        operation._keys = tuple(dict.fromkeys(keys))
        for key in operation._keys:
            self._watchers.setdefault(key, {})[operation] = None
        self.waiting += 1
        operation._deadlines = self._deadlines.add(operation, 0 if self._closed else timeout_ms)

    def is_watched(self, key: Hashable) -> bool:
        """Whether an operation waits under `key`."""
        return key in self._watchers

    def check(self, key: Hashable) -> int:
        """Complete what waits under `key` and is complete now; how many those were."""
        watchers = self._watchers.get(key)
        if not watchers:
            return 0
        completed = 0
        for operation in list(watchers):
            if not operation.done and operation.try_complete(key):
                completed += operation.complete()
        return completed

    def close(self) -> None:
        """Complete all that waits, as at their deadlines, and what would wait from now on in the
        loop's next turn: nobody will come to wake it."""
        self._closed = True
        waiting = dict.fromkeys(op for watchers in self._watchers.values() for op in watchers)
        for operation in waiting:
            self._expire(operation)

    def forget(self, operation: DelayedOperation) -> None:
        """Take a completed operation out of all its keys."""
        self.waiting -= 1
        if operation._deadlines is not None:
            self._deadlines.remove(operation, operation._deadlines)
        for key in operation._keys:
            watchers = self._watchers[key]
            del watchers[operation]
            if not watchers:
                del self._watchers[key]

    def _expire(self, operation: DelayedOperation) -> None:
        if not operation.done:
            self.expired += 1
            operation.on_expiration()
            operation.complete()

"""Deadlines of many waiting items, with one timer for each timeout.

Most items have a long timeout (30 s for replicas, 500 ms for data) and are done long before it.
Nearly all items of one kind have the same timeout. So the item that was added first is due first,
and only that one needs a timer; adding and removing an item only changes a dict. Kafka's
`SystemTimer` is a hierarchical timing wheel for the same reason.

Owns the timers. Never knows what waits, or what an expiration means. For deadlines that may be one
tick late, and of which hardly any expires, use `broker.loop.deadline_wheel`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from ground.ports import Scheduler, Timer

T = TypeVar("T", bound=Hashable)

EMPTY_QUEUES_MAX = 64
"""The number of queues up to which empty ones keep their timers; clients choose any timeout."""


class DeadlineQueue(Generic[T]):
    """The items with the same timeout, in the order of their deadlines."""

    __slots__ = ("due_ms", "timeout_ms", "timer")

    def __init__(self, timeout_ms: float) -> None:
        self.timeout_ms = timeout_ms
        self.due_ms: dict[T, float] = {}
        self.timer: Timer | None = None


class Deadlines(Generic[T]):
    """All deadlines. `expire(item)` is called for each item that was not removed before its
    deadline."""

    def __init__(self, scheduler: Scheduler, expire: Callable[[T], None]) -> None:
        self._scheduler = scheduler
        self._expire = expire
        self._queues: dict[float, DeadlineQueue[T]] = {}

    def add(self, item: T, timeout_ms: float) -> DeadlineQueue[T]:
        """Let `item`, which must not be waiting here, expire in `timeout_ms`. Return its queue,
        which `remove` needs."""
        queue = self._queues.get(timeout_ms)
        if queue is None:
            queue = self._queues[timeout_ms] = DeadlineQueue(timeout_ms)
        queue.due_ms[item] = self._scheduler.monotonic_ms() + timeout_ms
        if queue.timer is None:
            self._start_timer(queue, timeout_ms)
        return queue

    def remove(self, item: T, queue: DeadlineQueue[T]) -> None:
        """Remove `item` from its queue. Has no effect if it has expired."""
        due_ms = queue.due_ms
        due_ms.pop(item, None)
        if not due_ms and len(self._queues) > EMPTY_QUEUES_MAX:
            self._remove_queue(queue)

    def _start_timer(self, queue: DeadlineQueue[T], delay_ms: float) -> None:
        """Schedule the next check of the queue for due items in `delay_ms`."""
        queue.timer = self._scheduler.call_later(delay_ms, partial(self._expire_due, queue))

    def _expire_due(self, queue: DeadlineQueue[T]) -> None:
        """Remove each due item, call `expire` with it, and set the timer for the next item.

        Raises any exception of `expire`; the other due items then expire with the next timer, at
        once.
        """
        now_ms = self._scheduler.monotonic_ms()
        try:
            for _ in range(len(queue.due_ms)):  # items added meanwhile are due later
                item = next(iter(queue.due_ms), None)
                if item is None or queue.due_ms[item] > now_ms:
                    break
                del queue.due_ms[item]
                self._expire(item)
        finally:
            self._schedule_next(queue)

    def _schedule_next(self, queue: DeadlineQueue[T]) -> None:
        """Set the timer for the queue's first item; an empty queue is dropped."""
        if not queue.due_ms:
            self._remove_queue(queue)
            return
        first_ms = next(iter(queue.due_ms.values()))
        self._start_timer(queue, max(first_ms - self._scheduler.monotonic_ms(), 0.0))

    def _remove_queue(self, queue: DeadlineQueue[T]) -> None:
        """Remove the queue, if it is still the one for its timeout, and cancel its timer."""
        if self._queues.get(queue.timeout_ms) is queue and queue.timer is not None:
            queue.timer.cancel()
            del self._queues[queue.timeout_ms]

"""Deadlines of many things that wait, by one timer for each length of waiting.

Most that waits here waits for a long time at most (30 s for replicas, 500 ms for data) and is done
long before, and nearly all of one kind waits for the same time. So what was added first is due
first, and only that needs a timer: adding and removing change a dict. Kafka's `SystemTimer` is a
hierarchical timing wheel for the same reason.

Owns the timers. Never knows what waits, or what it means to be late. For deadlines that may be
late by a tick, and of which nearly none ever comes, there is `broker.loop.deadline_wheel`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from ground.ports import Scheduler, Timer

T = TypeVar("T", bound=Hashable)

EMPTY_QUEUES_MAX = 64
"""Lengths of waiting whose timer stays while nothing waits: clients may name any."""


class DeadlineQueue(Generic[T]):
    """What waits for the same time, in the order of its deadlines."""

    __slots__ = ("due_ms", "timeout_ms", "timer")

    def __init__(self, timeout_ms: float) -> None:
        self.timeout_ms = timeout_ms
        self.due_ms: dict[T, float] = {}
        self.timer: Timer | None = None


class Deadlines(Generic[T]):
    """See the module. `expire(thing)` is called for each that was not removed in time."""

    def __init__(self, scheduler: Scheduler, expire: Callable[[T], None]) -> None:
        self._scheduler = scheduler
        self._expire = expire
        self._queues: dict[float, DeadlineQueue[T]] = {}

    def add(self, thing: T, timeout_ms: float) -> DeadlineQueue[T]:
        """Expire `thing`, which is not waiting here yet, in `timeout_ms`; where it waits."""
        queue = self._queues.get(timeout_ms)
        if queue is None:
            queue = self._queues[timeout_ms] = DeadlineQueue(timeout_ms)
        queue.due_ms[thing] = self._scheduler.monotonic_ms() + timeout_ms
        if queue.timer is None:
            self._start(queue, timeout_ms)
        return queue

    def remove(self, thing: T, queue: DeadlineQueue[T]) -> None:
        """`thing` does not wait any more. Legal, and without effect, once it is expired."""
        due_ms = queue.due_ms
        due_ms.pop(thing, None)
        if not due_ms and len(self._queues) > EMPTY_QUEUES_MAX:
            self._drop(queue)

    def _start(self, queue: DeadlineQueue[T], delay_ms: float) -> None:
        queue.timer = self._scheduler.call_later(delay_ms, partial(self._fire, queue))

    def _fire(self, queue: DeadlineQueue[T]) -> None:
        now_ms = self._scheduler.monotonic_ms()
        try:
            for _ in range(len(queue.due_ms)):  # what is added meanwhile has its own time
                thing = next(iter(queue.due_ms), None)
                if thing is None or queue.due_ms[thing] > now_ms:
                    break
                del queue.due_ms[thing]
                self._expire(thing)
        finally:
            self._go_on(queue)

    def _go_on(self, queue: DeadlineQueue[T]) -> None:
        if not queue.due_ms:
            self._drop(queue)
            return
        first_ms = next(iter(queue.due_ms.values()))
        self._start(queue, max(first_ms - self._scheduler.monotonic_ms(), 0.0))

    def _drop(self, queue: DeadlineQueue[T]) -> None:
        if self._queues.get(queue.timeout_ms) is queue and queue.timer is not None:
            queue.timer.cancel()
            del self._queues[queue.timeout_ms]

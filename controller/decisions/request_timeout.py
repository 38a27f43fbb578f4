"""Commands with a deadline, by which the client gets an answer even without an outcome.

Owns: a timer for each such command that does not reply at once. A command that is late is not
undone, as in Kafka: REQUEST_TIMED_OUT says that the outcome is unknown. A command with a time-out
of 0 or less has no time left and is not executed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from controller.decisions.decision import Decided, DecisionView
from ground.ports import Scheduler, Timer
from protocol.errors import ApiError, ErrorCode

T = TypeVar("T")

_LATE = ApiError(ErrorCode.REQUEST_TIMED_OUT)


class CommandQueue(Protocol):
    """The queue of the active controller."""

    def submit(
        self,
        name: str,
        decide: Callable[[DecisionView], Decided[T]],
        reply: Callable[[T | ApiError], None],
    ) -> None:
        """Queue a command, as `QuorumController.submit` does: `decide` runs in its turn, and
        `reply` gets the outcome after the records are committed."""


class RequestTimeouts:
    """The submission of commands with a deadline."""

    def __init__(self, queue: CommandQueue, scheduler: Scheduler) -> None:
        self._queue = queue
        self._scheduler = scheduler

    def submit(
        self,
        name: str,
        decide: Callable[[DecisionView], Decided[T]],
        reply: Callable[[T | ApiError], None],
        timeout_ms: int,
    ) -> None:
        """Submit a command to the queue. Call `reply` once: with the outcome, or with
        REQUEST_TIMED_OUT after `timeout_ms` milliseconds. With 0 or less, that is at once, and
        nothing is submitted."""
        self.within(timeout_ms, reply, lambda answer: self._queue.submit(name, decide, answer))

    def within(
        self,
        timeout_ms: int,
        reply: Callable[[T | ApiError], None],
        begin: Callable[[Callable[[T | ApiError], None]], None],
    ) -> None:
        """Call `begin(answer)`, and pass the first outcome that `answer` gets to `reply`;
        REQUEST_TIMED_OUT after `timeout_ms` milliseconds. With 0 or less, that is at once, and
        `begin` is not called."""
        if timeout_ms <= 0:
            reply(_LATE)
            return
        timer: Timer | None = None
        answered = False

        def answer(outcome: T | ApiError) -> None:
            """Cancel the timer and pass the outcome to `reply`; ignore every outcome after the
            first."""
            nonlocal answered
            if not answered:
                answered = True
                if timer is not None:
                    timer.cancel()
                reply(outcome)

        begin(answer)
        if not answered:
            timer = self._scheduler.call_later(timeout_ms, lambda: answer(_LATE))

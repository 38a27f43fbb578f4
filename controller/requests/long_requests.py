"""Requests with very many items: the work before and after their decision, in slices.

While the controller decides on a command, it decides on nothing else. So other work is done outside
its queue. The names of a request are collected and authorized before the command is submitted. The
response is built from the outcome after the commit. A short request runs through at once.

Never: decides, nor schedules the turns (`Slices`).

Kafka's `ControllerApis` does this work on the threads of its request handlers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, cast

from controller.decisions.decision import Decided, DecisionView
from controller.decisions.request_timeout import RequestTimeouts
from controller.quorum_controller import QuorumController
from ground.ordered_work import raise_error
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, each, in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.primitives import StringTooLong

logger = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")
P = TypeVar("P")
Q = TypeVar("Q")
R = TypeVar("R")

Settle = Callable[[T | ApiError], None]
Respond = Callable[[Any], None]

_FAILED = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


class Slices(Protocol):
    """The turns of long work (`broker.requests.sliced_answers`)."""

    def make(
        self,
        steps: Steps[T],
        ended: Callable[[T], None],
        done: Callable[[T | None, Exception | None], None],
    ) -> None:
        """Run `steps`. Call `ended(result)` at once if they fit a single turn; otherwise
        `done(result, error)` later."""


class LongRequests:
    """The preparation, decision and response of requests."""

    def __init__(
        self,
        controller: QuorumController,
        timeouts: RequestTimeouts,
        slices: Slices | None = None,
    ) -> None:
        """Run work in the turns of `slices`; None: without pause."""
        self._controller = controller
        self._timeouts = timeouts
        self._slices = slices

    def submit(
        self,
        name: str,
        decide: Callable[[DecisionView], Decided[T]],
        answer: Callable[[T | ApiError], Steps[R]],
        respond: Respond,
        timeout_ms: int | None = None,
    ) -> None:
        """Submit a command to the controller. Then pass the response that `answer` builds from its
        committed outcome to `respond`.

        After `timeout_ms` milliseconds, the outcome is REQUEST_TIMED_OUT, though the command goes
        on; None: no time-out.
        """

        def begin(settle: Settle[T]) -> None:
            self._controller.submit(name, decide, settle)

        self.run(name, _nothing(), begin, answer, respond, timeout_ms)

    def respond_with(
        self,
        name: str,
        outcome: T | ApiError,
        answer: Callable[[T | ApiError], Steps[R]],
        respond: Respond,
    ) -> None:
        """Pass the response that `answer` builds from `outcome` to `respond`, without submitting a
        command. If `answer` raises, build it from UNKNOWN_SERVER_ERROR."""
        self._make(_response(name, answer, outcome), respond)

    def run(
        self,
        name: str,
        before: Steps[None],
        begin: Callable[[Settle[T]], None],
        answer: Callable[[T | ApiError], Steps[R]],
        respond: Respond,
        timeout_ms: int | None = None,
    ) -> None:
        """Run `before` in slices, and call `begin(settle)`, which must call `settle(outcome)`, now
        or later. Then respond like `submit`, also after the time-out.

        If `before` raises, the outcome is UNKNOWN_SERVER_ERROR, and `begin` is not called.
        """

        def reply(outcome: T | ApiError) -> None:
            self.respond_with(name, outcome, answer, respond)

        def prepare(settle: Settle[T]) -> None:
            """Run `before`, then begin the decision, or settle with UNKNOWN_SERVER_ERROR if
            `before` failed."""
            self._make(
                _prepared(name, before),
                lambda is_prepared: begin(settle) if is_prepared else settle(_FAILED),
            )

        if timeout_ms is None:
            prepare(reply)
        else:
            self._timeouts.within(timeout_ms, reply, prepare)

    def _make(self, steps: Steps[T], ended: Callable[[T], None]) -> None:
        """Run the steps, in slices if there are turns for them, then call `ended` with the result.
        Raises the error of a step."""

        def done(result: T | None, error: Exception | None) -> None:
            """Raise the error of the steps, or call `ended` with their result."""
            raise_error(result, error)
            ended(cast(T, result))

        if self._slices is None:
            ended(in_one_go(steps))
        else:
            self._slices.make(steps, ended, done)


def _nothing() -> Steps[None]:
    """Return steps that do no work."""
    yield from ()


def _prepared(name: str, before: Steps[None]) -> Steps[bool]:
    """Run `before`. Return whether it succeeded; an exception is a bug, which is logged with its
    trace. Raises AssertionError."""
    try:
        yield from before
    except AssertionError:
        raise
    except Exception:
        logger.exception("the controller failed to prepare %s", name)
        return False
    return True


def _response(
    name: str, answer: Callable[[T | ApiError], Steps[R]], outcome: T | ApiError
) -> Steps[R]:
    """Return the response that `answer` builds from `outcome`. If `answer` raises, because of a bug
    or because the client's own names do not fit, log that, and build it from
    UNKNOWN_SERVER_ERROR."""
    try:
        return (yield from answer(outcome))
    except AssertionError:
        raise
    except Exception as error:
        trace = None if isinstance(error, StringTooLong) else error
        logger.error("the controller failed to answer %s: %s", name, error, exc_info=trace)
    return (yield from answer(_FAILED))


def map_in_slices(items: Iterable[T], make: Callable[[T], R]) -> Steps[list[R]]:
    """Return the results of `make` for each item, in slices."""
    made: list[R] = []
    yield from each(lambda item: made.append(make(item)), items, PIECES_AT_ONCE)
    return made


def map_parts_in_slices(
    items: Iterable[T],
    parts_of: Callable[[T], Iterable[P]],
    make_part: Callable[[P], Q],
    make: Callable[[T, list[Q]], R],
) -> Steps[list[R]]:
    """Return the results of `make` for each item and the results of `make_part` for its parts, in
    slices."""
    made: list[R] = []
    pace = Pace()
    for item in items:
        if pace.is_full():
            yield None
        parts: list[Q] = []
        for part in parts_of(item):
            if pace.is_full():
                yield None
            parts.append(make_part(part))
        made.append(make(item, parts))
    return made

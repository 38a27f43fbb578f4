"""`controller.decisions.request_timeout`: answered once, and in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.decisions.decision import Decision, DecisionView
from controller.decisions.request_timeout import RequestTimeouts
from ground.sim_scheduler import SimScheduler
from protocol.errors import ApiError, ErrorCode


class Queue:
    """Keeps the replies back."""

    def __init__(self, at_once: bool = False) -> None:
        self.at_once = at_once
        self.replies: list[Callable[[Any], None]] = []

    def submit(self, _name: str, _decide: Any, reply: Callable[[Any], None]) -> None:
        self.replies.append(reply)
        if self.at_once:
            reply("done")


def decide(_view: DecisionView) -> Decision[str]:
    return Decision("done")


def test_late() -> None:
    scheduler, queue, answers = SimScheduler(), Queue(), []
    RequestTimeouts(queue, scheduler).submit("x", decide, answers.append, 500)
    scheduler.run_for(499)
    assert answers == []
    scheduler.run_for(1)
    assert answers == [ApiError(ErrorCode.REQUEST_TIMED_OUT)]
    queue.replies[0]("done")
    assert len(answers) == 1


def test_in_time_leaves_no_timer() -> None:
    scheduler, queue, answers = SimScheduler(), Queue(), []
    RequestTimeouts(queue, scheduler).submit("x", decide, answers.append, 500)
    queue.replies[0]("done")
    assert answers == ["done"]
    assert scheduler.pending() == 0


def test_at_once_needs_no_timer() -> None:
    scheduler, answers = SimScheduler(), []
    RequestTimeouts(Queue(at_once=True), scheduler).submit("x", decide, answers.append, 1)
    assert answers == ["done"]
    assert scheduler.pending() == 0


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
def test_whose_time_is_up_is_not_looked_at(timeout_ms: int) -> None:
    scheduler, queue, answers = SimScheduler(), Queue(at_once=True), []
    RequestTimeouts(queue, scheduler).submit("x", decide, answers.append, timeout_ms)
    assert answers == [ApiError(ErrorCode.REQUEST_TIMED_OUT)]
    assert (queue.replies, scheduler.pending()) == ([], 0)


def test_within_is_for_what_is_no_one_command() -> None:
    scheduler, answers = SimScheduler(), []
    timeouts = RequestTimeouts(Queue(), scheduler)
    kept: list[Callable[[Any], None]] = []
    timeouts.within(500, answers.append, kept.append)
    timeouts.within(500, answers.append, kept.append)
    kept[0]("in time")
    scheduler.run_for(500)
    kept[1]("late")
    assert answers == ["in time", ApiError(ErrorCode.REQUEST_TIMED_OUT)]
    timeouts.within(0, answers.append, kept.append)
    assert len(kept) == 2

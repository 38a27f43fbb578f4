"""How long an operation is tried, and what may have come of a try that failed."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.operation import Attempts, NoAnswer, RequestStep, Steps
from client.core.retries import LEADER
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from tests.unit.client.core.driving import Driver, silence

MOVED, LATE = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT


def settled(attempts: Attempts) -> Steps[Any]:
    """A request whose answers are error codes."""
    step = RequestStep(HeartbeatRequest(), 4)
    return attempts.settled(lambda: attempts.request(step), LEADER, int)


def test_it_is_asked_again_until_an_error_has_passed() -> None:
    driver = Driver(MOVED, MOVED, 0)
    attempts = driver.attempts()
    assert driver.run(settled(attempts)) == 0
    assert (len(driver.asked), driver.now_s, attempts.unsure) == (3, 0.2, False)


def test_an_error_that_does_not_pass_ends_it_and_so_does_its_time() -> None:
    driver = Driver(LATE)
    attempts = driver.attempts()
    assert driver.run(settled(attempts)) == LATE
    assert (attempts.last, attempts.unsure) == (LATE, True)
    driver = Driver(*[MOVED] * 99)
    assert driver.run(settled(driver.attempts(0.25))) == MOVED
    assert len(driver.asked) == 4


def test_who_says_so_asks_again_after_any_error_and_silence() -> None:
    driver = Driver(silence(was_sent=False), LATE, silence(was_sent=True), 0)
    attempts = driver.attempts(asks_again=lambda _: True, also=(LATE,))
    assert driver.run(settled(attempts)) == 0
    assert attempts.unsure


def test_others_do_not_ask_twice_who_is_silent() -> None:
    driver = Driver(silence(was_sent=False))
    attempts = driver.attempts()
    with pytest.raises(NoAnswer):
        driver.run(settled(attempts))
    assert not attempts.unsure

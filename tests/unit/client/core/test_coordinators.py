"""The way to the coordinator of a group."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.coordinators import NoCoordinator, at_coordinator
from client.core.operation import Attempts
from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.unit.client.core.driving import Driver, names, silence

FIND, BEAT = "FindCoordinatorRequest", "HeartbeatRequest"


def asked(driver: Driver, attempts: Attempts) -> Any:
    steps = at_coordinator(attempts, "g", HeartbeatRequest("g"), 4)
    return driver.run(steps)


def at(node_id: int) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(node_id=node_id)


def test_one_that_moves_is_found_anew_and_one_that_has_answered_is_kept() -> None:
    loads = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    moved = HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
    done = HeartbeatResponse()
    driver = Driver(loads, at(1), moved, at(2), done, done)
    attempts = driver.attempts()
    for _ in range(2):
        assert asked(driver, attempts) == done
    assert names(driver.asked) == [
        (FIND, None), (FIND, None), (BEAT, 1), (FIND, None), (BEAT, 2), (BEAT, 2),
    ]  # fmt: skip


def test_one_that_is_silent_is_asked_for_anew() -> None:
    driver = Driver(
        at(1), silence(was_sent=True), silence(was_sent=True), at(2), HeartbeatResponse()
    )
    attempts = driver.attempts(asks_again=lambda _: True)
    assert asked(driver, attempts).error_code == 0
    assert [one.to for one in driver.asked] == [None, 1, None, None, 2]


def test_a_cluster_that_tells_of_none() -> None:
    driver = Driver(FindCoordinatorResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(NoCoordinator, match="nobody coordinates g") as raised:
        asked(driver, driver.attempts())
    assert (raised.value.key, raised.value.code) == ("g", ErrorCode.GROUP_AUTHORIZATION_FAILED)

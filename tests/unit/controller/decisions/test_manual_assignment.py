"""`manual_assignment`. Words are compared with Kafka's in `test_controller_apis`."""

from __future__ import annotations

import pytest

from controller.decisions.manual_assignment import assignment_fault, consecutive_fault
from protocol.errors import ErrorCode
from tests.unit.controller.controller_fixture import broker_record, image_of

IMAGE = image_of(broker_record(1), broker_record(2), broker_record(3, fenced=True))


@pytest.mark.parametrize("replicas", [[1], [2, 1], [3, 1]])
def test_legal(replicas: list[int]) -> None:
    assert assignment_fault(IMAGE, 0, replicas, None) is None


@pytest.mark.parametrize(
    ("replicas", "factor", "words"),
    [
        ([], None, "empty replica list"),
        ([9], None, "no such broker"),
        ([1, 1], None, "more than once"),
        ([1], 2, "not consistent"),
        ([3], None, "fenced or in controlled shutdown"),
    ],
)
def test_illegal(replicas: list[int], factor: int | None, words: str) -> None:
    fault = assignment_fault(IMAGE, 0, replicas, factor)
    assert fault is not None
    assert fault.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert words in (fault.message or "")


def test_consecutive() -> None:
    assert consecutive_fault({0: 1, 1: 1}) is None
    assert consecutive_fault({0: 1, 2: 1}) is not None

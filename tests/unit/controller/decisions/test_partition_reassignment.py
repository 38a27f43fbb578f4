"""`partition_reassignment`: replica lists at its begin, end and after a cancel."""

from __future__ import annotations

import pytest

from controller.decisions.partition_reassignment import (
    Reassignment,
    begin,
    complete,
    reassignment_of,
    revert,
)
from controller.metadata.image import PartitionRegistration


@pytest.mark.parametrize(
    ("present", "target", "expected"),
    [
        ([1, 2], [1, 2], Reassignment((1, 2))),
        ([1, 2], [2, 1], Reassignment((2, 1))),
        ([1, 2], [1, 2, 3], Reassignment((1, 2, 3), (), (3,))),
        ([1, 2, 3], [3], Reassignment((3, 1, 2), (1, 2), ())),
        ([1, 2], [5, 4], Reassignment((5, 4, 1, 2), (1, 2), (4, 5))),
    ],
)
def test_begin(present: list[int], target: list[int], expected: Reassignment) -> None:
    assert begin(present, target) == expected
    assert expected.in_progress == (set(present) != set(target))


@pytest.mark.parametrize(
    ("reassignment", "isr", "expected"),
    [
        (Reassignment((1, 2)), [1, 2], None),
        (Reassignment((3, 2, 1), (1,), (3,)), [1, 2], None),
        (Reassignment((3, 2, 1), (1,), (3,)), [1, 3], None),
        (Reassignment((3, 2, 1), (1,), (3,)), [1, 2, 3], ((3, 2), (2, 3))),
        (Reassignment((3, 2, 1), (1,), (3,)), [3, 2], ((3, 2), (3, 2))),
        (Reassignment((3, 1), (1,), ()), [1], None),
        (Reassignment((1, 2), (), (2,)), [2, 1], ((1, 2), (2, 1))),
    ],
)
def test_complete(reassignment: Reassignment, isr: list[int], expected: object) -> None:
    assert complete(reassignment, isr) == expected


def partition(isr: tuple[int, ...]) -> PartitionRegistration:
    return PartitionRegistration(
        (4, 3, 1, 2), (), isr, 1, 0, 0, removing_replicas=(1, 2), adding_replicas=(4,)
    )


def test_revert() -> None:
    assert revert(partition((1, 4))) == ((3, 1, 2), (1,), False)
    assert revert(partition((4,))) == ((3, 1, 2), (3,), True)
    assert reassignment_of(partition((1,))) == ((4, 3, 1, 2), (1, 2), (4,))

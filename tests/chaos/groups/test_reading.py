"""What is read twice or never is seen, and pauses count where they began."""

from __future__ import annotations

import pytest

from tests.chaos.groups.reading import Pauses, Reading


@pytest.fixture
def reading() -> Reading:
    """`a` has read 0 and 1 of partition 0, and committed both."""
    reading = Reading("first")
    reading.comes("a", 1.0)
    reading.read("a", 0, 0, 3.0)
    reading.read("a", 0, 1, 3.5)
    reading.committed(0, 2)
    return reading


def test_one_goes_on_where_another_stood(reading: Reading) -> None:
    reading.read("a", 0, 2, 3.6)
    reading.goes("a")
    reading.comes("b", 4.0)
    reading.read("b", 0, 2, 5.0)
    assert (reading.read_again, reading.skipped) == ([], []), "2 was not committed"
    assert reading.total_committed() == 2


def test_committed_work_is_done_again(reading: Reading) -> None:
    reading.committed(0, 1)
    reading.read("b", 0, 1, 4.0)
    assert reading.read_again == ["b reads 1 of 0, committed up to 2"]
    assert reading.skipped == []


def test_a_record_is_passed_over(reading: Reading) -> None:
    reading.read("b", 0, 3, 4.0)
    assert reading.skipped == ["b reads 3 of 0, nobody read 2"]
    assert reading.read_again == []


def test_pauses_count_where_they_began(reading: Reading) -> None:
    reading.stage = "second"
    reading.read("a", 0, 2, 5.5)
    reading.read("a", 0, 3, 6.0)
    reading.goes("a")
    reading.read("b", 0, 4, 9.0)
    assert reading.pauses == {
        "first": Pauses(member=(2.0, "a"), new_member=(2.0, "a"), partition=(2.0, "0")),
        "second": Pauses(member=(0.5, "a"), partition=(3.0, "0")),
    }

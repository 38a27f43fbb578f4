from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker.groups.consumer.assignors.assignor import GroupAssignment, MemberSubscription
from broker.groups.consumer.assignors.assignors import Assignors, SlicedOnTheLoop
from broker.groups.consumer.assignors.range import RangeAssignor
from broker.groups.consumer.assignors.uniform import UniformAssignor
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork, Steps

Told = list[tuple[GroupAssignment | None, Exception | None]]


def _assignors() -> tuple[Assignors, SimScheduler]:
    scheduler = SimScheduler()
    work = SlicedWork(scheduler, SimBlocking(scheduler), 1)
    kinds = (UniformAssignor(), RangeAssignor())
    return Assignors([SlicedOnTheLoop(one, work) for one in kinds]), scheduler


def test_they_are_found_by_name_and_the_first_is_the_default() -> None:
    assignors, _ = _assignors()
    assert assignors.names == ["uniform", "range"]
    assert assignors.default == "uniform"
    assert "range" in assignors
    assert "sticky" not in assignors
    assert assignors["range"].name == "range"
    with pytest.raises(KeyError):
        assignors["sticky"]


def test_a_small_group_has_its_assignment_at_once() -> None:
    assignors, scheduler = _assignors()
    told: Told = []
    topic = b"t" * 16
    members = {"m": MemberSubscription(frozenset((topic,)))}
    done = assignors["uniform"].begin(members, {topic: 2}, lambda *one: told.append(one))
    assert done == [{"m": {topic: (0, 1)}}]
    scheduler.run_for(10)
    assert told == []


@pytest.mark.parametrize("name", ["uniform", "range"])
def test_a_large_group_has_it_later_and_the_same(name: str) -> None:
    assignors, scheduler = _assignors()
    told: Told = []
    topics = {number.to_bytes(16, "big"): 50 for number in range(100)}
    members = {f"m{number}": MemberSubscription(frozenset(topics)) for number in range(500)}
    done = assignors[name].begin(members, topics, lambda *one: told.append(one))
    assert done == []
    assert told == []
    scheduler.run_for(10)
    assert len(told) == 1
    kind = {"uniform": UniformAssignor, "range": RangeAssignor}[name]
    assert told == [(kind().assign(members, topics), None)]


@pytest.mark.parametrize("fails_in_slice", [0, 3])
def test_one_that_fails_tells_its_group(
    fails_in_slice: int,
) -> None:
    class Failing(UniformAssignor):
        def steps(
            self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
        ) -> Steps[GroupAssignment]:
            for _ in range(fails_in_slice):
                yield None
            raise ZeroDivisionError("members")

    scheduler = SimScheduler()
    one = SlicedOnTheLoop(Failing(), SlicedWork(scheduler, SimBlocking(scheduler), 1))
    told: Told = []
    assert one.begin({}, {}, lambda *end: told.append(end)) == []
    scheduler.run_for(10)
    ((answer, error),) = told
    assert answer is None
    assert isinstance(error, ZeroDivisionError)

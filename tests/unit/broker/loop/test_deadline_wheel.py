"""DeadlineWheel: nothing early, nothing later than a tick, nothing left behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.loop.deadline_wheel import DeadlineWheel


def test_due_in_order_and_once():
    wheel = DeadlineWheel[str](1.0)
    wheel.add("c", 30.5)
    wheel.add("a", 10.2)
    wheel.add("b", 10.9)
    assert wheel.next_due() == 11.0
    assert wheel.pop_due(10.99) == []
    assert wheel.pop_due(11.0) == ["a", "b"]
    assert wheel.pop_due(11.0) == []
    assert wheel.pop_due(100.0) == ["c"]
    assert wheel.next_due() is None
    assert not list(wheel)


def test_adding_again_moves_and_removing_forgets():
    wheel = DeadlineWheel[str](0.5)
    wheel.add("a", 1.0)
    wheel.add("a", 5.0)
    wheel.add("b", 1.0)
    wheel.remove("b")
    wheel.remove("never there")
    assert "b" not in wheel
    assert "a" in wheel
    assert wheel.pop_due(4.0) == []
    assert wheel.pop_due(6.0) == ["a"]


def test_a_tick_must_last():
    with pytest.raises(ValueError, match="tick"):
        DeadlineWheel[str](0)


@given(
    tick=st.floats(0.01, 100),
    dues=st.lists(st.floats(0, 10_000), max_size=30),
    steps=st.lists(st.floats(0, 500), max_size=60),
)
def test_never_early_and_late_by_a_tick_at_most(tick: float, dues: list[float], steps: list[float]):
    wheel = DeadlineWheel[int](tick)
    for key, due in enumerate(dues):
        wheel.add(key, due)
    now = last = 0.0
    seen: list[int] = []
    for step in [*steps, 20_000 + tick]:
        last, now = now, now + step
        for key in wheel.pop_due(now):
            assert dues[key] <= now
            # It was not due a look ago, or not yet by a whole tick.
            assert dues[key] + tick * 1.0001 >= last
            seen.append(key)
    assert sorted(seen) == list(range(len(dues)))

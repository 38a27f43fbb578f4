from __future__ import annotations

import pytest

from broker.groups.consumer.topic_names import TopicNames
from broker.testing.simulation.sim_scheduler import SimBlocking, SimScheduler
from storage.log.sliced_work import SlicedWork


class Rig:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.work = SlicedWork(self.scheduler, SimBlocking(self.scheduler), 1)
        self.names = TopicNames(self.work)
        self.told: list[dict[str, list[str]]] = []

    def look_up(self, expressions: list[str], names: list[str]) -> None:
        self.names.look_up(expressions, names, self.told.append)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("orders.*", None),
        ("(^a.*)", None),
        ("[", "missing closing ]"),
        ("(?!x).*", "invalid or unsupported Perl syntax"),
    ],
)
def test_what_is_no_expression_is_told(expression: str, fault: str | None) -> None:
    assert Rig().names.fault(expression) == fault


def test_few_names_are_told_at_once_and_sorted() -> None:
    rig = Rig()
    rig.look_up(["o.*", ".*s", "x"], ["orders", "oil", "is"])
    assert rig.told == [{"o.*": ["oil", "orders"], ".*s": ["is", "orders"], "x": []}]


def test_no_names_and_no_expressions() -> None:
    rig = Rig()
    rig.look_up(["a"], [])
    rig.look_up([], ["a"])
    assert rig.told == [{"a": []}, {}]


def test_many_names_take_several_slices() -> None:
    rig = Rig()
    names = [f"orders.{number:05d}" for number in range(10_000)]
    rig.look_up([r"orders\.0.*9"], names)
    assert rig.told == []
    rig.scheduler.run_for(10)
    assert rig.told == [{r"orders\.0.*9": [name for name in names if name.endswith("9")]}]
    assert 5 <= rig.work.slices <= 50


def test_a_slow_expression_has_fewer_names_in_a_slice() -> None:
    rig = Rig()
    rig.look_up(["((.{0,30}){30}x)"], ["a"] * 20)
    rig.scheduler.run_for(10)
    assert rig.told == [{"((.{0,30}){30}x)": []}]
    assert rig.work.slices == 20


def test_an_expression_of_the_log_that_is_none_here_gives_nothing() -> None:
    rig = Rig()
    rig.look_up(["a", "("], ["a", "("])
    assert rig.told == [{"a": ["a"], "(": []}]

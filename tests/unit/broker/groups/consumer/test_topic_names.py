from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import re2

from broker.groups.consumer.membership import Describable, all_names
from broker.groups.consumer.topic_names import TopicNames
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import SlicedWork


class Rig:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.jobs = 0
        self._threads = SimBlocking(self.scheduler)
        self.work = SlicedWork(self.scheduler, self, 1)
        self.names = TopicNames(self.work, 50_000)
        self.told: list[dict[str, list[str]]] = []

    def submit(self, job: Callable[[], Any], done: Callable[..., None]) -> None:
        """Run the job, as `ground.ports.Blocking` does."""
        self.jobs += 1
        self._threads.submit(job, done)

    def look_up(
        self, expressions: list[str], names: list[str], may_describe: Describable = all_names
    ) -> None:
        self.names.look_up(expressions, names, may_describe, self.told.append)


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
    rig.look_up(["(a|b|ab|ba){0,100}x"], ["a" * 200] * 20)
    rig.scheduler.run_for(10)
    assert rig.told == [{"(a|b|ab|ba){0,100}x": []}]
    assert rig.work.slices >= 10
    assert rig.jobs == 0


def test_threads_look_by_a_large_expression() -> None:
    rig = Rig()
    names = [f"topic-{number:03d}-{'x' * 200}" for number in range(100)]
    rig.look_up(["|".join(names)], [*names, "another"])
    assert rig.told == []
    rig.scheduler.run_for(1_000)
    assert [sorted(names)] == [found for told in rig.told for found in told.values()]
    assert rig.jobs >= 10


def test_a_thousand_expressions_are_read_in_turns() -> None:
    rig = Rig()
    expressions = [f"name-{number}|[a-z]{{100}}" for number in range(1_000)]
    rig.look_up(expressions, ["name-7"])
    assert rig.told == []
    rig.scheduler.run_for(10)
    assert [one for one, found in rig.told[0].items() if found] == [expressions[7]]
    assert rig.work.slices > 200


def test_an_expression_of_the_log_that_is_none_here_gives_nothing() -> None:
    rig = Rig()
    rig.look_up(["a", "("], ["a", "("])
    rig.scheduler.run_for(10)
    assert rig.told == [{"a": ["a"], "(": []}]


def test_expressions_of_the_log_that_are_too_large_here_are_refused_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    monkeypatch.setattr(re2, "compile", None)
    expressions = [rf"{number}\pL" + r"\pL" * 5_000 for number in range(20)]
    rig.look_up(expressions, ["a"])
    assert rig.told == []
    rig.scheduler.run_for(10)
    assert rig.told == [dict.fromkeys(expressions, [])]
    assert rig.work.slices == 20


def test_what_may_not_be_described_is_left_out_and_each_name_judged_once_in_slices() -> None:
    rig = Rig()
    judged: list[Sequence[str]] = []

    def even(names: Sequence[str]) -> Sequence[str]:
        judged.append(names)
        return [name for name in names if int(name) % 2 == 0]

    names = [f"{number:05d}" for number in range(10_000)]
    rig.look_up([".*", "0.*", ".*7"], names, even)
    assert rig.told == []
    rig.scheduler.run_for(100)
    assert rig.told == [{".*": names[::2], "0.*": names[::2], ".*7": []}]
    assert [name for part in judged for name in part] == names
    assert max(map(len, judged)) <= 128

"""A sequence is made as short as what it shows allows."""

from __future__ import annotations

from tests.differential.sequence import Sequence, Step
from tests.differential.shrink import Shrinker


def sequence() -> Sequence:
    steps = [
        Step("METADATA", 4, {"topics": [{"name": f"~t{n}"}, {"name": "~t9"}], "flag": n})
        for n in range(30)
    ]
    return Sequence("long", steps)


def names(one: Sequence) -> list[list[str]]:
    return [[topic.get("name", "") for topic in step.body["topics"]] for step in one.steps]


def test_two_steps_of_thirty_are_left_and_one_topic_of_two() -> None:
    def still(one: Sequence) -> bool:
        found = [name for step in one.steps for name in _topics(step)]
        return "~t7" in found and "~t21" in found

    shortest = Shrinker(sequence(), still).shortest()
    assert names(shortest) == [["~t7"], ["~t21"]]
    assert [step.body.keys() for step in shortest.steps] == [{"topics"}, {"topics"}]


def _topics(step: Step) -> list[str]:
    return [topic.get("name", "") for topic in step.body.get("topics", [])]


def test_what_does_not_show_itself_any_more_is_left_as_it_was() -> None:
    assert Shrinker(sequence(), lambda one: False).shortest() == sequence()


def test_it_stops_after_so_many_runs() -> None:
    runs = 0

    def still(one: Sequence) -> bool:
        nonlocal runs
        runs += 1
        return True

    Shrinker(sequence(), still, runs_max=2).shortest()
    assert runs == 2

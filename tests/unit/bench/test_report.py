"""The report's arithmetic: quartiles, ratios of neighbours, goals at the worse quartile."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.report import FigureRow, quartiles, rows
from bench.scenario import BROKER_CPU, LARGER, RATE, SMALLER, Figure, Scenario
from bench.turns import BenchRun, RoundResult


def scenario(**settings: dict[str, float]) -> Scenario:
    return Scenario("one", "group", "a title", "client", 1, 1, lambda peer, s: [], **settings)  # type: ignore[arg-type]


def run_of(values: dict[str, list[float]], figure: str = RATE, better: str = LARGER) -> BenchRun:
    """One figure of scenario `one`, by peer, a value a round; NaN-free rounds only."""
    run = BenchRun(list(values), max(map(len, values.values())), 1.0, 0, ["one"])
    for peer, its in values.items():
        for number, value in enumerate(its, 1):
            told = Figure(figure, "u", value, better)
            run.records.append(RoundResult(peer, number, "one", [told]))
    return run


def row_of(run: BenchRun, one: Scenario) -> FigureRow:
    (row,) = rows(run, {"one": one})
    return row


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([3.0], 3.0, 3.0),
        ([1.0, 2.0], 1.25, 1.75),
        ([5.0, 1.0, 3.0, 2.0, 4.0], 2.0, 4.0),
    ],
)
def test_quartiles(values: list[float], low: float, high: float) -> None:
    assert quartiles(values) == (low, high)


def test_the_ratio_is_that_of_the_medians_and_its_spread_that_of_neighbours() -> None:
    row = row_of(run_of({"ottla": [10, 20, 90], "kafka": [10, 10, 30]}), scenario())
    assert row.ratio == 2.0
    assert row.ratios == [1.0, 2.0, 3.0]
    assert row.spread == (1.5, 2.5)


def test_neighbours_are_of_the_same_round() -> None:
    run = run_of({"ottla": [10, 20, 30], "kafka": [10, 10, 10]})
    run.records = [one for one in run.records if (one.peer, one.round) != ("kafka", 2)]
    row = row_of(run, scenario())
    assert row.ratios == [1.0, 3.0]
    assert row.values == {"ottla": [10, 20, 30], "kafka": [10, 10]}


@pytest.mark.parametrize(
    ("better", "theirs", "goal", "met"),
    [
        (LARGER, [10, 10, 10, 10, 10], 2.0, True),  # ratios 1 2 3 4 5: lower quartile 2
        (LARGER, [10, 10, 10, 10, 10], 2.1, False),
        (SMALLER, [10, 10, 10, 10, 10], 4.0, True),  # upper quartile 4
        (SMALLER, [10, 10, 10, 10, 10], 3.9, False),
    ],
)
def test_a_goal_is_met_at_the_worse_quartile(
    better: str, theirs: list[float], goal: float, met: bool
) -> None:
    run = run_of({"ottla": [50, 20, 30, 40, 10], "kafka": theirs}, RATE, better)
    assert row_of(run, scenario(goals={RATE: goal})).meets_goals is met


def test_a_limit_is_about_the_first_peer_alone() -> None:
    run = run_of({"ottla": [30, 34, 40]}, BROKER_CPU, SMALLER)
    assert (
        row_of(run, scenario(limits={BROKER_CPU: 35.0})).meets_goals is False
    )  # upper quartile 37
    assert row_of(run, scenario(limits={BROKER_CPU: 37.0})).meets_goals is True


def test_goal_and_limit_both_count() -> None:
    run = run_of({"ottla": [30, 30], "kafka": [60, 60]}, BROKER_CPU, SMALLER)
    both = {"goals": {BROKER_CPU: 0.9}, "limits": {BROKER_CPU: 29.0}}
    assert row_of(run, scenario(**both)).meets_goals is False
    assert row_of(run, scenario(goals={BROKER_CPU: 0.9})).meets_goals is True


def test_a_value_that_is_good_enough_meets_a_goal_whatever_the_ratio_is() -> None:
    run = run_of({"ottla": [18, 19, 20], "kafka": [1, 1, 1]}, BROKER_CPU, SMALLER)
    goals = {"goals": {BROKER_CPU: 1.0}}
    assert row_of(run, scenario(**goals)).meets_goals is False
    assert row_of(run, scenario(**goals, enough={BROKER_CPU: 19.0})).meets_goals is False  # 19.5
    assert row_of(run, scenario(**goals, enough={BROKER_CPU: 20.0})).meets_goals is True
    run = run_of({"ottla": [30], "kafka": [40]}, BROKER_CPU, SMALLER)
    assert row_of(run, scenario(**goals, enough={BROKER_CPU: 20.0})).meets_goals is True


def test_without_a_second_peer_a_goal_is_neither_met_nor_missed() -> None:
    row = row_of(run_of({"ottla": [1.0]}), scenario(goals={RATE: 1.0}))
    assert (row.meets_goals, row.ratio, row.spread) == (None, None, None)


def test_a_goal_is_a_ratio_to_kafka_and_to_nobody_else() -> None:
    run = run_of({"ottla": [2.0], "ottla@../before": [1.0]})
    row = row_of(run, scenario(goals={RATE: 1.2}))
    assert (row.ratio, row.goal, row.meets_goals) == (2.0, None, None)


def test_what_failed_has_no_figures() -> None:
    run = run_of({"ottla": [1.0, 2.0]})
    run.records.append(RoundResult("ottla", 3, "one", [], "it broke"))
    assert row_of(run, scenario()).values == {"ottla": [1.0, 2.0]}


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = run_of({"ottla": [1.5], "kafka": [2.5]})
    run.machine = {"processor": "2 × some"}
    run.save(tmp_path / "run.json")
    assert BenchRun.load(tmp_path / "run.json") == run
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]

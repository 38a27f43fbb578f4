"""The report as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.report import rows
from bench.table import goal_of, markdown, number, terminal
from bench.turns import RoundResult
from tests.unit.bench.one_run import GOALS, ONE, run_of


def test_the_table_tells_values_ratio_goal_and_whether_it_is_met() -> None:
    run = run_of()
    told = terminal(run, rows(run, {"one": ONE})).splitlines()
    assert "date: today" in told
    assert "kafka: -Xmx1G" in told
    assert "one: a load; client, 8 connections, 1 partition" in told
    rate, cpu = (next(line for line in told if line.startswith(f"  {n}")) for n in GOALS)
    wanted = "rate, req/s 30,000 20,000 1.50 × 1.50–1.50 goal ≥ 1.2 ×: met"
    assert " ".join(rate.split()) == wanted
    assert cpu.endswith("goal ≤ 0.9 × and ≤ 35 µs: NOT MET")
    assert told[-1] == "1 of 2 goals are met"


def test_what_is_good_enough_is_told_beside_the_goal() -> None:
    run = run_of()
    (rate, *_) = rows(run, {"one": replace(ONE, enough={"rate": 9000.0})})
    assert goal_of(rate) == "≥ 1.2 × or ≥ 9000 req/s"


def test_what_failed_is_said() -> None:
    run = run_of()
    run.records.append(RoundResult("kafka", 2, "one", [], "RuntimeError: it broke"))
    wanted = "FAILED: one on kafka, round 2: RuntimeError: it broke"
    found = rows(run, {"one": ONE})
    assert wanted in terminal(run, found)
    assert wanted in markdown(run, found)


def test_what_did_not_become_steady_is_said() -> None:
    run = run_of()
    run.records[0].unsteady = 1
    assert "not steady after all windows: one on Ottla (1 of 1)" in terminal(run, [])


def test_markdown_has_what_has_a_goal() -> None:
    run = run_of()
    told = markdown(run, rows(run, {"one": ONE})).splitlines()
    assert told[2] == (
        "| a load (client, 8 connections, 1 partition) | rate | 30,000 req/s | 20,000 req/s "
        "| 1.50 (1.50–1.50) | ≥ 1.2 × | yes |"
    )
    assert told[3].startswith("|  | broker CPU | 31.2 µs | 33.0 µs |")
    assert not any("p50" in line for line in told)


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (123.4, "123"), (45.67, "45.7"), (0.01234, "0.0123")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text

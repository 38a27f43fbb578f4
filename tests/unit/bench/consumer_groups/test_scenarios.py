"""How often a change is repeated."""

from __future__ import annotations

import time

from bench.consumer_groups.scenarios import TURNS_MAX, TURNS_MIN, TurnNumbers


def test_as_often_as_there_is_time_but_some_times_at_least() -> None:
    done: list[float] = []
    for _ in TurnNumbers(done, time.monotonic() - 1, TURNS_MIN):
        done.append(0.0)
    assert len(done) == TURNS_MIN


def test_no_more_often_than_enough() -> None:
    done: list[float] = []
    for _ in TurnNumbers(done, time.monotonic() + 60, TURNS_MIN):
        done.append(0.0)
    assert len(done) == TURNS_MAX

"""The trace: a checksum over every line, the last of them, and what the cores log."""

from __future__ import annotations

import logging

from ground.sim_scheduler import SimScheduler
from simulation.sim_trace import (
    Failure,
    LogLines,
    Muted,
    Trace,
    Violation,
    origin,
)


def traced(*lines: str, keep: bool = False) -> Trace:
    trace = Trace(SimScheduler())
    trace.keep(keep)
    for line in lines:
        trace.add(line)
    return trace


def test_the_checksum_is_that_of_all_lines_in_their_order() -> None:
    assert traced("a", "b").checksum() == traced("a", "b").checksum()
    assert traced("a", "b").checksum() != traced("b", "a").checksum()


def test_lines_are_kept_where_somebody_wants_them() -> None:
    trace = traced("a", "b", keep=True)
    assert [line.split() for line in trace.take_kept()] == [["0.000", "a"], ["0.000", "b"]]
    trace.add("c")
    assert len(trace.take_kept()) == 1
    assert traced("a").take_kept() == []


def test_an_error_that_is_logged_is_kept_a_warning_is_a_line() -> None:
    trace, world = traced(), SimScheduler()
    world.run_as("broker-2")
    lines = LogLines(trace, world)
    logger = logging.Logger("ottla.test")
    logger.addHandler(lines)
    logger.warning("hm")
    try:
        raise KeyError("x")
    except KeyError:
        logger.exception("oh")
    assert [line.split(maxsplit=1)[1] for line in trace.last] == [
        "log broker-2 WARNING hm",
        "log broker-2 ERROR oh",
    ]
    (error,) = lines.errors
    assert error.startswith("broker-2 ottla.test: oh: KeyError('x') at ")


def test_a_failure_says_the_seed_why_and_how_to_replay() -> None:
    failure = Failure(17, "I1", "gone", ["one line"], 5, "seeds=[17]")
    assert str(failure) == "seed 17: gone\n  replay: seeds=[17]\n  one line"
    assert (failure.seed, failure.invariant, failure.reason) == (17, "I1", "gone")
    violation = Violation("I2", "twice")
    assert (violation.name, str(violation)) == ("I2", "I2: twice")


def test_an_origin_is_the_place_of_an_exception() -> None:
    try:
        int("x")
    except ValueError as error:
        assert "test_sim_trace.py" in origin(error)


def test_waits_of_two_runs_are_those_of_both_and_the_longest_of_them() -> None:
    assert Muted(1, 2, 3, 4, 50) + Muted(10, 20, 30, 40, 5) == Muted(11, 22, 33, 44, 50)

"""The longest turn between two looks at a histogram."""

from __future__ import annotations

import math

from bench.innocent.loop_turns import TurnDurations, beyond, longest, parsed, turns_of

NAME = "kafka_server_event_loop"


def text(*counts: int, lately: float | None = None) -> str:
    bounds = ("0.001", "0.01", "0.1", "+Inf")
    lines = [f"# TYPE {NAME}_turn_cpu_seconds histogram", 'other_bucket{le="1"} 7']
    told = zip(bounds, counts, strict=True)
    lines += [f'{NAME}_turn_cpu_seconds_bucket{{le="{bound}"}} {count}.0' for bound, count in told]
    lines.append(f"{NAME}_turn_cpu_seconds_sum 3.0")
    if lately is not None:
        lines.append(f"{NAME}_longest_turn_cpu_seconds {lately}")
    return "\n".join(lines)


def test_the_longest_is_the_least_bound_that_all_are_within() -> None:
    before = parsed(text(10, 11, 12, 12))
    assert list(before.counts) == [0.001, 0.01, 0.1, math.inf]
    assert longest(before, before) is None
    assert longest(before, parsed(text(20, 21, 22, 22))) == 0.001
    assert longest(before, parsed(text(20, 22, 23, 23))) == 0.01
    assert longest(TurnDurations(), before) == 0.1
    assert longest(before, parsed(text(20, 22, 23, 24))) == math.inf


def test_a_longest_one_lately_says_it_better() -> None:
    before = parsed(text(10, 11, 12, 12))
    assert longest(before, parsed(text(20, 21, 23, 24, lately=0.7))) == 0.7
    assert longest(before, parsed(text(20, 22, 23, 23, lately=0.7))) == 0.01  # it was before


def test_how_many_went_beyond_a_bound() -> None:
    before, after = parsed(text(10, 11, 12, 12)), parsed(text(20, 22, 25, 26))
    assert beyond(before, after) == 3
    assert beyond(before, after, 0.1) == 1
    assert beyond(before, after, 0.05) is None


def test_a_peer_without_metrics_has_no_turns() -> None:
    nothing = turns_of(None)
    assert longest(nothing, nothing) is None
    assert beyond(nothing, nothing) is None

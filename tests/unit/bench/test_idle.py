"""The arithmetic of comparing turns with their neighbours, and the limit of open files."""

from __future__ import annotations

import resource

import pytest

from bench.idle import allow_descriptors, in_turns, to_neighbours
from bench.scenario import WindowResult
from tests.unit.bench.counted_peer import CountedPeer


def test_a_turn_is_compared_with_the_mean_of_its_neighbours() -> None:
    # A machine that slows down evenly: the turn between costs what lies between.
    assert to_neighbours([1.0, 3.0], [2.0]) == 1.0
    assert to_neighbours([1.0, 1.0, 2.0], [1.5, 3.0]) == pytest.approx((1.5 + 2.0) / 2)


def test_turns_tell_what_is_idle_from_what_is_not() -> None:
    class Idle:
        """As long as it is there, each request costs half as much again."""

        def __enter__(self) -> None:
            peer.cost_s = 15e-6

        def __exit__(self, *_: object) -> None:
            peer.cost_s = 10e-6

    peer = CountedPeer(cost_s=10e-6)

    def load(seconds: float) -> WindowResult:
        return WindowResult(peer.serve(int(seconds * 1000)))

    figures = {one.name: one.value for one in in_turns(peer, load, Idle, 3.0)}
    assert figures["CPU without"] == pytest.approx(10)
    assert figures["CPU with"] == pytest.approx(15)
    assert figures["CPU with / without"] == pytest.approx(1.5)


def test_the_limit_of_open_files_is_raised_or_refused() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_descriptors(soft)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
    if hard != resource.RLIM_INFINITY:
        with pytest.raises(RuntimeError, match="ulimit -n"):
            allow_descriptors(hard + 1)

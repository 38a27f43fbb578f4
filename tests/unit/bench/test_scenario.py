"""A load is brought to a steady state before it counts."""

from __future__ import annotations

import pytest

from bench import scenario
from bench.scenario import WindowResult, latencies, steady
from tests.unit.bench.counted_peer import CountedPeer


def loads(peer: CountedPeer, *units: int):  # type: ignore[no-untyped-def]
    """A second's work each, by what it says itself."""
    left = iter(units)
    return lambda seconds: WindowResult(peer.serve(next(left)), [1e-3], 1.0)


def test_two_windows_that_agree_count_together() -> None:
    peer = CountedPeer(2e-6)
    measured = steady(peer, loads(peer, 100, 500, 1000, 1020), 1.0)
    assert (measured.units, measured.seconds, measured.windows) == (2020, 2.0, 4)
    assert measured.is_steady
    assert measured.rate == 1010
    assert measured.cpu_per_unit == pytest.approx(2e-6)
    assert len(measured.trips) == 2


def test_it_is_given_up_after_some_windows_and_said() -> None:
    peer = CountedPeer(1e-6)
    units = [100 * 2**number for number in range(scenario.WINDOWS_MAX)]
    measured = steady(peer, loads(peer, *units), 1.0)
    assert measured.units == sum(units[-2:])
    assert not measured.is_steady
    assert peer.unsteady == 1


def test_a_window_without_work_is_refused() -> None:
    peer = CountedPeer(1e-6)
    with pytest.raises(RuntimeError, match="did nothing"):
        steady(peer, loads(peer, 0), 1.0)


def test_latencies() -> None:
    told = latencies((number / 1e6 for number in range(1, 1001)), "µs")
    assert [(one.name, round(one.value)) for one in told] == [
        ("p50", 501),
        ("p99", 991),
        ("p99.9", 1000),
    ]
    assert [one.value for one in latencies([0.002], "ms")] == [2.0] * 3
    assert latencies([]) == []

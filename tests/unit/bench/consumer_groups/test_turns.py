"""What is told of a change, and in which form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.consumer_groups import turns
from bench.consumer_groups.turns import ChangeCost, Watch, table
from bench.innocent.loop_turns import TurnDurations
from tests.unit.bench.counted_peer import CountedPeer


def test_a_change_is_told_by_the_turns_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[str] = []
    looks: Iterator[TurnDurations] = iter(
        [
            TurnDurations({0.005: 7.0, 0.01: 9.0, 0.02: 9.0, 0.05: 9.0}, 0.009),
            TurnDurations({0.005: 8.0, 0.01: 11.0, 0.02: 13.0, 0.05: 13.0}, 0.017),
        ]
    )
    monkeypatch.setattr(turns, "turns_of", lambda port: (did.append("look"), next(looks))[1])
    watch = Watch(CountedPeer(0.0))
    watch.change("it", lambda: did.append("change"))
    assert did == ["look", "change", "look"]
    (change,) = watch.changes
    assert (change.what, change.longest_s, change.long_turns) == ("it", 0.017, 2)


def test_the_table_has_milliseconds_and_microseconds() -> None:
    changes = [ChangeCost("it", 0.0171, 2, 1.5), ChangeCost("by its bucket", 0.01, 0, 0.1)]
    lines = list(table(changes, {1: 50.04e-6, 1_000: 51e-6}))
    assert "| it | 17.1 | 2 | 1.50 |" in lines
    assert "| by its bucket | ≤ 10 | 0 | 0.10 |" in lines
    assert "| 1 | 50.0 |" in lines and "| 1,000 | 51.0 |" in lines

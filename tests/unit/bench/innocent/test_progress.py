"""What a load tells of itself."""

from __future__ import annotations

from bench.innocent.progress import LoadProgress


def test_what_was_before_ready_does_not_count_and_each_is_told_once() -> None:
    now, lines = [10.0], list[str]()
    told = LoadProgress(lambda: now[0], lines.append)
    told.did(5)
    assert (told.is_ready, told.seconds) == (False, 0.0)
    told.ready()
    now[0] = 12.5
    told.did(3)
    told.whole()
    told.whole()
    told.ready()
    assert (told.units, told.seconds) == (3, 2.5)
    assert lines == ["ready", "whole"]

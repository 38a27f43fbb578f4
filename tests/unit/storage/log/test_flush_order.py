"""Flushes count in the order in which they began."""

from __future__ import annotations

import itertools

from storage.log.flush_order import FlushOrder


def test_whatever_ends_first_they_count_in_order() -> None:
    counted: list[tuple[int, Exception | None]] = []
    for order in itertools.permutations(range(4)):
        flushes = FlushOrder()
        counted.clear()
        ends = [
            flushes.begin(lambda error, n=n: counted.append((n, error)))  # type: ignore[misc]
            for n in range(4)
        ]
        ended: list[int] = []
        for number in order:
            ends[number](None)
            ended.append(number)
            ready = 0
            while ready in ended:
                ready += 1
            assert counted == [(n, None) for n in range(ready)]
            assert len(flushes) == 4 - ready


def test_an_error_counts_for_all_that_began_after_it() -> None:
    flushes = FlushOrder()
    counted: list[Exception | None] = []
    ends = [flushes.begin(counted.append) for _ in range(3)]
    failure = OSError("disk")
    ends[2](None)
    ends[1](failure)
    ends[0](None)
    assert counted == [None, failure, failure]

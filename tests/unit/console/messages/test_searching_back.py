"""A search backwards tells the newest finds first, in all partitions, and where it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pytest

from client.place_offsets import Span
from client.records.reading import Batch
from console.messages import searching_back
from console.messages.matching import matcher_of
from console.messages.paging import parse_cursor
from console.messages.record_matching import RecordMatcher
from console.messages.searching_back import WINDOW_BYTES, BackwardSearch
from console.messages.shown import record_shown
from protocol.record_batch import read_header
from protocol.records import RecordBatchBuilder
from tests.unit.console.one_console import plain_events

BATCH = 3
FIRST = 4
MATCHER = RecordMatcher(matcher_of("x"))
Logs = Mapping[int, Sequence[tuple[int, bytes]]]
"""Of each partition the times and values of its records, from offset 0 on."""


class Reading:
    """Batches of three records out of logs; keeps which windows were read."""

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.windows: list[dict[int, Span]] = []

    def __call__(self, windows: Mapping[int, Span]) -> Iterator[Batch]:
        self.windows.append(dict(windows))
        for partition, window in windows.items():
            for base in range(window.first // BATCH * BATCH, window.last, BATCH):
                builder = RecordBatchBuilder(base_offset=base)
                for time_ms, value in self.logs[partition][base : base + BATCH]:
                    builder.append(None, value, time_ms)
                data = bytes(builder.build())
                header = read_header(data)
                first = max(base, window.first)
                yield Batch("t", partition, header, memoryview(data), 0, first, window.last)


def log(times: Sequence[int], every: int = 1) -> list[tuple[int, bytes]]:
    """A record a time; each `every`th has `x` in it."""
    return [(time, b"x" if at % every == 0 else b"-") for at, time in enumerate(times)]


def search(
    logs: Logs, most: int = 200, step_s: float = 0.0, spans: Mapping[int, Span] | None = None
) -> tuple[list[Any], Reading]:
    moments = count()
    reading = Reading(logs)
    whole = {one: Span(0, len(records)) for one, records in logs.items()}
    searching = BackwardSearch(
        spans or whole, MATCHER, record_shown, lambda: next(moments) * step_s, most, FIRST
    )
    return list(plain_events(searching.events(reading))), reading


def finds(events: list[Any]) -> list[tuple[int, int]]:
    return [(one["partition"], one["offset"]) for one in shown(events)]


def shown(events: list[Any]) -> list[Any]:
    return [one for event in events for one in event.get("finds", ())]


def test_one_partition_from_its_end() -> None:
    events, reading = search({0: log(range(100), every=5)})
    assert [offset for _, offset in finds(events)] == list(range(95, -1, -5))
    windows = [one[0] for one in reading.windows]
    assert windows == [Span(96, 100), Span(80, 96), Span(16, 80), Span(0, 16)]
    assert (events[0]["scanned"], events[0]["total"]) == (0, 100)
    last = events[-1]
    assert (last["scanned"], last["found"], last["ended"]) == (100, 20, "end")
    assert last["bytes"] > 0


def test_the_newest_finds_are_told_before_the_rest_is_read() -> None:
    reading = Reading({0: log(range(1000))})
    searching = BackwardSearch({0: Span(0, 1000)}, MATCHER, record_shown, lambda: 0.0, 200, FIRST)
    events = plain_events(searching.events(reading))
    next(events)
    assert finds([next(events)]) == [(0, 999), (0, 998)]  # of their batch the rest was not read
    assert len(reading.windows) == 1


@pytest.mark.parametrize(
    "times",
    [
        {0: range(0, 300, 3), 1: range(1, 300, 3), 2: range(2, 300, 3)},
        {0: range(1000), 1: [5, 500, 999], 2: []},
        {0: range(100), 1: range(100, 200)},
        {0: [7] * 50, 1: [7] * 50},
    ],
)
def test_partitions_are_merged_by_time(times: Mapping[int, Sequence[int]]) -> None:
    events, _ = search({one: log(each) for one, each in times.items()}, most=5000)
    found = [one["timestamp"] for one in shown(events)]
    assert found == sorted(found, reverse=True)
    assert len(found) == sum(len(each) for each in times.values())
    assert events[-1]["scanned"] == events[-1]["total"] == len(found)


@pytest.mark.parametrize("most", [1, 2, 7, 50])
def test_who_looks_on_misses_nothing_and_sees_nothing_twice(most: int) -> None:
    logs = {0: log(range(0, 300, 2)), 1: log(range(1, 100, 2), every=3), 2: log([1, 250])}
    spans = {one: Span(0, len(records)) for one, records in logs.items()}
    told: list[tuple[int, int]] = []
    times: list[int] = []
    while True:
        events, _ = search(logs, most, spans=spans)
        told += finds(events)
        times += [one["timestamp"] for one in shown(events)]
        if events[-1]["ended"] == "end":
            break
        assert len(finds(events)) == most
        cursor = parse_cursor(events[-1]["cursor"])
        spans = {one: Span(span.first, cursor[one]) for one, span in spans.items()}
    every = {
        (one, at)
        for one, records in logs.items()
        for at, (_, value) in enumerate(records)
        if value == b"x"
    }
    assert len(told) == len(every) and set(told) == every
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(("most", "ended"), [(59, "full"), (60, "end"), (61, "end")])
def test_a_search_is_full_only_if_there_is_one_more_match(most: int, ended: str) -> None:
    events, _ = search({0: log(range(100), every=2), 1: log(range(40), every=4)}, most)
    assert len(finds(events)) == min(most, 60)
    assert events[-1]["ended"] == ended
    assert ("cursor" in events[-1]) == (ended == "full")


def test_times_that_go_back_lose_nothing() -> None:
    logs = {0: log([9, 1, 8, 2, 7, 3, 6, 4] * 9), 1: log([5, 5, 1, 9] * 9)}
    spans = {one: Span(0, len(records)) for one, records in logs.items()}
    told: list[tuple[int, int]] = []
    while True:
        events, _ = search(logs, 10, spans=spans)
        told += finds(events)
        if events[-1]["ended"] == "end":
            break
        cursor = parse_cursor(events[-1]["cursor"])
        spans = {one: Span(span.first, cursor[one]) for one, span in spans.items()}
    assert sorted(told) == [(one, at) for one in (0, 1) for at in range(len(logs[one]))]


def test_progress_is_told_as_time_passes() -> None:
    events, _ = search({0: [(at, b"-") for at in range(50)]}, step_s=1.0)
    scanned = [one["scanned"] for one in events]
    assert scanned == sorted(scanned) and len(set(scanned)) > 10
    assert events[-1]["seconds"] > 0


def test_so_many_partitions_are_read_at_once_and_so_many_finds_are_held() -> None:
    logs = {one: log(range(one, 40 + one)) for one in range(40)}
    events, reading = search(logs, most=30)
    assert max(len(one) for one in reading.windows) == searching_back.LANES_AT_ONCE
    assert len(finds(events)) == 30
    assert events[-1]["ended"] == "full"
    assert finds(events)[0] == (39, 39)


def test_large_records_make_narrow_windows() -> None:
    big = b"-" * (WINDOW_BYTES // 3)
    _, reading = search({0: [(at, big) for at in range(9)]})
    widths = [one[0].last - one[0].first for one in reading.windows]
    assert widths[0] == FIRST and max(widths[1:]) < FIRST

"""A search tells what it finds at once, how far it is, and where it goes on when it has enough."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from client.place_offsets import Span
from client.records.reading import Batch
from console.messages.matching import matcher_of
from console.messages.record_matching import RecordMatcher
from console.messages.searching import Search
from console.messages.shown import record_shown
from tests.unit.client.records.batches import batch_of, packed
from tests.unit.console.one_console import plain_events


def search(text: str, step_s: float = 0.0, most: int = 200, last: int = 6) -> Search:
    moments = count()
    matcher = RecordMatcher(matcher_of(text))
    return Search({0: Span(0, last)}, matcher, record_shown, lambda: next(moments) * step_s, most)


def batches(last: int = 1 << 40) -> Iterator[Batch]:
    for base in (0, 3):
        values = [f"value {base + one}".encode() for one in range(3)]
        yield batch_of(packed(values, base, codec=1), 0, last)


def offsets(events: list[Any]) -> list[int]:
    return [one["offset"] for event in events for one in event.get("finds", ())]


def test_finds_and_the_end() -> None:
    events = list(plain_events(search("value 4").events(batches())))
    assert offsets(events) == [4]
    assert events[0] == {"scanned": 0, "total": 6, "bytes": 0, "found": 0, "seconds": 0.0}
    last = events[-1]
    assert (last["scanned"], last["found"], last["ended"]) == (6, 1, "end")
    assert last["bytes"] > 0


def test_the_first_find_is_told_before_the_next_batch_is_read() -> None:
    events = plain_events(search("value 1").events(batches()))
    next(events)
    assert offsets([next(events)]) == [1]


def test_progress_is_told_as_time_passes() -> None:
    events = list(plain_events(search("nothing", step_s=1.0).events(batches())))
    assert [one["scanned"] for one in events] == [0, 3, 6, 6]
    assert events[1]["seconds"] > 0
    assert len(list(plain_events(search("nothing").events(batches())))) == 2


def test_enough_is_enough_and_where_to_go_on() -> None:
    events = list(plain_events(search("value", most=2).events(batches())))
    assert offsets(events) == [0, 1]
    assert events[-1]["ended"] == "full"
    assert events[-1]["cursor"] == "0:2"


@pytest.mark.parametrize(("most", "ended"), [(5, "full"), (6, "end")])
def test_a_search_is_full_only_if_there_is_one_more_match(most: int, ended: str) -> None:
    events = list(plain_events(search("value", most=most).events(batches())))
    assert len(offsets(events)) == most
    assert events[-1]["ended"] == ended


def test_records_beyond_what_is_asked_for_are_left_out() -> None:
    events = list(plain_events(search("value", last=4).events(batches(4))))
    assert offsets(events) == [0, 1, 2, 3]
    assert events[-1]["scanned"] == 4

"""A tail gives new records, a limited number at a time, and none twice after a lost leader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from broker.config.start_error import StartError
from client.refusals import Leaderless, Refused
from console.messages.paging import Found, Windows, parse_cursor
from console.messages.tailing import RETRY_EVERY_S, Tail, TailEvent, follow
from tests.unit.console.one_console import plain


def without_cursor(event: TailEvent | None) -> Any:
    """Return an event as the page gets it, but for its cursor."""
    found = plain(event)
    if found is not None:
        found.pop("cursor", None)
    return found


class Topic:
    """A topic whose partitions grow; `errors` are raised instead of the next answers."""

    def __init__(self, ends: dict[int, int]) -> None:
        self.now = ends
        self.windows: list[dict[int, tuple[int, int]]] = []
        self.errors: list[Exception] = []

    def ends(self) -> dict[int, int]:
        return dict(self.now)

    def read(self, windows: Windows) -> list[Found]:
        if self.errors:
            raise self.errors.pop(0)
        self.windows.append({one: tuple(span) for one, span in windows.items()})  # type: ignore[misc]
        return [
            Found(one, offset, 100 - offset, 1, {"at": [one, offset]})  # type: ignore[arg-type]
            for one, span in windows.items()
            for offset in range(span.first, span.last)
        ]

    def look(self, tail: Tail) -> Any:
        return without_cursor(tail.look(self.ends, self.read))


def begun(topic: Topic, *limits: int) -> Tail:
    tail = Tail(*limits)
    tail.begin(topic.ends, topic.now)
    return tail


def test_the_records_since_the_last_look_by_time() -> None:
    topic = Topic({0: 5, 1: 7})
    tail = begun(topic)
    assert topic.look(tail) is None
    topic.now = {0: 7, 1: 7}
    assert topic.look(tail) == {"records": [{"at": [0, 6]}, {"at": [0, 5]}], "dropped": 0}
    assert topic.windows == [{0: (5, 7)}]
    assert topic.look(tail) is None


def test_a_flood_is_cut_at_its_newest_records() -> None:
    topic = Topic({0: 0, 1: 0, 2: 0})
    tail = begun(topic, 10)
    topic.now = {0: 1000, 1: 2, 2: 500}
    event = topic.look(tail)
    assert topic.windows == [{1: (0, 2), 2: (496, 500), 0: (996, 1000)}]
    assert event["dropped"] == 1492
    assert len(event["records"]) == 10


def test_more_offsets_may_be_read_than_records_are_given() -> None:
    topic = Topic({0: 0})
    tail = begun(topic, 100, 3)
    topic.now = {0: 50}
    event = topic.look(tail)
    assert topic.windows == [{0: (0, 50)}]
    assert ([one["at"][1] for one in event["records"]], event["dropped"]) == ([2, 1, 0], 47)


def test_a_new_partition_is_read_from_its_start_and_a_topic_made_anew_from_its_end() -> None:
    topic = Topic({0: 50})
    tail = begun(topic)
    topic.now = {0: 3, 1: 1}
    assert topic.look(tail) == {"records": [{"at": [1, 0]}], "dropped": 0}
    topic.now = {0: 4, 1: 1}
    assert topic.look(tail) == {"records": [{"at": [0, 3]}], "dropped": 0}


def test_after_an_election_no_record_is_lost_and_none_comes_twice() -> None:
    topic = Topic({0: 5})
    tail = Tail()
    pauses: list[float] = []

    def looks() -> Iterator[TailEvent | None]:
        tail.begin(topic.ends, topic.now)
        yield tail.first_look(topic.ends, topic.read)
        while True:
            topic.now = {0: topic.now[0] + 1}
            yield tail.look(topic.ends, topic.read)

    events = follow(looks, pauses.append)
    assert without_cursor(next(events)) == {"records": [], "dropped": 0}
    assert without_cursor(next(events)) == {"records": [{"at": [0, 5]}], "dropped": 0}
    topic.errors = [StartError("broker 1 is gone"), Leaderless("no leader for t-0")]
    assert without_cursor(next(events)) == {
        "records": [],
        "dropped": 0,
        "waiting": "broker 1 is gone",
    }
    assert without_cursor(next(events)) == {
        "records": [],
        "dropped": 0,
        "waiting": "no leader for t-0",
    }
    assert without_cursor(next(events)) == {"records": [{"at": [0, 6]}], "dropped": 0}
    assert without_cursor(next(events)) == {"records": [{"at": [0, 7]}], "dropped": 0}
    assert pauses == [RETRY_EVERY_S] * 2


def test_a_rejected_request_ends_the_tail() -> None:
    def looks() -> Iterator[TailEvent | None]:
        raise Refused("no topic t")
        yield

    with pytest.raises(Refused, match="no topic t"):
        next(follow(looks, lambda _: None))


def test_a_tail_goes_on_from_a_cursor_and_counts_what_was_written_meanwhile() -> None:
    topic = Topic({0: 5, 1: 7})
    before = begun(topic)
    first = plain(before.first_look(topic.ends, topic.read))
    assert first == {"records": [], "dropped": 0, "cursor": "0:5,1:7"}
    topic.now = {0: 6, 1: 3007}
    after = Tail(10, cursor=parse_cursor(first["cursor"]))
    after.begin(topic.ends, topic.now)
    event = plain(after.first_look(topic.ends, topic.read))
    assert (event["resumed"], event["dropped"], event["cursor"]) == (3001, 2991, "0:6,1:3007")
    assert [0, 5] in [one["at"] for one in event["records"]]
    assert "resumed" not in plain(after.first_look(topic.ends, topic.read))


def test_a_partition_without_a_leader_begins_at_its_end_once_it_has_one() -> None:
    topic = Topic({0: 5})
    tail = Tail()
    tail.begin(topic.ends, [0, 1])
    assert tail.cursor == "0:5,1:-1"
    for each in (tail, Tail(cursor=parse_cursor(tail.cursor))):
        topic.now = {0: 5, 1: 900}
        assert topic.look(each) is None
        topic.now = {0: 5, 1: 901}
        assert topic.look(each) == {"records": [{"at": [1, 900]}], "dropped": 0}

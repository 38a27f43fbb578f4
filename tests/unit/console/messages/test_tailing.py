"""A tail gives what came, and so many records at most with the number of the others."""

from __future__ import annotations

from console.messages.paging import Found, Windows
from console.messages.tailing import Tail
from tests.unit.console.one_console import plain


class Topic:
    """Whose partitions grow."""

    def __init__(self, ends: dict[int, int]) -> None:
        self.now = ends
        self.windows: list[dict[int, tuple[int, int]]] = []

    def ends(self) -> dict[int, int]:
        return dict(self.now)

    def read(self, windows: Windows) -> list[Found]:
        self.windows.append({one: tuple(span) for one, span in windows.items()})  # type: ignore[misc]
        return [
            Found(one, offset, 100 - offset, 1, {"at": [one, offset]})
            for one, span in windows.items()
            for offset in range(span.first, span.last)
        ]


def test_what_came_since_the_last_look_by_time() -> None:
    topic = Topic({0: 5, 1: 7})
    tail = Tail(topic.ends, topic.read)
    assert plain(tail.look()) is None
    topic.now = {0: 7, 1: 7}
    assert plain(tail.look()) == {"records": [{"at": [0, 6]}, {"at": [0, 5]}], "dropped": 0}
    assert topic.windows == [{0: (5, 7)}]
    assert plain(tail.look()) is None


def test_a_flood_is_cut_at_its_newest_records() -> None:
    topic = Topic({0: 0, 1: 0, 2: 0})
    tail = Tail(topic.ends, topic.read, most=10)
    topic.now = {0: 1000, 1: 2, 2: 500}
    event = plain(tail.look())
    assert event is not None
    assert topic.windows == [{1: (0, 2), 2: (496, 500), 0: (996, 1000)}]
    assert event["dropped"] == 1492
    assert len(event["records"]) == 10


def test_a_new_partition_is_read_from_its_start_and_a_topic_made_anew_from_its_end() -> None:
    topic = Topic({0: 50})
    tail = Tail(topic.ends, topic.read)
    topic.now = {0: 3, 1: 1}
    assert plain(tail.look()) == {"records": [{"at": [1, 0]}], "dropped": 0}
    topic.now = {0: 4, 1: 1}
    assert plain(tail.look()) == {"records": [{"at": [0, 3]}], "dropped": 0}

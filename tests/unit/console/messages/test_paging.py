"""Pages hold the newest or the oldest records, in order, each once, whatever lies between them."""

from __future__ import annotations

import random

import pytest

from client.place_offsets import Span
from console.messages.paging import Found, Page, Windows, cursor_text, page_of, parse_cursor


class Log:
    """Partitions of records at offsets with gaps."""

    def __init__(self, offsets: dict[int, dict[int, int]], size: int = 10) -> None:
        """By partition and offset the time of a record."""
        self.offsets = offsets
        self.size = size
        self.read_offsets = 0
        self.rounds = 0

    def read(self, windows: Windows) -> list[Found]:
        self.rounds += 1
        found = []
        for partition, span in windows.items():
            self.read_offsets += span.last - span.first
            found += [
                Found(partition, offset, at, self.size, {"at": (partition, offset)})
                for offset, at in self.offsets[partition].items()
                if span.first <= offset < span.last
            ]
        return found


def places(page: Page) -> list[tuple[int, int]]:
    return [one["at"] for one in page.records]


def test_the_newest_first_of_several_partitions() -> None:
    log = Log({0: {0: 10, 1: 40}, 1: {0: 20, 1: 30, 2: 50}})
    page = page_of(log.read, {0: Span(0, 2), 1: Span(0, 3)}, 3, newest=True)
    assert places(page) == [(1, 2), (0, 1), (1, 1)]
    assert not page.is_last
    assert page.cursor == {0: 1, 1: 1}
    rest = page_of(log.read, {0: Span(0, 1), 1: Span(0, 1)}, 3, newest=True)
    assert places(rest) == [(1, 0), (0, 0)]
    assert rest.is_last


def test_the_oldest_first() -> None:
    log = Log({0: {0: 10, 1: 40}, 1: {0: 20, 1: 30, 2: 50}})
    page = page_of(log.read, {0: Span(0, 2), 1: Span(0, 3)}, 3, newest=False)
    assert places(page) == [(0, 0), (1, 0), (1, 1)]
    assert page.cursor == {0: 1, 1: 2}


@pytest.mark.parametrize("newest", [True, False])
def test_page_by_page_all_records_come_once_and_in_order(newest: bool) -> None:
    chosen = random.Random(7)
    offsets = {
        partition: {
            offset: 1000 + offset * 3 + chosen.randrange(20)
            for offset in range(400)
            if chosen.random() < share
        }
        for partition, share in enumerate((1.0, 0.3, 0.01, 0.0))
    }
    log = Log(offsets)
    held = {partition: Span(0, 400) for partition in offsets}
    seen: list[tuple[int, int]] = []
    while True:
        page = page_of(log.read, held, 50, newest=newest)
        seen += places(page)
        if page.is_last:
            break
        assert len(page.records) == 50
        held = {
            one: Span(span.first, page.cursor[one]) if newest else Span(page.cursor[one], span.last)
            for one, span in held.items()
        }
    assert sorted(seen) == sorted((one, at) for one, found in offsets.items() for at in found)
    for partition in offsets:
        own = [offset for one, offset in seen if one == partition]
        assert own == sorted(own, reverse=newest)


def test_few_offsets_are_read_of_a_long_topic() -> None:
    log = Log({one: {at: at for at in range(10_000)} for one in range(6)})
    page = page_of(log.read, {one: Span(0, 10_000) for one in range(6)}, 50, newest=True)
    assert len(page.records) == 50
    assert log.read_offsets <= 6 * 72
    assert log.rounds <= 3


def test_large_records_end_a_page_before_it_is_full() -> None:
    log = Log({0: {at: at for at in range(1000)}}, size=1_000_000)
    page = page_of(log.read, {0: Span(0, 1000)}, 50, newest=True, bytes_max=10_000_000)
    assert page.is_partial
    assert 8 <= len(page.records) <= 16
    assert page.records[0]["at"] == (0, 999)
    assert page.cursor == {0: 1000 - len(page.records)}


def test_a_topic_without_records() -> None:
    assert page_of(Log({0: {}}).read, {0: Span(5, 5)}, 50, newest=True) == Page(
        [], {0: 5}, True, False
    )
    assert page_of(Log({}).read, {}, 50, newest=True).is_last


def test_cursors_as_text() -> None:
    assert cursor_text({1: 4, 0: 17}) == "0:17,1:4"
    assert parse_cursor("0:17,1:4") == {0: 17, 1: 4}
    assert parse_cursor("") == {}
    with pytest.raises(ValueError, match="invalid literal"):
        parse_cursor("x")

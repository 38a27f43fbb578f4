"""Which partitions and offsets a request means, and what is wrong with one, in a line."""

from __future__ import annotations

from typing import Any

import pytest

from client.place_offsets import Span
from console.endpoints import BadAsk
from console.messages import asking
from console.messages.asking import Part, ends_of, left_out, level_of, matcher_asked, part_of
from protocol.messages.list_offsets import ListOffsetsResponse
from protocol.records import Record
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.console.one_console import ask


def cluster() -> ScriptedCluster:
    """Partitions 0 and 1 hold 3 to 10 and 4 to 11; 7 is the first of any time."""

    def answer(request: Any) -> ListOffsetsResponse:
        found = offsets_of(request)
        for topic, wanted in zip(found.topics, request.topics, strict=True):
            for one, how in zip(topic.partitions, wanted.partitions, strict=True):
                if how.timestamp > 0:
                    one.offset = 7
        return found

    return ScriptedCluster([topic_of("t", [1, 2])], {"ListOffsetsRequest": answer})


def part(newest: bool = False, **values: str) -> Part:
    return part_of(cluster(), ask(topic="t", **values), 1_000_000, newest=newest)


def test_all_of_it() -> None:
    both = {0: Span(3, 10), 1: Span(4, 11)}
    assert part().held == both
    assert part().meant == both
    assert part(newest=True).meant == both


@pytest.mark.parametrize(
    ("values", "newest", "meant"),
    [
        ({"from": "8"}, False, Span(8, 10)),
        ({"from": "8"}, True, Span(3, 8)),
        ({"from": "99"}, False, Span(10, 10)),
        ({"from": "-2"}, False, Span(8, 10)),
        ({"from": "@5m"}, False, Span(7, 10)),
        ({"from": "@5m"}, True, Span(3, 7)),
        ({"from": "5", "to": "8"}, False, Span(5, 8)),
        ({"from": "8", "to": "5"}, False, Span(8, 8)),
        ({"cursor": "0:6"}, False, Span(6, 10)),
        ({"cursor": "0:6"}, True, Span(3, 6)),
        ({"cursor": "0:1"}, True, Span(3, 3)),
    ],
)
def test_places(values: dict[str, str], newest: bool, meant: Span) -> None:
    assert part(newest=newest, partition="0", **values).meant == {0: meant}


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({}, Span(3, 10)),
        ({"cursor": "0:6"}, Span(3, 6)),
        ({"cursor": "0:99"}, Span(3, 10)),
        ({"from": "5", "cursor": "0:7"}, Span(5, 7)),
        ({"from": "5", "to": "8", "cursor": "0:9"}, Span(5, 8)),
        ({"from": "5", "cursor": "0:1"}, Span(5, 5)),
    ],
)
def test_a_cursor_of_a_search_backwards_is_its_end(values: dict[str, str], meant: Span) -> None:
    asked = ask(topic="t", partition="0", **values)
    assert part_of(cluster(), asked, 1_000_000, newest=False, backwards=True).meant == {0: meant}


def test_partitions_and_ends() -> None:
    assert list(part(partition="1").meant) == [1]
    assert list(part(partition="1, 0-1").meant) == [1, 0]
    assert ends_of(cluster(), part().topics, ask(topic="t")) == {0: 10, 1: 11}
    assert ends_of(cluster(), part().topics, ask(topic="t", partition="1,1")) == {1: 11}


def test_of_very_many_partitions_the_first_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PARTITIONS_MAX", 1)
    assert list(part().meant) == [0]
    assert left_out(ask(topic="t"), part().topics) == 1
    with pytest.raises(BadAsk, match="choose at most 1 partitions"):
        part(partition="1,0")
    assert left_out(ask(topic="t", partition="1"), part().topics) == 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"partition": "2"}, "has no partition 2, only 0 to 1"),
        ({"partition": "x"}, "partition x: write partition numbers"),
        ({"partition": "0-"}, "partition 0-: write partition numbers"),
        ({"partition": "0-9999999999"}, "has no partition 9999999999"),
        ({"from": "yesterday"}, "from yesterday: give start, end"),
        ({"to": "@never"}, "to @never: a time is"),
        ({"cursor": "0"}, "cursor 0 is not valid"),
    ],
)
def test_what_is_wrong(values: dict[str, str], reason: str) -> None:
    with pytest.raises(BadAsk, match=reason):
        part(**values)


def test_the_search_text_and_the_filter() -> None:
    matcher = matcher_asked(ask(q="a"), None)
    assert matcher is not None and matcher.text is not None
    assert matcher.text.parts == ("key", "value", "headers") and matcher.condition is None
    both = matcher_asked(ask(q="a", parts="key", filter="partition == 1"), None)
    assert both is not None
    assert both.finds(1, Record(0, 0, b"an", None))
    assert not both.finds(2, Record(0, 0, b"an", None))
    assert not both.finds(1, Record(0, 0, b"no", b"an"))
    assert matcher_asked(ask(q="", filter=" "), None) is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"q": "a", "parts": "topic"}, "parts must be some of key, value, headers"),
        ({"q": "(", "regex": "1"}, "not a regular expression"),
        ({"filter": "value.a = 1"}, "filter, character 9: write == to compare"),
    ],
)
def test_a_search_that_cannot_be(values: dict[str, str], reason: str) -> None:
    with pytest.raises(BadAsk, match=reason):
        matcher_asked(ask(**values), None)


def test_who_sees_transactions_that_are_open() -> None:
    assert level_of(ask()) == 1
    assert level_of(ask(uncommitted="1")) == 0

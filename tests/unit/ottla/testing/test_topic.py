"""A topic of a test: what it asks, and what it says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.testing import topic as module
from ottla.testing.frames import Json
from ottla.testing.topic import NotAsExpected, Topic, some
from tests.unit.ottla.testing.scripted_calls import Log, ScriptedCalls


def described(**ends: int) -> Json:
    return {name: {"0": {"leader": 4, "start": 0, "end": end}} for name, end in ends.items()}


def topic_of(log: Log, **topics: int) -> Topic:
    asked = ScriptedCalls(records__consume=log.consume, topic__describe=described(**topics))
    return Topic(asked, "orders-1", "orders")


def test_it_is_consumed_from_where_it_was() -> None:
    topic = topic_of(Log(b"a", b"b", b"c"))
    assert [one.value for one in topic.consume(2)] == [b"a", b"b"]
    assert [one.value for one in topic.consume()] == [b"c"]
    assert topic.consume() == []
    assert len(topic.records()) == 3
    assert topic.consume() == []
    topic.rewind()
    assert len(topic.consume()) == 3


def test_more_than_one_answer_holds_comes_in_several() -> None:
    log = Log(*(b"%d" % one for one in range(7)), most=3)
    topic = topic_of(log)
    assert [one.offset for one in topic.consume(5)] == [0, 1, 2, 3, 4]
    assert [one.offset for one in topic.consume()] == [5, 6]
    assert [one.offset for one in topic.records()] == list(range(7))


def test_a_message_says_what_came_instead() -> None:
    few = topic_of(Log(*(b"%d" % one for one in range(12))))
    with pytest.raises(NotAsExpected) as told:
        few.consume(20, timeout=0.1)
    lines = str(told.value).splitlines()
    assert lines[0] == "20 records of orders expected within 0.1 s: 12 came"
    assert lines[1] == "  orders-1-0@0 key=b'k' value=b'0' headers={'h': b'1'}"
    assert lines[-1] == "  … and 2 more"
    nothing = topic_of(Log(), **{"orders-1": 3, "other": 2, "empty": 0})
    with pytest.raises(AssertionError) as told_too:
        nothing.consume(1, timeout=0.1)
    assert str(told_too.value) == (
        "1 record of orders expected within 0.1 s: none came; 3 were there before; "
        "topics with records: other (2)"
    )


def test_what_is_seeded_comes_back_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def seed(args: Mapping[str, Json]) -> Json:
        return [[1, number, 17] for number, _ in enumerate(args["records"])]

    asked = ScriptedCalls(records__seed=seed)
    topic = Topic(asked, "orders")
    first, second = topic.seed([("k", {"id": 1}), b"raw"], compression="gzip")
    assert (first.partition, first.offset, first.timestamp) == (1, 0, 17)
    assert (first.key, first.json(), second.value) == (b"k", {"id": 1}, b"raw")
    assert asked.calls[0][1]["compression"] == "gzip"
    monkeypatch.setattr(module, "_SEED_BYTES", 200)
    topic.seed([bytes(100)] * 3)
    assert [len(args["records"]) for args in asked.asked("records.seed")] == [2, 1, 1, 1]


def test_a_message_names_some_of_many() -> None:
    assert (some([]), some("ab")) == ("none", "a, b")
    assert some(str(one) for one in range(22)).endswith("18, 19 … and 2 more")


def test_a_partition_that_is_not_there_is_said_to_be() -> None:
    topic = Topic(ScriptedCalls(topic__describe=described(orders=3)), "orders")
    assert (str(topic), repr(topic)) == ("orders", "Topic('orders')")
    with pytest.raises(NotAsExpected, match="orders has no partition 7: it has 1"):
        topic.leader(7)
    with pytest.raises(NotAsExpected, match=r"there is no topic bills \(there are: orders\)"):
        Topic(ScriptedCalls(topic__describe=described(orders=3)), "bills").leader()

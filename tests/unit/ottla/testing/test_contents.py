"""What is in a broker under test: what is asked by which name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.testing.contents import Contents
from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.topic import NotAsExpected
from tests.unit.ottla.testing.asked import PRODUCE, Asked, Log, group, partition


class Something(Contents):
    def __init__(self, asked: Asked) -> None:
        self.asked = asked

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        return self.asked(op, args, timeout_s=timeout_s)


def test_topics_have_names_of_their_own() -> None:
    asked = Asked(topic__create=None, topic__delete=None, reset={"topics": []})
    one, other = Something(asked), Something(asked)
    orders = one.topic("orders", 3, replication=2, configs={"retention.ms": "1"})
    assert orders.name.startswith("orders-") and orders.label == "orders"
    assert one.topic("orders") is orders
    assert other.topic("orders").name != orders.name
    with pytest.raises(Misuse, match="has a topic orders already, which is orders-"):
        one.topic("orders", exact=True)
    assert one.topic("paid", exact=True) is one.topic("paid", exact=True)
    first = asked.asked("topic.create")[0]
    assert (first["name"], first["partitions"], first["replication"]) == (orders.name, 3, 2)
    assert first["configs"] == {"retention.ms": "1"}
    one.topic("paid").delete()
    assert one.topic("paid", exact=True).is_deleted is False
    asked.calls.clear()
    one.drop_topics()
    assert asked.asked("topic.delete") == [{"names": [orders.name, "paid"]}]
    one.drop_topics()
    assert len(asked.asked("topic.delete")) == 1
    again = other.topic("orders")
    assert other.reset() == {"topics": []}
    assert other.topic("orders") is not again


def test_topics_are_named_as_the_test_does_or_by_their_real_name() -> None:
    log = Log(b"v")
    asked = Asked(
        topic__create=None,
        records__consume=log.consume,
        topic__describe={"b": {}, "a": {}},
        requests=[PRODUCE],
    )
    one = Something(asked)
    orders = one.topic("orders")
    for topic, name in ((orders, orders.name), ("orders", orders.name), ("paid", "paid")):
        assert len(one.assert_produced(topic, value="v")) == 1
        assert asked.calls[-1][1]["topic"] == name
    with pytest.raises(NotAsExpected, match="key='x' expected in orders"):
        one.assert_produced("orders", key="x", timeout=0)
    (request,) = one.requests("Produce", topic="orders", client_id="app", after=3)
    assert request.number == 1
    assert asked.calls[-1][1] == {
        "api": "Produce",
        "topic": orders.name,
        "client_id": "app",
        "after": 3,
    }
    assert one.topics() == ["a", "b"]
    with pytest.raises(Misuse, match="'' names no topic"):
        one.assert_produced("")


def test_groups_are_asked_by_name() -> None:
    asked = Asked(
        group__progress=group(partition(0, 1, 1, 0)),
        group__describe=group(),
        group__rebalance=None,
        group__delete=None,
    )
    one = Something(asked)
    one.assert_committed("app", "orders")
    one.assert_committed("app", "orders", offsets={0: 1})
    one.wait_idle("app", topics=["paid"])
    assert asked.calls[-1][1] == {"group": "app", "topics": ["paid"]}
    one.wait_for_group("app", members=1)
    one.rebalance("app", timeout=3)
    assert asked.calls[-1] == ("group.rebalance", {"group": "app", "timeout_s": 3})
    one.delete_group("app")
    assert asked.calls[-1] == ("group.delete", {"groups": ["app"]})

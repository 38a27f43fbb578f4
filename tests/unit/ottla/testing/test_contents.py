"""What is in a broker under test: what is asked by which name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.testing.contents import Contents
from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from tests.unit.ottla.testing.scripted_calls import ScriptedCalls


class Something(Contents):
    def __init__(self, asked: ScriptedCalls) -> None:
        self.asked = asked

    def call(
        self, op: str, args: Mapping[str, Json] | None = None, *, timeout_s: float = 30.0
    ) -> Json:
        return self.asked(op, args, timeout_s=timeout_s)


def test_topics_have_names_of_their_own() -> None:
    asked = ScriptedCalls(topic__create=None, topic__delete=None, reset={"topics": []})
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


def test_a_topic_has_a_name() -> None:
    with pytest.raises(Misuse, match="'' names no topic"):
        Something(ScriptedCalls()).assert_produced("")

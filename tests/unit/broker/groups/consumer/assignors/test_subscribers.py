from __future__ import annotations

from broker.groups.consumer.assignors.assignor import MemberSubscription
from broker.groups.consumer.assignors.subscribers import Subscribers


def _members(**subscriptions: set[bytes]) -> dict[str, MemberSubscription]:
    return {name: MemberSubscription(frozenset(ids)) for name, ids in subscriptions.items()}


def test_members_come_in_their_order_whatever_they_have_in_common() -> None:
    members = _members(c={b"1", b"2"}, a={b"2"}, b={b"1", b"2"})
    subscribers = Subscribers(members)
    assert subscribers.kinds == 2
    assert subscribers.to(b"2") == ["c", "a", "b"]
    assert subscribers.to(b"1") == ["c", "b"]
    assert subscribers.to(b"3") == []


def test_members_come_in_another_order_where_the_assignor_has_one() -> None:
    subscribers = Subscribers(_members(c={b"1"}, a={b"1"}, b=set()), ["a", "b", "c"])
    assert subscribers.to(b"1") == ["a", "c"]


def test_topics_with_the_same_subscribers_share_their_list() -> None:
    subscribers = Subscribers(_members(c={b"1", b"2"}, a={b"1", b"2"}))
    assert subscribers.kinds == 1
    assert subscribers.to(b"1") is subscribers.to(b"2")

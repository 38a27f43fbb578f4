"""Who is let in, and whose epoch is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.consumer.membership import Beat, find_member, updated_subscription
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import Subscription
from broker.groups.reconciliation.member_state import MemberState
from protocol.errors import ApiError
from tests.unit.broker.groups.consumer.stage import Stage, T, beat, joining


@pytest.fixture(scope="module")
def group() -> ConsumerGroup:
    """`m` at epoch 3 that was at 2, with partitions 0 and 1; `s`, `away` static as `i`, `j`."""
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.tell(joining("s", "t", instance_id="i"))
    stage.tell(beat("m", 2, {T: [0, 1]}))
    stage.tell(joining("away", instance_id="j"))
    stage.tell(beat("away", -2, instance_id="j"))
    return stage.group


def found(group: ConsumerGroup, one: Beat) -> str:
    result = find_member(group, one)
    if isinstance(result, ApiError):
        return result.code.name
    replaced = "" if result.replaced is None else f" for {result.replaced.member_id}"
    return f"{result.member.member_id} at {result.member.position.epoch}{replaced}"


@pytest.mark.parametrize(
    ("one", "what"),
    [
        (beat("m", 3), "m at 3"),
        (beat("m", 0), "m at 3"),
        (beat("m", 2, {T: [0]}), "m at 3"),
        (beat("m", 2, {}), "m at 3"),
        (beat("m", 2), "FENCED_MEMBER_EPOCH"),
        (beat("m", 2, {T: [0, 2]}), "FENCED_MEMBER_EPOCH"),
        (beat("m", 1, {}), "FENCED_MEMBER_EPOCH"),
        (beat("m", 4, {}), "FENCED_MEMBER_EPOCH"),
        (beat("new", 0), "new at 0"),
        (beat("new", 1), "UNKNOWN_MEMBER_ID"),
        (beat("s", 3, instance_id="i"), "s at 3"),
        (beat("s", 3), "s at 3"),
        (beat("s", 3, instance_id="x"), "UNKNOWN_MEMBER_ID"),
        (beat("m", 3, instance_id="i"), "FENCED_INSTANCE_ID"),
        (beat("s", 0, instance_id="i"), "UNRELEASED_INSTANCE_ID"),
        (beat("other", 0, instance_id="i"), "UNRELEASED_INSTANCE_ID"),
        (beat("other", 0, instance_id="x"), "other at 0"),
        (beat("m", 0, instance_id="x"), "m at 3"),
        (beat("other", 0, instance_id="j"), "other at 0 for away"),
        (beat("away", 0, instance_id="j"), "away at 0 for away"),
        (beat("away", 3, instance_id="j"), "FENCED_MEMBER_EPOCH"),
    ],
)
def test_who_it_is(group: ConsumerGroup, one: Beat, what: str) -> None:
    assert found(group, one) == what


def test_a_member_in_an_unknown_state_comes_back_with_nothing(group: ConsumerGroup) -> None:
    member = group.members["m"]
    unknown = member._replace(position=member.position._replace(state=MemberState.UNKNOWN))
    strange = ConsumerGroup("g")
    strange.members["m"] = unknown
    assert found(strange, beat("m", 3)) == "FENCED_MEMBER_EPOCH"
    assert found(strange, beat("m", 3, {})) == "m at 3"


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ({"rebalance_timeout_ms": 1, "subscribed_topic_names": []}, True),
        ({"rebalance_timeout_ms": 1, "subscribed_topic_regex": ""}, True),
        ({"subscribed_topic_names": []}, False),
        ({"rebalance_timeout_ms": 1}, False),
    ],
)
def test_what_says_all(said: dict[str, Any], full: bool) -> None:
    assert beat("m", 3, {}, **said).is_full is full
    assert not beat("m", 3, None, **said).is_full


def test_what_is_owned() -> None:
    assert beat("m", 3).owned() is None
    assert beat("m", 3, {T: [1, 0], b"u" * 16: []}).owned() == {T: (1, 0)}


def test_what_is_left_out_stays() -> None:
    known = Subscription("i", "r", "client", "/host", ("t",), "x", 30, "range")
    assert updated_subscription(known, beat("m", 3)) is known
    said = beat("m", 3, subscribed_topic_names=["u", "a", "u"], server_assignor="uniform")
    assert updated_subscription(known, said) == known._replace(
        topics=("a", "u"), assignor="uniform"
    )
    assert updated_subscription(known, beat("m", 3, subscribed_topic_regex="")).regex == ""
    others = beat("m", 3, instance_id="j", rack_id="q", rebalance_timeout_ms=5)
    assert updated_subscription(known, others)[:2] == ("j", "q")
    assert updated_subscription(known, others).rebalance_timeout_ms == 5
    assert updated_subscription(known, Beat(beat("m", 3).request, "c2", "/h2"))[2:4] == (
        "c2",
        "/h2",
    )

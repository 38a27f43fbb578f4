"""A member's subscription, as it stands in the log."""

from __future__ import annotations

from broker.groups.consumer.state.member import ConsumerMember, Subscription
from protocol.messages.group_records import ClassicMemberMetadata


def test_a_subscription_is_what_its_record_says() -> None:
    said = Subscription("i", "r", "c", "/h", ("a", "b"), "x.*", 300, "range")
    assert Subscription.of(said.value()) == said
    assert said.value().subscribed_topic_names == ["a", "b"]


def test_a_record_without_an_expression_has_none() -> None:
    value = Subscription().value()
    value.subscribed_topic_regex = None
    assert Subscription.of(value) == Subscription()


def test_who_speaks_the_classic_protocol() -> None:
    assert not ConsumerMember("m").uses_classic_protocol
    classic = Subscription(classic=ClassicMemberMetadata(1000, []))
    assert ConsumerMember("m", classic).uses_classic_protocol

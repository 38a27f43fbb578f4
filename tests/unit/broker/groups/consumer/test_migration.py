"""What of a group becomes what, on the way to the consumer protocol and back."""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.consumer.migration import (
    MigrationPolicy,
    assignment_bytes,
    by_id,
    downgrade_records,
    leaves_classic_members,
    read_subscription,
    upgrade_records,
    version_of,
)
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.records import position_record
from broker.groups.consumer.validation import TOPICS_MAX
from broker.groups.group_records import read_group_record
from broker.groups.reconciliation.member_state import STABLE, UNREVOKED_PARTITIONS
from broker.groups.reconciliation.position import MemberPosition
from ground.sliced_work import in_one_go
from protocol.errors import ProtocolError
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from tests.unit.broker.groups.consumer.stage import encoded, slices, subscribed
from tests.unit.broker.groups.playbook import image_with

T, U = bytes([1]) * 16, bytes([2]) * 16
TOPICS = image_with(t=(T, 4), u=(U, 2)).topics


def share(data: bytes | None = None, **partitions: list[int]) -> bytes:
    listed = [ConsumerProtocolAssignmentTopicPartition(*one) for one in partitions.items()]
    return encoded(ConsumerProtocolAssignment(listed, data))


def member(name: str, metadata: bytes, assignment: bytes, instance: str | None = None) -> Any:
    return MemberMetadata(name, instance, "c", "/h", 20_000, 10_000, metadata, assignment)


def classic(*members: Any, protocol_type: str = "consumer") -> ClassicGroup:
    value = GroupMetadataValue(protocol_type, 5, "range", "a", 1, list(members))
    return ClassicGroup.restore("g", value, 0)


def upgraded(group: ClassicGroup) -> Any:
    return in_one_go(upgrade_records(group, TOPICS))


def followed(records: Any) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for one in records:
        read: Any = read_group_record(*one)
        if one[0][1] != 2:
            group.replay(read[0], read[1], 0)
    return group


def test_members_keep_what_they_have_at_the_generation_s_epoch() -> None:
    group = followed(
        upgraded(
            classic(
                member("a", subscribed("t", "u"), share(t=[1, 0], u=[1])),
                member("b", subscribed("t", rack_id="r", version=3), share(t=[2]), "i"),
                member("c", subscribed("gone"), b""),
            )
        )
    )
    assert (group.epoch, group.assignment_epoch, group.assigned_at_ms) == (5, 5, 0)
    assert group.targets == {"a": {T: (0, 1), U: (1,)}, "b": {T: (2,)}, "c": {}}
    assert group.members["a"].position == MemberPosition(
        5, 5, STABLE, {T: {0: 5, 1: 5}, U: {1: 5}}, {}
    )
    b = group.members["b"]
    assert b.uses_classic_protocol
    assert (b.subscription.rack_id, b.subscription.instance_id) == ("r", "i")
    assert b.subscription.rebalance_timeout_ms == 20_000
    assert b.subscription.classic is not None
    assert b.subscription.classic.session_timeout_ms == 10_000
    assert list(group.subscribed_topics()) == ["t", "u", "gone"]


@pytest.mark.parametrize(
    "group",
    [
        classic(member("a", subscribed("t"), share(t=[0])), protocol_type="connect"),
        classic(member("a", b"z", share(t=[0]))),
        classic(member("a", b"\xff\xff", share(t=[0]))),
        classic(member("a", subscribed("t")[:-6], share(t=[0]))),
        classic(member("a", subscribed("t"), share(b"mine", t=[0]))),
        classic(member("a", subscribed("t"), b"\0\1\0")),
        classic(member("a", subscribed("t"), b"\0")),
        classic(member("a", subscribed(*["t"] * (TOPICS_MAX + 1)), share(t=[0]))),
    ],
)
def test_what_cannot_become_a_consumer_group(group: ClassicGroup) -> None:
    with pytest.raises(ProtocolError):
        upgraded(group)


def test_a_large_group_is_converted_in_slices() -> None:
    names = ["a", *(f"m{number}" for number in range(49))]
    members = [member(name, subscribed("t"), share(t=[0])) for name in names]
    steps = upgrade_records(classic(*members), TOPICS)
    count, records = slices(steps)
    assert 5 <= count <= 20
    assert len(records) == 3 + 3 * len(members)


def test_a_member_with_much_to_say_is_converted_in_slices() -> None:
    topics = subscribed(*(f"t{number}" for number in range(5_000)))
    partitions = share(**{f"t{number}": [0] for number in range(5_000)})
    count, records = slices(upgrade_records(classic(member("a", topics, partitions)), TOPICS))
    assert count > 10 and len(records) == 6


def test_a_large_group_is_converted_back_in_slices() -> None:
    """Their number follows that of the members, and of the topics of each."""
    names = ["a", *(f"m{number}" for number in range(299))]
    small = [member(name, subscribed("t"), share(t=[0])) for name in names]
    large = [member(name, subscribed("t", "u"), share(t=[0], u=[1])) for name in names]
    counts = []
    for members in (small[:40], small, large):
        group = followed(upgraded(classic(*members)))
        count, records = slices(downgrade_records(group, [], TOPICS, 99))
        assert len(records) == 3 * len(members) + 4
        counts.append(count)
    assert counts == [1, 7, 10]


def test_back_again_members_keep_what_they_have() -> None:
    first = classic(
        member("a", subscribed("t"), share(t=[0, 1])), member("b", subscribed("t"), share(t=[2, 3]))
    )
    group = followed(upgraded(first))
    assert leaves_classic_members(group, [])
    assert leaves_classic_members(group, ["b"])
    assert not leaves_classic_members(group, ["a", "b"])
    records = in_one_go(downgrade_records(group, ["b"], TOPICS, 99))
    assert [key[1] for key, _ in records] == [8, 8, 7, 7, 6, 5, 5, 4, 3, 2]
    read: Any = read_group_record(*records[-1])
    value = read[1]
    assert (value.generation, value.protocol, value.leader) == (5, "range", "a")
    assert value.current_state_timestamp == 99
    assert value.members == [member("a", subscribed("t"), share(t=[0, 1]))]


def test_back_again_a_member_has_what_it_has_not_given_up_yet() -> None:
    """Not its target: a consumer that comes next would take the rest for free."""
    records = upgraded(classic(member("a", subscribed("t"), share(t=[0, 1, 2]))))
    group = followed(records)
    a = group.members["a"]
    since = a.position.epoch
    halfway = a.position._replace(
        state=UNREVOKED_PARTITIONS, assigned={T: {0: since}}, revoking={T: {2: since}}
    )
    group = followed([*records, position_record("g", "a", halfway)])
    back = in_one_go(downgrade_records(group, [], TOPICS, 99))
    read: Any = read_group_record(*back[-1])
    assert read[1].members == [member("a", subscribed("t"), share(t=[0, 2]))]


def test_a_member_that_the_broker_assigns_keeps_the_group_as_it_is() -> None:
    from broker.groups.consumer.state.member import Subscription
    from broker.groups.consumer.state.records import member_record

    records = upgraded(classic(member("a", subscribed("t"), share(t=[0]))))
    group = followed([*records, member_record("g", "k", Subscription(topics=("t",)))])
    assert not leaves_classic_members(group, [])
    assert leaves_classic_members(group, ["k"])


def test_policies() -> None:
    shown = {one.name: (one.upgrades, one.downgrades) for one in MigrationPolicy}
    assert shown == {
        "DISABLED": (False, False),
        "UPGRADE": (True, False),
        "DOWNGRADE": (False, True),
        "BIDIRECTIONAL": (True, True),
    }


def test_assignments_are_told_in_the_member_s_version() -> None:
    for version in range(4):
        told = assignment_bytes({T: (0, 2), b"gone" * 4: (1,)}, TOPICS, version)
        listed = [ConsumerProtocolAssignmentTopicPartition("t", [0, 2])]
        assert told == encoded(ConsumerProtocolAssignment(listed), version)
    assert assignment_bytes({}, TOPICS, 9)[:2] == b"\0\3"


def test_versions_to_come_are_read_as_the_last_that_is_known() -> None:
    data = subscribed("t", generation_id=4, version=3)
    later = b"\0\7" + data[2:]
    assert in_one_go(read_subscription(later)).generation_id == 4
    assert version_of(later) == 7


def test_names_become_ids() -> None:
    listed = [("t", [3, 1]), ("gone", [0]), ("t", [0, 1]), ("u", [])]
    assert in_one_go(by_id(listed, TOPICS)) == {T: (0, 1, 3)}

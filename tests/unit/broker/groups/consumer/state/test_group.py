"""A consumer group follows its records, in whatever order a compacted log has left them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from broker.coordinator.coordinator_log import Record
from broker.groups.committed_offset import CommittedOffset
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import Subscription
from broker.groups.consumer.state.records import (
    epoch_record,
    member_record,
    member_tombstones,
    position_record,
    regex_record,
    regex_tombstone,
    target_epoch_record,
    target_record,
)
from broker.groups.group import Committer
from broker.groups.group_records import read_group_record
from broker.groups.reconciliation.member_state import STABLE, UNREVOKED_PARTITIONS
from broker.groups.reconciliation.position import MemberPosition
from protocol.errors import ErrorCode
from protocol.messages.group_records import ClassicMemberMetadata, ClassicProtocol
from tests.unit.broker.groups.consumer.stage import GROUP, Stage, T, beat, joining

NONE = ErrorCode.NONE


def follow(group: ConsumerGroup, *records: Record) -> ConsumerGroup:
    for key_bytes, value_bytes in records:
        read: Any = read_group_record(key_bytes, value_bytes)
        group.replay(*read, 0)
    return group


def subscribed(*topics: str, **said: Any) -> Subscription:
    return Subscription(topics=topics, **said)


def at(
    epoch: int, *partitions: int, since: int | None = None, revoking: Any = None
) -> MemberPosition[bytes]:
    held = {T: dict.fromkeys(partitions, epoch if since is None else since)} if partitions else {}
    state = UNREVOKED_PARTITIONS if revoking else STABLE
    return MemberPosition(epoch, epoch - 1, state, held, revoking or {})


def test_a_new_group_is_at_its_first_epoch_and_empty() -> None:
    group = ConsumerGroup("g")
    assert (group.epoch, group.assignment_epoch, group.state.value) == (1, 1, "Empty")
    assert group.is_idle
    assert group.delete_error() is NONE
    listed = group.listed()
    assert (listed.group_type, listed.protocol_type, listed.group_state) == (
        "consumer",
        "consumer",
        "Empty",
    )


def test_the_state_follows_epochs_and_members() -> None:
    group = follow(ConsumerGroup("g"), member_record("g", "m", subscribed("t")))
    follow(group, epoch_record("g", 2, 9))
    assert group.state.value == "Assigning"
    follow(group, target_epoch_record("g", 2, 50))
    assert (group.state.value, group.assigned_at_ms) == ("Reconciling", 50)
    follow(group, position_record("g", "m", at(2, 0)))
    assert group.state.value == "Stable"
    follow(group, position_record("g", "m", at(2, 0).away()))
    assert group.state.value == "Reconciling"


def test_who_holds_what() -> None:
    group = follow(ConsumerGroup("g"), position_record("g", "m", at(2, 0, revoking={T: {1: 2}})))
    assert [group.holder(T, number) for number in (0, 1, 2)] == ["m", "m", None]
    assert not group.is_free(T, 1)
    follow(group, position_record("g", "m", at(3, 0)))
    assert group.is_free(T, 1)
    follow(group, position_record("g", "n", at(3, 1)))
    follow(group, *member_tombstones("g", "m"))
    assert group.is_free(T, 0)
    assert group.holder(T, 1) == "n"
    assert "m" not in group.members


def test_a_later_holder_keeps_what_an_older_record_had() -> None:
    group = follow(ConsumerGroup("g"), position_record("g", "m", at(2, 0)))
    follow(group, position_record("g", "n", at(3, 0)))
    follow(group, position_record("g", "m", at(3)))
    assert group.holder(T, 0) == "n"


def test_a_tombstone_of_what_was_never_seen_changes_nothing() -> None:
    group = follow(ConsumerGroup("g"), *member_tombstones("g", "m"), regex_tombstone("g", "x"))
    assert group.members == {}
    assert group.is_idle


def test_records_before_their_member_count() -> None:
    group = follow(
        ConsumerGroup("g"),
        target_record("g", "m", {T: (1,)}),
        position_record("g", "m", at(2, 1)),
        member_record("g", "m", subscribed("t", instance_id="i")),
    )
    assert group.target("m") == {T: (1,)}
    assert group.members["m"].position == at(2, 1)
    assert group.static_members == {"i": "m"}
    assert group.target("nobody") == {}


def test_subscriptions_are_counted_by_name_and_expression() -> None:
    group = follow(
        ConsumerGroup("g"),
        member_record("g", "m", subscribed("t", "u")),
        member_record("g", "n", subscribed("t", regex="x.*")),
        regex_record("g", "x.*", ["xa", "xb"], 3, 5),
    )
    assert list(group.subscribed_topics()) == ["t", "u", "xa", "xb"]
    assert list(group.subscribed_topics(resolved={"x.*": ["xc"]})) == ["t", "u", "xc"]
    before = group.members["m"].subscription
    assert list(group.subscribed_topics([before], [subscribed("v")])) == ["t", "v", "xa", "xb"]
    assert [group.is_subscribed_to(name) for name in ("u", "xa", "z")] == [True, True, False]
    assert group.regex_subscribers("x.*") == 1
    assert group.subscribed_regexes() == ["x.*"]
    follow(group, member_record("g", "m", subscribed()), regex_tombstone("g", "x.*"))
    assert not group.is_subscribed_to("u")
    assert not group.is_subscribed_to("xa")


def test_an_instance_goes_on_under_another_id() -> None:
    static = subscribed("t", instance_id="i")
    group = follow(ConsumerGroup("g"), member_record("g", "m", static))
    follow(group, *member_tombstones("g", "m"), member_record("g", "n", static))
    assert group.static_members == {"i": "n"}
    follow(group, member_record("g", "n", subscribed("t", instance_id="j")))
    assert group.static_members == {"j": "n"}


def committing(epoch: int, member: str = "m", **said: Any) -> Committer:
    partitions = said.pop("partitions", [(T, 0)])
    transactional = said.pop("transactional", False)
    version = said.pop("version", 9)
    return Committer(member, None, epoch, transactional, version, lambda: partitions)


@pytest.mark.parametrize(
    ("committer", "error"),
    [
        (committing(5), "NONE"),
        (committing(5, partitions=[(T, 9)]), "NONE"),
        (committing(4), "NONE"),
        (committing(4, partitions=[(T, 0), (T, 1)]), "STALE_MEMBER_EPOCH"),
        (committing(4, partitions=[(T, 9)]), "STALE_MEMBER_EPOCH"),
        (committing(3), "STALE_MEMBER_EPOCH"),
        (committing(6), "STALE_MEMBER_EPOCH"),
        (committing(-1), "STALE_MEMBER_EPOCH"),
        (committing(5, "x"), "UNKNOWN_MEMBER_ID"),
        (committing(-1, ""), "UNKNOWN_MEMBER_ID"),
        (committing(5, version=8), "UNSUPPORTED_VERSION"),
        (committing(5, transactional=True, version=3), "NONE"),
        (committing(4, transactional=True), "NONE"),
        (committing(3, transactional=True), "ILLEGAL_GENERATION"),
        (committing(6, transactional=True), "ILLEGAL_GENERATION"),
        (committing(-1, "", transactional=True), "NONE"),
        (committing(5, "x", transactional=True), "UNKNOWN_MEMBER_ID"),
        (committing(-2, "", transactional=True), "UNKNOWN_MEMBER_ID"),
    ],
)
def test_who_may_commit(committer: Committer, error: str) -> None:
    group = follow(
        ConsumerGroup("g"),
        member_record("g", "m", subscribed("t")),
        position_record("g", "m", MemberPosition(5, 4, STABLE, {T: {0: 4, 1: 5}}, {})),
    )
    assert group.commit_error(committer).name == error


def test_anybody_may_commit_to_an_empty_group_outside_of_it() -> None:
    group = ConsumerGroup("g")
    assert group.commit_error(committing(-1, "")) is NONE
    assert group.commit_error(committing(-1, "m")) is NONE
    assert group.commit_error(committing(-2, "m", version=8)) is NONE
    assert group.commit_error(committing(-1, "m", transactional=True)) is NONE
    assert group.commit_error(committing(1, "m")) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        (None, -1, "NONE"),
        ("m", 5, "NONE"),
        ("m", 4, "STALE_MEMBER_EPOCH"),
        ("m", -1, "STALE_MEMBER_EPOCH"),
        ("", -1, "UNKNOWN_MEMBER_ID"),
        ("x", 5, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_who_is_told_offsets(member: str | None, epoch: int, error: str) -> None:
    group = follow(ConsumerGroup("g"), position_record("g", "m", at(5)))
    assert group.fetch_error(member, epoch).name == error


def classic(*protocols: str) -> ClassicMemberMetadata:
    return ClassicMemberMetadata(1000, [ClassicProtocol(name, b"") for name in protocols])


def test_a_classic_member_commits_in_its_generation() -> None:
    group = follow(
        ConsumerGroup("g"),
        member_record("g", "m", subscribed("t", classic=classic("range"))),
        position_record("g", "m", MemberPosition(5, 4, STABLE, {T: {0: 4}}, {})),
    )
    for version in (8, 9):
        assert group.commit_error(committing(5, version=version)) is NONE
        old = group.commit_error(committing(4, version=version))
        assert old is ErrorCode.ILLEGAL_GENERATION


def test_what_all_classic_members_know() -> None:
    group = follow(
        ConsumerGroup("g"),
        member_record("g", "m", subscribed("t", classic=classic("range", "sticky"))),
        member_record("g", "n", subscribed("t", classic=classic("range"))),
        member_record("g", "o", subscribed("t")),
    )
    assert group.is_classic_protocol_of_all("range", "")
    assert not group.is_classic_protocol_of_all("sticky", "")
    assert group.is_classic_protocol_of_all("sticky", "n")


def test_what_is_free_of_a_target() -> None:
    group = follow(
        ConsumerGroup("g"),
        position_record("g", "m", at(2, 0)),
        position_record("g", "n", at(2, 1)),
        target_record("g", "m", {T: (0, 1)}),
    )
    assert not group.has_something_for(group.members["m"])
    follow(group, *member_tombstones("g", "n"))
    assert group.has_something_for(group.members["m"])
    follow(group, position_record("g", "m", at(2, 0, 1)))
    assert not group.has_something_for(group.members["m"])


def test_offsets_expire_from_their_commit() -> None:
    group = ConsumerGroup("g")
    clock = group.expiry_clock()
    assert clock is not None
    assert clock(CommittedOffset(1, 1, "", 77, -1, T, 3)) == 77
    assert group.delete_offsets_error() is NONE


def test_a_group_with_members_is_not_deleted() -> None:
    group = follow(ConsumerGroup("g"), member_record("g", "m", subscribed()))
    assert group.delete_error() is ErrorCode.NON_EMPTY_GROUP
    assert [key[1] for key, _ in group.tombstones()] == [6, 4, 3]


def test_replay_of_a_compacted_log_is_the_same_group() -> None:
    """Invariant 5: members come, take, give up and go by chance; any compaction gives the same."""
    for seed in range(25):
        chance = random.Random(seed)
        stage = Stage()
        for _ in range(60):
            _something(chance, stage)
        log = [record for batch in stage.batches for record in batch]
        whole = follow(ConsumerGroup(GROUP), *log)
        cleaned_to = chance.randrange(len(log))
        latest = {key: at for at, (key, _) in enumerate(log[:cleaned_to])}
        rest = [one for at, one in enumerate(log) if at >= cleaned_to or latest[one[0]] == at]
        if chance.random() < 0.5:
            rest = [one for one in rest if one[1] is not None or one in log[cleaned_to:]]
        again = follow(ConsumerGroup(GROUP), *rest)
        assert _shown(again) == _shown(whole) == _shown(stage.group)


def _something(chance: random.Random, stage: Stage) -> None:
    member = chance.choice(["m1", "m2", "m3"])
    known = stage.groups[GROUP].members.get(member) if GROUP in stage.groups else None
    if known is None:
        stage.tell(joining(member, *chance.choice([("t",), ("t", "u"), ("u",)])))
    elif chance.random() < 0.15:
        stage.tell(beat(member, -1))
    else:
        owned = {topic: list(held) for topic, held in known.position.assigned.items()}
        stage.tell(beat(member, known.position.epoch, owned))


def _shown(group: ConsumerGroup) -> Any:
    holders = {(t, p): group.holder(t, p) for t in (T, bytes([2]) * 16) for p in range(4)}
    members = sorted(group.members.items())
    return group.epoch, group.assignment_epoch, members, sorted(group.targets.items()), holders


def test_how_far_its_expressions_are_looked_up() -> None:
    group = ConsumerGroup("g")
    assert group.lookups == (None, 0, False)
    follow(group, member_record("g", "m", subscribed(regex="x.*")))
    assert group.lookups == (None, 0, True)
    follow(group, regex_record("g", "x.*", ["xa"], 3, 50))
    assert group.lookups == (50, 50, False)
    follow(group, member_record("g", "n", subscribed(regex="y.*")))
    assert group.lookups == (50, 50, True)
    follow(group, regex_record("g", "y.*", [], 4, 70))
    assert group.lookups == (70, 50, False)
    follow(group, *member_tombstones("g", "m"), regex_tombstone("g", "x.*"))
    assert group.lookups == (70, 70, False)

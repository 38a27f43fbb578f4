"""Consumer groups in their shard: restarts, other kinds of groups, offsets, administration."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinator import coordinator_runtime
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.primitives import MessageBuffer
from tests.clients.group_conversation import (
    beat,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode
from tests.unit.broker.sliced_fixture import Turns

NO_INTERVAL = {"group_consumer_assignment_interval_ms": 0}


def heartbeat(member: str, epoch: int, owned: list[int] | None = None, **said: Any) -> Any:
    if owned is not None:
        parts = ConsumerGroupHeartbeatRequestTopicPartitions(TOPIC_ID, owned)
        said["topic_partitions"] = [parts] if owned else []
    return ConsumerGroupHeartbeatRequest("g", member, epoch, **said)


def coming(member: str, **said: Any) -> Any:
    said = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["conversation"], **said}
    return heartbeat(member, 0, [], **said)


def ask(node: GroupNode, request: Any, version: int = 1) -> Any:
    return node.connect().call(request, version)


def described(node: GroupNode) -> Any:
    return ask(node, ConsumerGroupDescribeRequest(["g"])).groups[0]


def committed(node: GroupNode) -> int:
    found = ask(node, fetching("g", None), 9).groups[0].topics
    return found[0].partitions[0].committed_offset if found else -1


def test_in_the_middle_of_a_revocation_a_restart_changes_nothing() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    ask(node, coming("n"))
    ask(node, heartbeat("m", 2))
    before = described(node)
    node.restart()
    assert described(node) == before
    assert ask(node, heartbeat("m", 2)).assignment is None
    assert ask(node, heartbeat("m", 2, [0])).member_epoch == 3
    taken = ask(node, heartbeat("n", 3)).assignment
    assert taken is not None and taken.topic_partitions[0].partitions == [1]


def test_time_outs_begin_anew_after_a_restart() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    node.scheduler.run_for(40_000)
    node.restart()
    node.scheduler.run_for(44_000)
    assert len(described(node).members) == 1
    node.scheduler.run_for(1_000)
    assert described(node).group_state == "Empty"
    node.restart()
    assert (described(node).group_state, described(node).group_epoch) == ("Empty", 3)


def test_nobody_is_removed_where_a_group_is_not_led_any_more() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    appended = len(node.log.batches)
    node.coordinator.on_resigned(node.coordinator.partition_for("g"), node.epoch)
    node.scheduler.run_for(100_000)
    assert len(node.log.batches) == appended


def test_answers_wait_for_what_they_rest_upon() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    node.log.commit_at_once = False
    wire = node.connect()
    wire.send(coming("n"), 1)
    other = node.connect()
    other.send(heartbeat("m", 2, None), 1)
    third = node.connect()
    third.send(ConsumerGroupDescribeRequest(["g"]), 1)
    assert not (wire.answered or other.answered or third.answered)
    node.log.commit_at_once = True
    node.log.commit(node.coordinator.partition_for("g"))
    assert wire.receive().member_epoch == 3
    assert other.receive().assignment is not None
    assert len(third.receive().groups[0].members) == 2


def test_a_group_has_one_type() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ask(node, joining("g", protocol_type="connect"), 9).error_code == wrong
    assert ask(node, beat("g", 2, "m"), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    answer = ask(node, describing("g"), 6).groups[0]
    assert (answer.error_code, answer.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert ask(node, describing("g"), 5).groups[0].group_state == "Dead"


@pytest.mark.parametrize("policy", ["disabled", "DOWNGRADE"])
def test_a_classic_group_with_members_stays_where_the_policy_says_so(policy: str) -> None:
    node = GroupNode(**NO_INTERVAL, group_consumer_migration_policy=policy)
    ask(node, joining("g"), 3)
    assert ask(node, coming("m")).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert ask(node, heartbeat("m", 2)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_pending_member_id_does_not_hold_up_a_consumer() -> None:
    """The consumer group replaces the classic one, which has no members yet, as in Kafka."""
    node = GroupNode(**NO_INTERVAL)
    pending = ask(node, joining("g"), 4)
    assert pending.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert ask(node, coming("m")).member_epoch == 2
    assert described(node).group_state == "Stable"


def subscription(*owned: int) -> bytes:
    """Version 1, of the topic `conversation`."""
    said = ConsumerProtocolSubscription(["conversation"])
    if owned:
        topic = ConsumerProtocolSubscriptionTopicPartition("conversation", list(owned))
        said.owned_partitions = [topic]
    out = MessageBuffer(b"\0\1")
    said.write(out, 1)
    return bytes(out)


def share(*partitions: int) -> bytes:
    """An assignment of version 1."""
    topic = ConsumerProtocolAssignmentTopicPartition("conversation", list(partitions))
    out = MessageBuffer(b"\0\1")
    ConsumerProtocolAssignment([topic] if partitions else []).write(out, 1)
    return bytes(out)


def protocols(*owned: int) -> Any:
    return [("range", subscription(*owned))]


def classic_group(node: GroupNode) -> str:
    """The id of a member that has both partitions, in generation 1."""
    member: str = ask(node, joining("g", protocols=protocols()), 3).member_id
    ask(node, syncing("g", 1, member, {member: share(0, 1)}), 3)
    return member


def test_a_live_group_goes_there_and_back() -> None:
    """As Kafka was seen to do it: new-member batches, generations, and what members keep."""
    node = GroupNode(**NO_INTERVAL)
    c = classic_group(node)
    ask(node, committing("g", 7, member_id=c, generation_id_or_member_epoch=1), 9)
    told = ask(node, coming("k"))
    assert (told.member_epoch, told.assignment.topic_partitions) == (2, [])
    kinds = [key[1] for key, _ in written(node)]
    assert kinds == [2, 5, 3, 7, 6, 8, 5, 3, 7, 7, 6, 8]
    shown = {one.member_id: one for one in described(node).members}
    assert (shown[c].member_type, shown[c].member_epoch, shown["k"].member_type) == (0, 1, 1)

    rebalance = ErrorCode.REBALANCE_IN_PROGRESS
    assert ask(node, beat("g", 1, c), 4).error_code == rebalance
    again = ask(node, joining("g", c, protocols=protocols(0, 1)), 9)
    assert (again.error_code, again.generation_id, again.leader, again.members) == (0, 1, "", [])
    assert ask(node, syncing("g", 1, c), 5).assignment == share(0)
    assert ask(node, beat("g", 1, c), 4).error_code == rebalance
    assert ask(node, joining("g", c, protocols=protocols(0)), 9).generation_id == 2
    assert ask(node, syncing("g", 2, c), 5).assignment == share(0)
    assert ask(node, beat("g", 2, c), 4).error_code == ErrorCode.NONE
    taken = ask(node, heartbeat("k", 2)).assignment.topic_partitions
    assert [topic.partitions for topic in taken] == [[1]]
    for version in (8, 9):
        commit = committing("g", 8, member_id=c, generation_id_or_member_epoch=2)
        answer = ask(node, commit, version).topics[0].partitions[0]
        assert answer.error_code == ErrorCode.NONE
    node.restart()
    assert ask(node, beat("g", 2, c), 4).error_code == ErrorCode.NONE

    ask(node, heartbeat("k", -1))
    assert [key[1] for key, _ in written(node)] == [8, 8, 7, 7, 6, 5, 5, 4, 3, 2]
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert ask(node, beat("g", 2, c), 4).error_code == rebalance
    led = ask(node, joining("g", c, protocols=protocols(0)), 9)
    assert (led.generation_id, led.leader) == (3, c)
    assert committed(node) == 8


def test_a_group_that_became_classic_rebalances_also_where_its_coordinator_went() -> None:
    """What the last consumer had is nobody's, until somebody assigns it: once, for one restart."""
    node = GroupNode(**NO_INTERVAL)
    c = classic_group(node)
    ask(node, coming("k"))
    ask(node, joining("g", c, protocols=protocols(0, 1)), 9)
    ask(node, joining("g", c, protocols=protocols(0)), 9)
    ask(node, heartbeat("k", 2, []))
    ask(node, heartbeat("k", -1))
    node.restart()
    assert ask(node, beat("g", 2, c), 4).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert ask(node, joining("g", c, protocols=protocols(0)), 9).generation_id == 3
    ask(node, syncing("g", 3, c, {c: share(0, 1)}), 5)
    node.restart()
    assert ask(node, beat("g", 3, c), 4).error_code == ErrorCode.NONE


def test_an_empty_consumer_group_that_gives_way_is_no_conversion() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("k"))
    ask(node, heartbeat("k", -1))
    c = classic_group(node)
    node.restart()
    assert ask(node, beat("g", 1, c), 4).error_code == ErrorCode.NONE


def test_who_waits_in_a_classic_group_that_is_converted_comes_again() -> None:
    node = GroupNode(**NO_INTERVAL)
    c = classic_group(node)
    waiting = node.connect()
    waiting.send(joining("g", protocols=protocols(), group_instance_id="i"), 9)
    assert not waiting.answered
    assert ask(node, coming("k")).error_code == ErrorCode.NONE
    assert waiting.receive().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert c in [one.member_id for one in described(node).members]


def test_classic_members_that_fall_silent_are_removed_by_their_own_session() -> None:
    node = GroupNode(**NO_INTERVAL)
    classic_group(node)
    ask(node, coming("k"))
    for _ in range(4):
        node.scheduler.run_for(7_600)
        ask(node, heartbeat("k", 2, []))
    assert [one.member_id for one in described(node).members] == ["k"]


def test_a_consumer_that_falls_silent_makes_the_group_classic() -> None:
    node = GroupNode(**NO_INTERVAL)
    c = classic_group(node)
    ask(node, coming("k"))
    ask(node, joining("g", c, protocols=protocols()), 9)
    for _ in range(6):
        node.scheduler.run_for(8_000)
        answer = ask(node, beat("g", 2, c), 4)
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert ask(node, ListGroupsRequest(), 5).groups[0].group_type == "classic"


def test_without_downgrades_the_group_stays_with_classic_members_alone() -> None:
    node = GroupNode(**NO_INTERVAL, group_consumer_migration_policy="upgrade")
    c = classic_group(node)
    ask(node, coming("k"))
    ask(node, heartbeat("k", -1))
    assert [one.member_id for one in described(node).members] == [c]


def test_empty_groups_change_their_type_and_keep_their_offsets() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, committing("g", 7), 9)
    assert ask(node, coming("m")).member_epoch == 2
    assert committed(node) == 7
    assert [key[1] for key, _ in written(node)] == [2, 5, 3, 7, 6, 8]
    ask(node, heartbeat("m", -1))
    assert ask(node, joining("g"), 3).error_code == ErrorCode.NONE
    listed = ask(node, ListGroupsRequest(), 5).groups
    assert [group.group_type for group in listed] == ["classic"]
    node.restart()
    assert committed(node) == 7
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def written(node: GroupNode) -> list[tuple[bytes, bytes | None]]:
    """The last batch."""
    return [(record.key or b"", record.value) for record in node.log.batches[-1]]


def test_groups_are_listed_by_type_and_state() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    ask(node, committing("simple", 1), 9)
    for states, types, names in (
        ([], ["Consumer"], ["g"]),
        (["stable"], [], ["g"]),
        ([], ["classic"], ["simple"]),
        (["empty"], ["consumer"], []),
    ):
        found = ask(node, ListGroupsRequest(states, types), 5).groups
        assert [group.group_id for group in found] == names
    assert ask(node, ListGroupsRequest(["Stable"]), 4).groups[0].protocol_type == "consumer"


def test_an_administrator_sends_a_member_away() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, coming("m"))
    (answer,) = ask(node, leaving("g", ("m", None)), 5).members
    assert answer.error_code == ErrorCode.NONE
    assert described(node).group_state == "Empty"


def test_offsets_of_a_topic_that_is_subscribed_to_stay() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, committing("g", 7), 9)
    ask(node, coming("m"))
    one = OffsetDeleteRequestTopic("conversation", [OffsetDeleteRequestPartition(0)])
    answer = ask(node, OffsetDeleteRequest("g", [one]), 0)
    error = answer.topics[0].partitions[0].error_code
    assert error == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    ask(node, heartbeat("m", -1))
    ask(node, OffsetDeleteRequest("g", [one]), 0)
    assert committed(node) == -1


def test_offsets_of_live_groups_do_not_expire() -> None:
    node = GroupNode(**NO_INTERVAL, offsets_retention_minutes=1)
    ask(node, committing("g", 7), 9)
    ask(node, coming("m"))
    for _ in range(40):
        node.scheduler.run_for(30_000)
        ask(node, heartbeat("m", 2))
    assert committed(node) == 7
    ask(node, heartbeat("m", -1))
    node.scheduler.run_for(700_000)
    assert committed(node) == -1
    assert ask(node, ListGroupsRequest(), 5).groups == []
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_deleted_with_all_that_it_has() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, committing("g", 7), 9)
    ask(node, coming("m"))
    deleted = DeleteGroupsRequest(["g"])
    assert ask(node, deleted, 2).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    ask(node, heartbeat("m", -1))
    assert ask(node, deleted, 2).results[0].error_code == ErrorCode.NONE
    node.restart()
    assert ask(node, ListGroupsRequest(), 5).groups == []
    assert ask(node, deleted, 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_is_listed_and_described_in_the_middle_of_a_conversion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_runtime, "REPLAYS_A_SLICE", 1)
    turns = Turns()
    node = GroupNode(turns=turns, **NO_INTERVAL)

    def told(request: Any, version: int) -> Any:
        wire = node.connect()
        wire.send(request, version)
        turns.run()
        return wire.receive()

    def converted(request: Any) -> tuple[list[str], list[str]]:
        """Types that ListGroups and states that DescribeGroups say, asked in each turn of it, in
        their order."""
        listings, descriptions = [], []
        node.connect().send(request, 1)
        while turns.soon:
            listings.append(node.connect())
            listings[-1].send(ListGroupsRequest(), 5)
            descriptions.append(node.connect())
            descriptions[-1].send(describing("g"), 5)
            turns.soon.popleft()()
            if len(listings) == 3:
                turns.run()
        kinds = [one.receive().groups for one in listings]
        states = dict.fromkeys(one.receive().groups[0].group_state for one in descriptions)
        return list(dict.fromkeys(group.group_type for (group,) in kinds)), list(states)

    member = told(joining("g", protocols=protocols()), 3).member_id
    told(syncing("g", 1, member, {member: share(0, 1)}), 3)
    # Before it is written, and after; Dead: a consumer group is no classic one.
    assert converted(coming("m")) == (["classic", "consumer"], ["Stable", "Dead"])
    assert converted(heartbeat("m", -1)) == (["consumer", "classic"], ["Dead", "Stable"])


def test_who_asks_a_group_in_the_middle_of_its_conversion_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_runtime, "REPLAYS_A_SLICE", 1)
    turns = Turns()
    node = GroupNode(turns=turns, **NO_INTERVAL)

    def sent(request: Any, version: int) -> Any:
        wire = node.connect()
        wire.send(request, version)
        return wire

    def told(request: Any, version: int) -> Any:
        wire = sent(request, version)
        turns.run()
        return wire.receive()

    member = told(joining("g", protocols=protocols()), 3).member_id
    told(syncing("g", 1, member, {member: share(0, 1)}), 3)
    told(coming("m"), 1)
    epoch = told(ConsumerGroupDescribeRequest(["g"]), 1).groups[0].members[0].member_epoch
    leaves = sent(heartbeat("m", -1), 1)
    waiting = []
    while not leaves.answered:
        waiting.append((sent(beat("g", epoch, member), 3), sent(heartbeat("m", epoch), 1)))
        assert not any(wire.answered for both in waiting for wire in both)
        turns.soon.popleft()()
    assert len(waiting) > 4
    turns.run()
    classic = {both[0].receive().error_code for both in waiting}
    gone = {both[1].receive().error_code for both in waiting}
    assert classic == {ErrorCode.ILLEGAL_GENERATION}, "the generation is the epoch of the group"
    assert gone == {ErrorCode.GROUP_ID_NOT_FOUND}


def test_of_those_that_die_together_each_is_removed_in_a_turn_of_its_own() -> None:
    turns = Turns()
    node = GroupNode(turns=turns, **NO_INTERVAL)
    for number in range(5):
        node.connect().send(coming(f"m{number}"), 1)
        turns.run()
    written = len(node.log.batches)
    node.scheduler.run_for(45_000)
    assert len(node.log.batches) == written
    batches: list[int] = []
    turns.run(lambda: batches.append(len(node.log.batches) - written))
    assert batches == [1, 2, 3, 4, 5]

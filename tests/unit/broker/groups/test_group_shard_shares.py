"""Share groups in their shard: members, initializations, other kinds of groups, restarts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_delete import OffsetDeleteRequest
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.clients.group_conversation import (
    beat,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, image_with

NO_INTERVAL = {"group_share_assignment_interval_ms": 0}
KEYS = [SharePartitionKey("g", TOPIC_ID, index) for index in range(2)]


def ask(node: GroupNode, request: Any, version: int = 1) -> Any:
    return node.connect().call(request, version)


def share_beat(member: str, epoch: int, *topics: str, group: str = "g") -> Any:
    return ShareGroupHeartbeatRequest(group, member, epoch, None, list(topics) or None)


def joined(node: GroupNode, member: str = "m") -> int:
    """Join, have the partitions assigned, and return the epoch."""
    epoch: int = ask(node, share_beat(member, 0, "conversation")).member_epoch
    node.scheduler.run_for(0)
    answer = ask(node, share_beat(member, epoch))
    epoch = answer.member_epoch
    return epoch


def assigned(answer: Any) -> list[int] | None:
    if answer.assignment is None:
        return None
    return [index for topic in answer.assignment.topic_partitions for index in topic.partitions]


def described(node: GroupNode, group: str = "g") -> Any:
    return ask(node, ShareGroupDescribeRequest([group])).groups[0]


def states_of(node: GroupNode, group: str = "g") -> list[str]:
    listed = ask(node, ListGroupsRequest(), 5).groups
    return [one.group_state for one in listed if one.group_id == group]


def test_a_member_gets_partitions_after_they_are_initialized() -> None:
    node = GroupNode(**NO_INTERVAL)
    node.shares.states.held = []
    assert assigned(ask(node, share_beat("m", 0, "conversation"))) == []
    assert node.shares.states.asked == [("initialize", key) for key in KEYS]
    assert assigned(ask(node, share_beat("m", 2))) is None
    node.shares.states.release()
    node.scheduler.run_for(0)
    assert node.shares.states.states[KEYS[0]] == StateAnswer(2, 0, -1, -1)
    answer = ask(node, share_beat("m", 2))
    assert (answer.member_epoch, assigned(answer)) == (3, [0, 1])
    assert len(node.shares.states.asked) == 2
    group = described(node)
    assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 3, "simple")
    assert group.members[0].client_host == "/127.0.0.1"


def test_an_answer_without_records_waits_until_what_it_says_is_committed() -> None:
    """Else the next coordinator could know an older epoch than a member was told."""
    node = GroupNode(**NO_INTERVAL)
    epoch = joined(node)
    node.log.commit_at_once = False
    answers: list[Any] = []
    node.connect().tell(share_beat("m", epoch, "conversation", "other"), 1, answers.append)
    node.connect().tell(share_beat("m", epoch), 1, answers.append)
    node.scheduler.run_for(0)
    assert answers == []
    node.log.commit(node.coordinator.partition_for("g"))
    node.scheduler.run_for(0)
    assert [answer.member_epoch for answer in answers] == [epoch + 1, epoch + 1]


def test_a_partition_that_fails_is_initialized_with_the_next_heartbeat(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node = GroupNode(**NO_INTERVAL)
    node.shares.states.failures = {1: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    with caplog.at_level(logging.WARNING):
        assert joined(node) == 3
        answer = ask(node, share_beat("m", 3))
    assert [record.getMessage() for record in caplog.records] == [
        "share group g: 1 of 2 partitions could not be initialized: COORDINATOR_NOT_AVAILABLE",
    ]
    assert described(node).members[0].assignment.topic_partitions[0].partitions == [0]
    node.shares.states.failures = {}
    ask(node, share_beat("m", 3))
    node.scheduler.run_for(0)
    answer = ask(node, share_beat("m", 3))
    assert (answer.member_epoch, assigned(answer)) == (4, [0, 1])


def test_an_initialization_whose_answer_never_comes_is_asked_again_after_a_restart() -> None:
    node = GroupNode(**NO_INTERVAL)
    node.shares.states.held = []
    ask(node, share_beat("m", 0, "conversation"))
    node.restart()
    node.shares.states.held, node.shares.states.asked = None, []
    ask(node, share_beat("m", 2))
    assert node.shares.states.asked == []
    for _ in range(3):
        node.scheduler.run_for(10_000)
        ask(node, share_beat("m", 2))
    assert node.shares.states.asked == [("initialize", key) for key in KEYS]


def test_an_initialization_with_an_answer_to_come_is_not_asked_again() -> None:
    node = GroupNode(**NO_INTERVAL)
    node.shares.states.held = []
    ask(node, share_beat("m", 0, "conversation"))
    for _ in range(5):
        node.scheduler.run_for(10_000)
        ask(node, share_beat("m", 2))
    assert len(node.shares.states.asked) == 2


def test_a_silent_member_is_removed() -> None:
    node = GroupNode(**NO_INTERVAL)
    epoch = joined(node)
    node.scheduler.run_for(44_000)
    assert ask(node, share_beat("m", epoch)).error_code == ErrorCode.NONE
    node.scheduler.run_for(44_000)
    assert described(node).group_state == "Stable"
    node.scheduler.run_for(2_000)
    group = described(node)
    assert (group.group_state, group.members) == ("Empty", [])
    assert (group.group_epoch, group.assignment_epoch) == (epoch + 1, epoch + 1)
    assert ask(node, share_beat("m", epoch)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_removal_that_cannot_be_written_is_tried_again() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    node.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    node.scheduler.run_for(45_500)
    assert len(described(node).members) == 1
    node.log.append_error = ErrorCode.NONE
    node.scheduler.run_for(1_000)
    assert described(node).members == []


def test_a_member_that_leaves_has_no_session() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    answer = ask(node, share_beat("m", -1))
    assert (answer.error_code, answer.member_epoch) == (0, -1)
    appended = len(node.log.batches)
    node.scheduler.run_for(100_000)
    assert len(node.log.batches) == appended


def test_a_restart_keeps_the_group_and_begins_its_sessions_again() -> None:
    node = GroupNode(**NO_INTERVAL)
    epoch = joined(node)
    before = described(node)
    node.restart()
    assert described(node) == before
    answer = ask(node, share_beat("m", epoch))
    assert (answer.member_epoch, answer.assignment) == (epoch, None)
    node.restart()
    node.scheduler.run_for(46_000)
    assert described(node).group_state == "Empty"


def test_the_broker_that_does_not_coordinate_refuses() -> None:
    node = GroupNode()
    node.coordinator.shutdown()
    answer = ask(node, share_beat("m", 0, "conversation"))
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert described(node).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_write_that_fails_joins_nobody_and_initializes_nothing() -> None:
    node = GroupNode()
    node.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    answer = ask(node, share_beat("m", 0, "conversation"))
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert node.shares.states.asked == []
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND


# -- other kinds of groups ---------------------------------------------------------------------


def test_no_other_kind_of_member_joins_a_share_group() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    answer = ask(node, joining("g"), 9)
    assert (answer.error_code, answer.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    answer = ask(node, joining("g", "someone"), 9)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert ask(node, syncing("g", 1, "m"), 3).error_code == unknown
    assert ask(node, beat("g", 1, "m"), 4).error_code == unknown
    assert ask(node, leaving("g", ("m", None)), 5).members[0].error_code == unknown
    request = ConsumerGroupHeartbeatRequest(
        "g",
        "c",
        0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["conversation"],
        topic_partitions=[],
    )
    assert ask(node, request).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert states_of(node) == ["Stable"]


def test_a_share_member_joins_no_other_kind_of_group() -> None:
    node = GroupNode(**NO_INTERVAL)
    ask(node, committing("g", 5), 9)
    for epoch, text in ((0, "not a share group"), (3, "not a share group")):
        answer = ask(node, share_beat("m", epoch, "conversation"))
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert text in answer.error_message
    answer = ask(node, share_beat("m", 3, group="absent"))
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "not found" in answer.error_message
    assert described(node).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_share_group_has_no_committed_offsets() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    error = ask(node, committing("g", 5), 9).topics[0].partitions[0].error_code
    assert error == ErrorCode.GROUP_ID_NOT_FOUND
    fetched = ask(node, fetching("g", ["conversation"]), 9).groups[0]
    assert fetched.error_code == ErrorCode.NONE
    assert fetched.topics[0].partitions[0].committed_offset == -1
    assert ask(node, OffsetDeleteRequest("g"), 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_other_descriptions_do_not_know_a_share_group() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    group = ask(node, describing("g"), 6).groups[0]
    assert (group.error_code, group.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    group = ask(node, describing("g"), 5).groups[0]
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Dead")
    group = ask(node, ConsumerGroupDescribeRequest(["g"])).groups[0]
    assert (group.error_code, group.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "")


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([], [], ["g", "classic"]),
        (["stable"], [], ["g"]),
        ([], ["SHARE"], ["g"]),
        (["Empty"], ["share"], []),
        (["Assigning"], ["share"], []),
    ],
)
def test_it_is_listed(states: list[str], types: list[str], names: list[str]) -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    ask(node, committing("classic", 5), 9)
    groups = ask(node, ListGroupsRequest(states, types), 5).groups
    assert sorted(group.group_id for group in groups) == sorted(names)
    shares = [group for group in groups if group.group_id == "g"]
    assert all((g.protocol_type, g.group_type) == ("share", "share") for g in shares)


# -- topics and deletion -----------------------------------------------------------------------


def test_a_deleted_topic_is_forgotten() -> None:
    node = GroupNode(**NO_INTERVAL)
    epoch = joined(node)
    node.image = image_with(conversation=(bytes(range(16)), 1))
    node.coordinator.on_topics_deleted({TOPIC_ID: "conversation"})
    node.scheduler.run_for(0)
    node.shares.states.asked = []
    answer = ask(node, share_beat("m", epoch))
    assert assigned(answer) == []
    new = SharePartitionKey("g", bytes(range(16)), 0)
    assert node.shares.states.asked == [("initialize", new)]
    node.scheduler.run_for(0)
    assert assigned(ask(node, share_beat("m", epoch + 1))) == [0]


def deletion(node: GroupNode) -> int:
    error: int = ask(node, DeleteGroupsRequest(["g"]), 2).results[0].error_code
    return error


def test_an_empty_group_stays_until_it_is_deleted_with_its_states() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    assert deletion(node) == ErrorCode.NON_EMPTY_GROUP
    ask(node, share_beat("m", -1))
    node.scheduler.run_for(10 * 86_400_000)
    assert states_of(node) == ["Empty"], "no expiry removes it"
    assert deletion(node) == ErrorCode.NONE
    assert node.shares.states.states == {}
    assert states_of(node) == []
    node.restart()
    assert states_of(node) == []
    assert deletion(node) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deletion_that_fails_is_repeated_by_the_next() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    ask(node, share_beat("m", -1))
    node.shares.states.failures = {1: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert deletion(node) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert states_of(node) == ["Empty"]
    assert node.shares.states.states.keys() == {KEYS[1]}
    node.shares.states.failures = {}
    node.restart()
    assert deletion(node) == ErrorCode.NONE
    assert node.shares.states.states == {} and states_of(node) == []


def test_a_deletion_gives_way_to_a_member_that_joins_meanwhile() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    ask(node, share_beat("m", -1))
    node.shares.states.held = []
    wire = node.connect()
    wire.send(DeleteGroupsRequest(["g"]), 2)
    ask(node, share_beat("m2", 0, "conversation"))
    node.shares.states.release()
    assert wire.receive().results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    assert states_of(node) == ["Stable"]


def test_a_deletion_also_deletes_states_that_began_meanwhile() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    ask(node, share_beat("m", -1))
    node.shares.states.held = []
    wire = node.connect()
    wire.send(DeleteGroupsRequest(["g"]), 2)
    held: list[Callable[[], None]] = node.shares.states.held
    node.shares.states.held = None
    ask(node, share_beat("m2", 0, "conversation"))
    node.scheduler.run_for(0)
    ask(node, share_beat("m2", -1))
    for answer in held:
        answer()
    assert wire.receive().results[0].error_code == ErrorCode.NONE
    assert node.shares.states.states == {} and states_of(node) == []


def test_states_of_a_deleted_topic_do_not_stop_a_deletion() -> None:
    node = GroupNode(**NO_INTERVAL)
    joined(node)
    ask(node, share_beat("m", -1))
    node.shares.states.failure = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert deletion(node) == ErrorCode.NONE
    assert states_of(node) == []


def test_epochs_of_heartbeats_are_counted() -> None:
    node = GroupNode(**NO_INTERVAL)
    epoch = joined(node)
    assert node.coordinator.metrics.share_rebalances == 2
    ask(node, share_beat("m", epoch))
    ask(node, share_beat("m", -1))
    assert node.coordinator.metrics.share_rebalances == 2
    assert node.coordinator.group_counts()["share", "Empty"] == 1

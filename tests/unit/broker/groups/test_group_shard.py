"""A shard after a restart is the shard before it; expiry, deletion and foreign records."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker.coordinator.coordinator_log import LogRecord
from broker.coordinator.coordinator_partitions import partition_for
from broker.groups.group_records import group_metadata_key, offset_commit_record
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.group_records import OffsetCommitValue
from protocol.messages.list_groups import ListGroupsRequest
from tests.clients.group_conversation import committing, describing, fetching, joining
from tests.unit.broker.groups.playbook import PARTITIONS, TOPIC_ID, GroupNode, Playbook

HOUR_MS = 3_600_000


def _seen(play: Playbook) -> Any:
    described = play.admin.call(describing(play.group), 5).groups[0]
    offsets = play.admin.call(fetching(play.group, None), 9).groups[0].topics
    return described, offsets


def test_a_stable_group_is_the_same_after_a_restart() -> None:
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    play.commit("a", 7)
    before = _seen(play)
    play.node.restart()
    assert _seen(play) == before
    play.taken()
    play.beat("a", "b")
    play.sync("a")
    play.join("b")
    play.commit("a", 8)
    assert play.taken() == [
        "0 a beat NONE",
        "0 b beat NONE",
        "0 a synced 'a'",
        "0 b joined 1 range follows a",
        "0 a commit NONE",
    ]


def test_a_static_member_is_known_after_a_restart() -> None:
    """KAFKA-10284: its id survives, also one that replaced another."""
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    play.actor("b").member_id = ""
    play.join("b")
    play.node.restart()
    play.taken()
    play.beat("b")
    play.actor("b").member_id = ""
    play.join("b")
    play.sync("b")
    assert play.taken() == [
        "0 b beat NONE",
        "0 b joined 1 range follows a",
        "0 b synced 'b'",
    ]


def test_members_that_do_not_come_back_after_a_restart_expire() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.node.restart()
    play.wait(9)
    assert play.state == "Stable"
    play.wait(1)
    assert play.state == "Empty"


def test_a_rebalance_under_way_falls_back_to_the_last_generation() -> None:
    play = Playbook()
    play.stable("a")
    play.join("b")
    play.node.restart()
    assert play.taken() == ["0 b join NOT_COORDINATOR"]
    assert play.state == "Stable"
    play.beat("a")
    play.join("b")
    assert play.taken() == ["0 a beat NONE", "0 b join UNKNOWN_MEMBER_ID"]


def test_what_is_parked_learns_that_the_coordinator_has_gone() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.sync("b")
    play.node.restart()
    assert play.taken() == ["0 b sync NOT_COORDINATOR"]
    assert play.state == "Empty", "the group itself was in the log"


def test_a_group_over_its_limit_after_a_restart_rebalances() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.node.config = play.node.config._replace(group_max_size=1)
    play.node.restart()
    assert play.state == "PreparingRebalance"
    play.join("a", "b")
    assert play.taken() == ["0 b join GROUP_MAX_SIZE_REACHED"]


def test_a_new_generation_follows_the_last_one_in_the_log() -> None:
    play = Playbook()
    play.stable("a")
    play.leave("a")
    play.node.restart()
    play.actor("a").member_id = ""
    play.taken()
    play.join("a")
    play.settle()
    assert play.taken() == ["0 a joined 3 range leads a"]


def test_deleted_groups_and_offsets_stay_deleted() -> None:
    play = Playbook()
    play.stable("a")
    play.commit("a", 7)
    play.leave("a")
    assert play.admin.call(DeleteGroupsRequest(["g"]), 2).results[0].error_code == ErrorCode.NONE
    play.node.restart()
    assert play.state == "Dead"
    assert play.committed() == -1


def test_a_pending_member_of_a_deleted_group_is_forgotten() -> None:
    node = GroupNode()
    wire = node.connect()
    pending = wire.call(joining("g"), 9).member_id
    wire.call(DeleteGroupsRequest(["g"]), 2)
    assert wire.call(joining("g", pending), 9).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    before = node.scheduler.pending()
    node.scheduler.run_for(HOUR_MS)
    assert before == node.scheduler.pending() == 1, "only the timer of offset expiry"


def test_an_idle_group_holds_no_timer() -> None:
    play = Playbook()
    play.stable("a")
    play.commit("a", 3)
    assert play.node.scheduler.pending() == 2, "the member's session and offset expiry"
    play.leave("a")
    play.settle()
    assert play.node.scheduler.pending() == 1


def test_heartbeats_arm_no_timer() -> None:
    play = Playbook()
    play.stable("a")
    before = play.node.scheduler._made
    for _ in range(100):
        play.beat("a")
    assert play.node.scheduler._made == before


def test_offsets_of_an_empty_group_expire_and_the_group_with_them() -> None:
    play = Playbook(offsets_retention_minutes=60, offsets_retention_check_interval_ms=60_000)
    play.stable("a")
    play.commit("a", 7)
    play.node.scheduler.run_for(1)
    play.leave("a")
    play.node.scheduler.run_for(HOUR_MS - 60_000)
    assert (play.state, play.committed()) == ("Empty", 7)
    play.node.scheduler.run_for(2 * 60_000)
    assert (play.state, play.committed()) == ("Dead", -1)
    play.node.restart()
    assert (play.state, play.committed()) == ("Dead", -1)


def test_offsets_of_subscribed_topics_do_not_expire() -> None:
    """KAFKA-8069, KAFKA-13636: however old the commit, as long as there are members."""
    play = Playbook(offsets_retention_minutes=60, offsets_retention_check_interval_ms=60_000)
    play.stable("a")
    play.commit("a", 7)
    for _ in range(90):
        play.wait(60, "a")
    assert (play.state, play.committed()) == ("Stable", 7)


def test_offsets_of_a_simple_consumer_expire_after_the_last_commit() -> None:
    node = GroupNode(offsets_retention_minutes=60, offsets_retention_check_interval_ms=60_000)
    wire = node.connect()
    wire.call(committing("simple", 5), 9)
    node.scheduler.run_for(HOUR_MS / 2)
    wire.call(committing("simple", 6), 9)
    node.scheduler.run_for(HOUR_MS / 2 + 120_000)
    assert wire.call(describing("simple"), 5).groups[0].group_state == "Empty"
    node.scheduler.run_for(HOUR_MS / 2)
    assert wire.call(describing("simple"), 5).groups[0].group_state == "Dead"


def test_expiry_that_cannot_be_written_is_tried_again() -> None:
    node = GroupNode(offsets_retention_minutes=1, offsets_retention_check_interval_ms=60_000)
    wire = node.connect()
    wire.call(committing("simple", 5), 9)
    node.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    node.scheduler.run_for(3 * 60_000)
    assert wire.call(describing("simple"), 5).groups[0].group_state == "Empty"
    node.log.append_error = ErrorCode.NONE
    node.scheduler.run_for(60_000)
    assert wire.call(describing("simple"), 5).groups[0].group_state == "Dead"


def test_offsets_of_a_deleted_topic_are_removed_in_every_group() -> None:
    node = GroupNode()
    wire = node.connect()
    for group in ("a", "b", "c"):
        wire.call(committing(group, 5), 9)
    node.coordinator.on_topics_deleted({TOPIC_ID: "conversation"})
    node.restart()
    for group in ("a", "b", "c"):
        assert wire.call(fetching(group, None), 9).groups[0].topics == []


def _offset(answer: Any) -> int:
    return int(answer.groups[0].topics[0].partitions[0].committed_offset)


def test_a_commit_is_answered_and_shown_when_it_is_committed() -> None:
    """A stable read waits for it; another one is told what was there before, at once."""
    node = GroupNode()
    wire, stable, reader = node.connect(), node.connect(), node.connect()
    wire.call(committing("g", 4), 9)
    node.log.commit_at_once = False
    wire.send(committing("g", 5), 9)
    stable.send(fetching("g", ["conversation"], require_stable=True), 9)
    assert _offset(reader.call(fetching("g", ["conversation"]), 9)) == 4
    assert not wire.answered and not stable.answered
    node.log.commit(partition_for("g", PARTITIONS))
    assert wire.receive().topics[0].partitions[0].error_code == ErrorCode.NONE
    assert _offset(stable.receive()) == 5
    assert _offset(reader.call(fetching("g", ["conversation"]), 9)) == 5


def test_a_removed_offset_is_shown_until_that_is_committed() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 4), 9)
    node.log.commit_at_once = False
    node.coordinator.on_topics_deleted({TOPIC_ID: "conversation"})
    assert _offset(wire.call(fetching("g", ["conversation"]), 9)) == 4
    node.log.commit(partition_for("g", PARTITIONS))
    assert _offset(wire.call(fetching("g", ["conversation"]), 9)) == -1


def test_a_commit_that_is_never_committed_is_refused() -> None:
    node = GroupNode()
    node.log.commit_at_once = False
    wire, stable = node.connect(), node.connect()
    wire.send(committing("g", 5), 9)
    stable.send(fetching("g", ["conversation"], require_stable=True), 9)
    node.scheduler.run_for(5_000)
    error = wire.receive().topics[0].partitions[0].error_code
    assert error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert stable.receive().groups[0].error_code == ErrorCode.NOT_COORDINATOR
    assert _offset(wire.call(fetching("g", ["conversation"]), 9)) == -1


def test_a_new_coordinator_tells_no_offset_before_it_knows_what_is_committed() -> None:
    """The one before may have acknowledged all that the new one loads."""
    node = GroupNode()
    node.log.commit_at_once = False
    node.connect().send(committing("g", 5), 9)
    node.restart()
    reader = node.connect()
    reader.send(fetching("g", ["conversation"]), 9)
    assert not reader.answered
    node.log.commit(partition_for("g", PARTITIONS))
    assert _offset(reader.receive()) == 5


def test_a_decision_changes_nothing_before_its_records_are_replayed() -> None:
    node = GroupNode()
    node.connect().call(committing("g", 5), 9)
    (shard,) = (one for one in node.coordinator._runtime.active_shards() if one.groups)
    before = list(node.log.records[partition_for("g", PARTITIONS)])
    commit = in_one_go(shard.commit_offsets(committing("g", 6), 9))
    fenced = committing("g", 6, generation_id_or_member_epoch=3)
    refused = in_one_go(shard.commit_offsets(fenced, 9))
    deletion = in_one_go(shard.delete_group("g"))
    assert [len(one.records) for one in (commit, refused, deletion)] == [1, 0, 2]
    assert (refused.reply, refused.error) == ([], ErrorCode.UNKNOWN_MEMBER_ID)
    assert (
        list(shard.groups) == ["g"] and node.log.records[partition_for("g", PARTITIONS)] == before
    )
    found = shard.offsets.fetch("g", [("conversation", [0])], require_stable=False)
    committed = found.find("conversation", 0, bytes(16))
    assert committed is not None and committed.offset == 5


def test_a_new_group_that_cannot_be_written_is_refused() -> None:
    node = GroupNode()
    node.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    answer = node.connect().call(joining("g"), 9)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    node.log.append_error = ErrorCode.NONE
    assert node.connect().call(ListGroupsRequest(), 5).groups == []


def test_records_of_other_kinds_of_groups_are_kept_and_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node = GroupNode()
    partition = partition_for("g", PARTITIONS)
    foreign = [LogRecord(n, b"\0\x11\0\1g", b"\0\0\0\0\0\1") for n in range(2)]
    foreign.append(LogRecord(2, b"\0\x17\0\1g", b"\0\0\0\0\0\1"))
    node.log.records[partition] = list(foreign)
    node.log.commit(partition)
    with caplog.at_level(logging.WARNING):
        node.restart()
    assert [record.getMessage() for record in caplog.records] == [
        f"__consumer_offsets-{partition} holds records that Ottla keeps but does not understand: "
        "2 StreamsGroupMetadata, 1 StreamsGroupTopology"
    ]
    assert node.log.records[partition] == foreign


def test_a_damaged_record_makes_the_partition_unavailable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    node = GroupNode()
    partition = partition_for("g", PARTITIONS)
    node.log.records[partition] = [LogRecord(0, group_metadata_key("g"), b"\0\3damaged")]
    with caplog.at_level(logging.ERROR):
        node.restart()
    assert "cannot be loaded" in caplog.text
    assert node.connect().call(joining("g"), 9).error_code == ErrorCode.NOT_COORDINATOR
    other = next(f"g{n}" for n in range(99) if partition_for(f"g{n}", PARTITIONS) != partition)
    assert node.connect().call(joining(other), 9).error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_offsets_without_a_group_record_are_a_simple_group() -> None:
    node = GroupNode()
    partition = partition_for("old", PARTITIONS)
    key, value = offset_commit_record("old", "conversation", 0, OffsetCommitValue(offset=4))
    node.log.records[partition] = [LogRecord(0, key, value)]
    node.log.commit(partition)
    node.restart()
    wire = node.connect()
    listed = wire.call(ListGroupsRequest(), 5).groups
    assert [(g.group_id, g.group_state, g.protocol_type) for g in listed] == [("old", "Empty", "")]
    assert (
        wire.call(fetching("old", None), 9).groups[0].topics[0].partitions[0].committed_offset == 4
    )

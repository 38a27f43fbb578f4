"""Heartbeats: what `tests/golden/test_consumer_groups.py` has no conversation about."""

from __future__ import annotations

from broker.groups.consumer.state.records import target_epoch_record
from protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.stage import GROUP, Stage, T, U, beat, joining
from tests.unit.broker.groups.playbook import image_with


def test_one_heartbeat_is_one_batch() -> None:
    stage = Stage()
    answer = stage.tell(joining("m", "t"))
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (2, 5_000)
    (batch,) = stage.batches
    assert [key[1] for key, _ in batch] == [5, 3, 7, 6, 8]


def test_a_heartbeat_without_news_writes_nothing() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    before = len(stage.batches)
    for _ in range(3):
        answer = stage.tell(beat("m", 2))
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 2, None)
    assert len(stage.batches) == before


def test_a_group_has_no_room_for_more_than_it_may() -> None:
    stage = Stage(group_consumer_max_size=2)
    assert stage.tell(joining("a", "t")).error_code == 0
    assert stage.tell(joining("b", "t")).error_code == 0
    assert stage.tell(joining("c", "t")).error_code == 81
    assert stage.tell(joining("b", "t")).error_code == 0


def test_the_next_target_waits_for_its_interval() -> None:
    stage = Stage(interval_ms=1000)
    stage.tell(joining("m", "t"))
    late = stage.tell(joining("n", "t"))
    assert late.member_epoch == 2
    assert late.assignment is not None and late.assignment.topic_partitions == []
    assert stage.group.state.value == "Assigning"
    stage.wait(999)
    assert stage.tell(beat("n", 2)).member_epoch == 2
    stage.wait(1)
    assert stage.tell(beat("n", 2)).member_epoch == 3
    assert stage.group.assignment_epoch == 3


def test_a_join_storm_within_one_interval_gives_one_target() -> None:
    stage = Stage(interval_ms=1000)
    for number in range(50):
        stage.tell(joining(f"m{number}", "t"))
    assert (stage.group.epoch, stage.group.assignment_epoch) == (51, 2)
    stage.wait(1000)
    stage.tell(beat("m0", 2))
    assert stage.group.assignment_epoch == 51


def test_a_clock_that_went_back_holds_nothing_up() -> None:
    stage = Stage(interval_ms=1000)
    stage.tell(joining("m", "t"))
    ahead = target_epoch_record(GROUP, 2, stage.scheduler.wall_ms() + 60_000)
    stage.replay([ahead])
    assert stage.tell(joining("n", "t")).member_epoch == 3


def test_a_topic_that_was_made_again_under_its_name_is_another_one() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    other = bytes([9]) * 16
    stage.image = image_with(t=(other, 4), u=(U, 2))
    told = stage.tell(beat("m", 2))
    assert told.assignment is not None and told.assignment.topic_partitions == []
    assert stage.group.state.value == "Reconciling"
    told = stage.tell(beat("m", 2, {}))
    assert told.member_epoch == 3
    assert [topic.topic_id for topic in told.assignment.topic_partitions] == [other]
    assert not stage.group.is_free(other, 0)
    assert stage.group.is_free(T, 0)


def test_metadata_that_says_nothing_new_is_looked_at_once() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.image = image_with(t=(T, 4), u=(U, 2))
    stage.tell(beat("m", 2))
    assert stage.group.seen_topics is stage.image.topics
    assert stage.group.epoch == 2


def test_an_append_that_is_refused_changes_nothing() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.refuse = ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.tell(joining("n", "t"))
    assert list(stage.group.members) == ["m"]
    stage.refuse = ErrorCode.NONE
    assert stage.tell(joining("n", "t")).member_epoch == 3


def test_a_static_member_keeps_its_share_under_a_new_id() -> None:
    stage = Stage()
    stage.tell(joining("a", "t", instance_id="i"))
    stage.tell(joining("b", "t", instance_id="j"))
    stage.tell(beat("a", 2, instance_id="i"))
    stage.tell(beat("a", 2, {T: [0, 1]}, instance_id="i"))
    stage.tell(beat("a", -2, instance_id="i"))
    answer = stage.tell(joining("c", "t", "u", instance_id="i"))
    assert answer.member_epoch == 4
    assert stage.group.holder(T, 0) == "c"
    assert "a" not in stage.group.members
    assert stage.groups[GROUP].static_members == {"j": "b", "i": "c"}


def test_a_new_member_that_changes_the_assignor_begins_an_epoch() -> None:
    """The assignor changes the epoch even if no member subscribes to a topic that exists (4.4)."""
    stage = Stage()
    assert stage.tell(joining("m")).member_epoch == 1
    assert stage.tell(joining("n", server_assignor="uniform")).member_epoch == 1
    assert stage.tell(joining("o", server_assignor="range")).member_epoch == 1
    assert stage.tell(joining("p", server_assignor="range")).member_epoch == 2

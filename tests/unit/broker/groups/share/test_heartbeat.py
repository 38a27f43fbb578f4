"""Heartbeats of a share group. The conversation at the beginning is one with Apache Kafka."""

from __future__ import annotations

import pytest

from broker.groups.share.initialization import InitializedTopic, StateTopics
from broker.groups.share.share_group import ShareGroupState
from protocol.errors import ErrorCode
from tests.unit.broker.groups.share.share_stage import Stage, topic_id

T = topic_id("t")


def test_a_conversation_with_apache_kafka() -> None:
    stage = Stage(t=1)
    steps: list[tuple[str, int, tuple[str, ...], int, int, dict[str, tuple[int, ...]] | None]] = [
        ("", 0, ("t",), 42, 0, None),
        (" ", 0, ("t",), 42, 0, None),
        ("m1", 0, (), 42, 0, None),
        ("m1", -2, (), 42, 0, None),
        ("m1", 0, ("t",), 0, 2, {}),
        ("m1", 2, (), 0, 3, {"t": (0,)}),
        ("m1", 3, (), 0, 3, None),
        ("m1", 3, ("t",), 0, 3, {"t": (0,)}),
        ("m1", 2, (), 0, 3, None),
        ("m1", 1, (), 110, 0, None),
        ("m1", 4, (), 110, 0, None),
        ("m9", 3, (), 25, 0, None),
        ("m2", 0, ("t",), 0, 4, {"t": (0,)}),
        ("m1", 3, (), 0, 4, None),
        ("m1", -1, (), 0, -1, None),
        ("m2", -1, (), 0, -1, None),
    ]
    for member, epoch, names, error, answered, assignment in steps:
        response = stage.beat(member, epoch, *names).response
        stage.initialize()
        assert (response.error_code, response.member_epoch) == (error, answered), (member, epoch)
        got = response.assignment
        assert (got is None) == (assignment is None), (member, epoch)
        if got is not None:
            assert {x.topic_id: tuple(x.partitions) for x in got.topic_partitions} == {
                topic_id(name): partitions for name, partitions in (assignment or {}).items()
            }
    assert stage.group.state is ShareGroupState.EMPTY
    assert stage.group.epoch == 6


def test_the_records_of_a_join() -> None:
    stage = Stage(t=1)
    stage.beat("m1", 0, "t")
    assert stage.kinds() == [10, 11, 12, 13, 14, 15] or stage.kinds() == [10, 11, 13, 12, 14, 15]


def test_a_partition_is_assigned_after_it_is_initialized() -> None:
    stage = Stage(t=2)
    stage.beat("m1", 0, "t")
    asked = stage.to_initialize[0]
    assert asked.state_epoch == 2
    assert asked.topics == {T: InitializedTopic("t", (0, 1))}
    assert asked.start_offset(T) == -1
    stage.beat("m1", 2)
    assert len(stage.to_initialize) == 1, "it is under way"
    assert stage.assigned("m1") == {}
    stage.initialize()
    stage.beat("m1", 2)
    assert stage.assigned("m1") == {"t": (0, 1)}


def test_new_partitions_of_a_known_topic_begin_at_their_start() -> None:
    stage = Stage(t=1)
    stage.beat("m1", 0, "t")
    stage.initialize()
    stage.beat("m1", 2)
    stage.topics = {"t": 3}
    stage.beat("m1", 3)
    (asked,) = stage.to_initialize
    assert asked.topics == {T: InitializedTopic("t", (1, 2))}
    assert asked.start_offset(T) == 0
    stage.initialize()
    stage.beat("m1", 4)
    assert stage.assigned("m1") == {"t": (0, 1, 2)}


def test_an_initialization_that_takes_too_long_begins_again() -> None:
    stage = Stage(t=1)
    stage.beat("m1", 0, "t")
    stage.to_initialize = []
    stage.retried = frozenset({T})
    stage.beat("m1", 2)
    assert [asked.topics for asked in stage.to_initialize] == [{T: InitializedTopic("t", (0,))}]


def test_the_next_assignment_waits_for_its_interval() -> None:
    stage = Stage(interval_ms=1_000, t=2)
    stage.beat("m1", 0, "t")
    stage.initialize()
    stage.beat("m1", 2)
    assert stage.group.state is ShareGroupState.STABLE
    assert stage.group.epoch > stage.group.assignment_epoch
    assert stage.beat("m2", 0, "t").response.member_epoch == 2
    stage.now_ms += 1_000
    stage.beat("m1", 2)
    stage.beat("m2", 2)
    assert stage.assigned("m1") == {"t": (0,)} and stage.assigned("m2") == {"t": (1,)}


def test_a_coordinator_whose_clock_is_behind_does_not_wait() -> None:
    stage = Stage(interval_ms=1_000, t=1)
    stage.beat("m1", 0, "t")
    stage.initialize()
    stage.now_ms -= 60_000
    stage.beat("m1", 2)
    assert stage.assigned("m1") == {"t": (0,)}


def test_members_share_a_partition() -> None:
    stage = Stage(t=1)
    for member in ("m1", "m2", "m3"):
        stage.beat(member, 0, "t")
        stage.initialize()
    for member in ("m1", "m2", "m3"):
        stage.beat(member, stage.group.members[member].epoch)
        assert stage.assigned(member) == {"t": (0,)}


def test_a_full_group_takes_no_new_member() -> None:
    stage = Stage(max_size=1, t=1)
    stage.beat("m1", 0, "t")
    assert stage.beat("m2", 0, "t").response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.beat("m1", 0, "t").response.error_code == ErrorCode.NONE


def test_a_subscription_that_changes_begins_an_epoch() -> None:
    stage = Stage(t=1, u=1)
    stage.beat("m1", 0, "t")
    stage.initialize()
    stage.beat("m1", 2)
    stage.beat("m1", 3, "u")
    stage.initialize()
    assert stage.assigned("m1") == {}
    stage.beat("m1", 4)
    assert stage.assigned("m1") == {"u": (0,)}


def test_a_load_gives_the_same_group() -> None:
    stage = Stage(t=3, u=2)
    stage.beat("m1", 0, "t")
    stage.initialize()
    stage.beat("m2", 0, "t", "u")
    stage.initialize()
    for _ in range(3):
        for member in ("m1", "m2"):
            stage.beat(member, stage.group.members[member].epoch)
    stage.beat("m1", -1)
    loaded, group = stage.loaded(), stage.group
    assert loaded.members == group.members and loaded.targets == group.targets
    assert (loaded.epoch, loaded.assignment_epoch) == (group.epoch, group.assignment_epoch)
    assert loaded.state_topics == group.state_topics


def test_a_group_is_deleted_with_its_tombstones() -> None:
    stage = Stage(t=1)
    stage.beat("m1", 0, "t")
    stage.initialize()
    assert stage.group.delete_error() is ErrorCode.NON_EMPTY_GROUP
    stage.beat("m1", -1)
    assert stage.group.delete_error() is ErrorCode.NONE
    assert stage.group.is_idle
    assert stage.group.expiry_clock() is None, "only DeleteGroups removes it"
    stage.write(stage.group.tombstones())
    assert stage.group.state_topics == StateTopics()


@pytest.mark.parametrize(("names", "count"), [(("t",), 1), (("t", "absent"), 1), (("absent",), 0)])
def test_topics_that_do_not_exist_are_assigned_nothing(names: tuple[str, ...], count: int) -> None:
    stage = Stage(t=1)
    stage.beat("m1", 0, *names)
    stage.initialize()
    stage.beat("m1", 2)
    assert len(stage.assigned("m1")) == count

"""How members go."""

from __future__ import annotations

from broker.groups.consumer.departure import find_member_to_remove, removal
from broker.groups.consumer.state.group import ConsumerGroup
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.stage import Stage, T, beat, joining, slices


def test_who_leaves_is_gone_and_the_group_counts_on() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.tell(joining("n", "t"))
    answer = stage.tell(beat("m", -1))
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("m", -1, 0)
    assert list(stage.group.members) == ["n"]
    assert stage.group.epoch == 4
    assert [key[1] for key, _ in stage.batches[-1]] == [8, 7, 5, 3]
    assert stage.group.is_free(T, 0)


def test_who_leaves_for_a_while_keeps_all() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", instance_id="i"))
    assert stage.tell(beat("m", -2, instance_id="i")).member_epoch == -2
    assert stage.group.holder(T, 0) == "m"
    assert stage.group.epoch == 2


def test_who_may_not_leave() -> None:
    stage = Stage()
    assert stage.tell(beat("m", -1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    stage.tell(joining("m", "t", instance_id="i"))
    for one, error in (
        (beat("x", -1), ErrorCode.UNKNOWN_MEMBER_ID),
        (beat("x", -1, instance_id="i"), ErrorCode.FENCED_INSTANCE_ID),
        (beat("m", -2, instance_id="j"), ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        assert stage.tell(one).error_code == error
    assert len(stage.batches) == 1


def test_whom_an_administrator_names() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", instance_id="i"))
    stage.tell(joining("n", "t"))
    group = stage.group

    def named(member_id: str, instance_id: str | None) -> str:
        found = find_member_to_remove(group, member_id, instance_id)
        return found.name if isinstance(found, ErrorCode) else found.member_id

    assert named("n", None) == "n"
    assert named("m", None) == "m"
    assert named("", "i") == "m"
    assert named("m", "i") == "m"
    assert named("n", "i") == "FENCED_INSTANCE_ID"
    assert named("", "j") == "UNKNOWN_MEMBER_ID"
    assert named("x", None) == "UNKNOWN_MEMBER_ID"


def test_the_last_who_subscribes_by_an_expression_takes_it_along() -> None:
    stage = Stage()
    for member in ("m", "n"):
        stage.tell(joining(member, subscribed_topic_regex="t"))
    topics = stage.image.topics
    one, both = [stage.group.members["m"]], list(stage.group.members.values())
    assert [key[1] for key, _ in in_one_go(removal(stage.group, one, topics))] == [8, 7, 5, 3]
    gone = in_one_go(removal(stage.group, both, topics))
    assert [key[1] for key, _ in gone] == [8, 7, 5, 8, 7, 5, 16, 3, 6]
    assert in_one_go(removal(ConsumerGroup("g"), [], topics)) == []


def test_many_go_in_slices() -> None:
    stage = Stage()
    for number in range(131):
        stage.tell(joining(f"m{number}", "t"))
    everybody = list(stage.group.members.values())
    for members, count in ((everybody[:128], 1), (everybody[:130], 2)):
        found, records = slices(removal(stage.group, members, stage.image.topics))
        assert (found, len(records)) == (count, 3 * len(members) + 1)

"""ConsumerGroupDescribe of one group."""

from __future__ import annotations

from typing import Any

from broker.groups.consumer.description import described
from broker.groups.consumer.state.member import Subscription
from broker.groups.consumer.state.records import member_record
from ground.sliced_work import in_one_go
from protocol.messages.group_records import ClassicMemberMetadata
from tests.unit.broker.groups.consumer.stage import GROUP, Stage, T, U, beat, joining, slices
from tests.unit.broker.groups.playbook import image_with


def shown(assignment: Any) -> dict[str, list[int]]:
    return {topic.topic_name: topic.partitions for topic in assignment.topic_partitions}


def test_what_is_to_be_given_up_is_still_shown() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", rack_id="r"))
    stage.tell(joining("n", "t", instance_id="i"))
    stage.tell(beat("m", 2))
    group = in_one_go(described(stage.group, "uniform", stage.image.topics))
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor_name == "uniform"
    m, n = group.members
    assert (m.member_id, m.rack_id, m.member_epoch, m.member_type) == ("m", "r", 2, 1)
    assert (m.client_id, m.client_host, m.subscribed_topic_names) == ("client", "/host", ["t"])
    assert shown(m.assignment) == {"t": [0, 1, 2, 3]}
    assert shown(m.target_assignment) == {"t": [0, 1]}
    assert (n.instance_id, n.subscribed_topic_regex, shown(n.assignment)) == ("i", "", {})


def test_topics_that_are_gone_are_left_out() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", "u"))
    (member,) = in_one_go(described(stage.group, "uniform", image_with(u=(U, 2)).topics)).members
    assert shown(member.assignment) == shown(member.target_assignment) == {"u": [0, 1]}
    assert T in stage.group.members["m"].position.assigned


def test_classic_members_are_named_so() -> None:
    stage = Stage()
    classic = Subscription(classic=ClassicMemberMetadata(1000, []))
    stage.replay([member_record(GROUP, "c", classic)])
    (member,) = in_one_go(described(stage.group, "uniform", stage.image.topics)).members
    assert member.member_type == 0


def test_many_are_shown_in_slices() -> None:
    stage = Stage()
    for number in range(130):
        stage.tell(joining(f"m{number}", "t"))
    count, group = slices(described(stage.group, "uniform", stage.image.topics))
    assert (count, len(group.members)) == (2, 130), "most have nothing, and are a piece each"

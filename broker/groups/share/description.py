"""The description of a share group for ShareGroupDescribe.

Owns only its form, which is built in slices. Deleted topics are left out, because their names are
unknown. Never changes a group. Follows KIP-932.
"""

from __future__ import annotations

from broker.groups.share.share_group import ShareGroup, ShareMember
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps
from protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)


def described(group: ShareGroup, assignor: str, topics: TopicsImage) -> Steps[DescribedGroup]:
    """Return the description of a group with all members. `assignor`: the name of the assignor."""
    pace, members = Pace(), []
    for member in list(group.members.values()):
        if pace.is_full(1 + len(member.assigned)):
            yield None
        members.append(_member(member, topics))
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor,
        members=members,
    )


def _member(member: ShareMember, topics: TopicsImage) -> Member:
    """Return a member's entry in ShareGroupDescribe."""
    assigned = []
    for topic_id, partitions in member.assigned.items():
        topic = topics.get_by_id(topic_id)
        if topic is not None:
            assigned.append(TopicPartitions(topic_id, topic.name, list(partitions)))
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        assignment=Assignment(assigned),
    )

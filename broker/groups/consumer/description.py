"""The description of a consumer group for ConsumerGroupDescribe.

Owns only its form, which is built in slices. Partitions that a member must still revoke are shown
as its own. Deleted topics are left out, because their names are unknown. Never changes a group.
Follows KIP-848.
"""

from __future__ import annotations

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.reconciliation.held import Held, Named
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps
from protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1


def described(group: ConsumerGroup, assignor: str, topics: TopicsImage) -> Steps[DescribedGroup]:
    """Return the description of a group with all members. `assignor`: the name of the group's
    assignor."""
    pace, members = Pace(), []
    for member in list(group.members.values()):
        topic_count = len(member.position.assigned) + len(group.target(member.member_id))
        if pace.is_full(1 + topic_count):
            yield None
        members.append(_member(group, member, topics))
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor,
        members=members,
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: TopicsImage) -> Member:
    """Return a member's entry in ConsumerGroupDescribe. Its assignment includes what it must still
    revoke."""
    subscription, position = member.subscription, member.position
    return Member(
        member_id=member.member_id,
        instance_id=subscription.instance_id,
        rack_id=subscription.rack_id,
        member_epoch=position.epoch,
        client_id=subscription.client_id,
        client_host=subscription.client_host,
        subscribed_topic_names=list(subscription.topics),
        subscribed_topic_regex=subscription.regex,
        assignment=_assignment(_all_held(position.assigned, position.revoking), topics),
        target_assignment=_assignment(group.target(member.member_id), topics),
        member_type=CLASSIC_MEMBER if member.uses_classic_protocol else CONSUMER_MEMBER,
    )


def _all_held(assigned: Held[bytes], revoking: Held[bytes]) -> Named[bytes]:
    """Return the partitions that a member holds, including those that it must still revoke."""
    topic_ids = [*assigned, *(topic_id for topic_id in revoking if topic_id not in assigned)]
    return {
        topic_id: tuple(sorted([*assigned.get(topic_id, ()), *revoking.get(topic_id, ())]))
        for topic_id in topic_ids
    }


def _assignment(named: Named[bytes], topics: TopicsImage) -> Assignment:
    """Return the partitions with their topics' names, without deleted topics."""
    topic_partitions = []
    for topic_id, partitions in named.items():
        topic = topics.get_by_id(topic_id)
        if topic is not None:
            topic_partitions.append(TopicPartitions(topic_id, topic.name, list(partitions)))
    return Assignment(topic_partitions)

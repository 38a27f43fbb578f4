"""The target assignment of a group: the input of the assignor, and the records of its answer.

Owns both, and the members' vote for the assignor. Each member whose target changes gets a record of
type 7. Never writes, and never considers what members hold now: `reconciliation` moves them towards
the target. Follows Kafka's `TargetAssignmentBuilder` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.assignors.assignor import (
    NOTHING_ASSIGNED,
    Assignment,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember, Subscription
from broker.groups.consumer.state.records import target_epoch_record, target_record
from broker.groups.consumer.state.topics import ids_of
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps

_NO_TARGETS: Mapping[str, Assignment] = MappingProxyType({})


class AssignorInput(NamedTuple):
    """The input of an assignor, which nothing changes later."""

    members: Mapping[str, MemberSubscription]
    topics: Mapping[bytes, int]


def voted_assignor(named: Iterable[str | None], names: Sequence[str]) -> str:
    """Return the assignor with the most votes; without votes, the first configured one.

    `named`: the vote of each member. `names`: the configured assignors. In a tie, the assignor that
    is configured first wins.
    """
    votes = dict.fromkeys(names, 0)
    for name in named:
        if name in votes:
            votes[name] += 1
    return max(votes, key=lambda name: votes[name])


def make_assignor_input(
    group: ConsumerGroup,
    members: Sequence[ConsumerMember],
    targets: Mapping[str, Assignment],
    topics: TopicsImage,
) -> AssignorInput:
    """Return the assignor's input for `members`, the members of `group` as they will be.

    `targets`: the targets by member id that `group` does not have yet.
    """
    seen: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    subscribed: dict[str, None] = {}
    inputs = {}
    for member in members:
        subscription = member.subscription
        key = (subscription.topics, subscription.regex)
        topic_ids = seen.get(key)
        if topic_ids is None:
            names = list(group.names_of(subscription))
            topic_ids = seen[key] = ids_of(names, topics)
            subscribed.update(dict.fromkeys(names))
        inputs[member.member_id] = MemberSubscription(
            topic_ids,
            targets.get(member.member_id) or group.target(member.member_id),
            subscription.instance_id,
            subscription.rack_id,
        )
    existing = (topics.get(name) for name in sorted(subscribed))
    return AssignorInput(
        inputs, {topic.id: len(topic.partitions) for topic in existing if topic is not None}
    )


def target_records(
    group: ConsumerGroup,
    members: Iterable[str],
    answer: GroupAssignment,
    epoch: int,
    now_ms: int,
    written: Mapping[str, Assignment] = _NO_TARGETS,
) -> Steps[list[Record]]:
    """Return the records that make `answer` the target of `epoch`.

    These are one for each of `members` whose target differs or is missing, and one for the group.
    `written`: the targets by member id whose records come before, so that `group` lacks them.
    """
    records = []
    pace = Pace()
    for member_id in members:
        target = answer.get(member_id, NOTHING_ASSIGNED)
        if pace.is_full(1 + len(target)):
            yield None
        if written.get(member_id, group.targets.get(member_id)) != target:
            records.append(target_record(group.group_id, member_id, target))
    records.append(target_epoch_record(group.group_id, epoch, now_ms))
    return records


def wants(
    group: ConsumerGroup, subscription: Subscription, topics: TopicsImage
) -> frozenset[bytes]:
    """Return the ids of the existing topics to which a member subscribes now."""
    return ids_of(group.names_of(subscription), topics)

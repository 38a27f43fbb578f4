"""The target assignment of a group: who shall have what, and the records that say so.

Owns the question to the assignor and what becomes of its answer: a record of type 7 for each member
whose target differs. Which assignor is asked the members vote. Never writes, and never looks at
what members have now: `reconciliation` goes from there to here. Follows Kafka's
`TargetAssignmentBuilder` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class Question(NamedTuple):
    """What an assignor is asked: it holds nothing that changes."""

    members: Mapping[str, MemberSubscription]
    topics: Mapping[bytes, int]


def voted_assignor(named: Iterable[str | None], names: Sequence[str]) -> str:
    """The assignor that most members name; the first of the configured ones where none is named.

    `named`: what each member names. Of equally many votes those for the one that is configured
    earlier count.
    """
    votes = dict.fromkeys(names, 0)
    for name in named:
        if name in votes:
            votes[name] += 1
    return max(votes, key=lambda name: votes[name])


def question(
    group: ConsumerGroup,
    members: Sequence[ConsumerMember],
    targets: Mapping[str, Assignment],
    topics: TopicsImage,
) -> Question:
    """What to ask for `members`, which are those of `group` as they will be; `targets` are those
    that it does not know of yet."""
    seen: dict[tuple[tuple[str, ...], str], frozenset[bytes]] = {}
    subscribed: dict[str, None] = {}
    asked = {}
    for member in members:
        subscription = member.subscription
        what = (subscription.topics, subscription.regex)
        topic_ids = seen.get(what)
        if topic_ids is None:
            names = list(group.names_of(subscription))
            topic_ids = seen[what] = ids_of(names, topics)
            subscribed.update(dict.fromkeys(names))
        asked[member.member_id] = MemberSubscription(
            topic_ids,
            targets.get(member.member_id) or group.target(member.member_id),
            subscription.instance_id,
            subscription.rack_id,
        )
    found = (topics.get(name) for name in sorted(subscribed))
    return Question(
        asked, {topic.id: len(topic.partitions) for topic in found if topic is not None}
    )


def target_records(
    group: ConsumerGroup,
    members: Iterable[str],
    answer: GroupAssignment,
    epoch: int,
    now_ms: int,
) -> Steps[list[Record]]:
    """The records by which `answer` is the target of `epoch`: of each of `members` whose own
    differs, or who has none yet, and of the group."""
    records = []
    pace = Pace()
    for member_id in members:
        target = answer.get(member_id, NOTHING_ASSIGNED)
        if pace.is_full(1 + len(target)):
            yield None
        if group.targets.get(member_id) != target:
            records.append(target_record(group.group_id, member_id, target))
    records.append(target_epoch_record(group.group_id, epoch, now_ms))
    return records


def wants(
    group: ConsumerGroup, subscription: Subscription, topics: TopicsImage
) -> frozenset[bytes]:
    """The ids of the topics that a member is subscribed to now."""
    return ids_of(group.names_of(subscription), topics)

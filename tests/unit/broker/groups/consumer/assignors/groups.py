"""Groups at random for the tests of assignors, and what holds for whatever they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from broker.groups.consumer.assignors.assignor import GroupAssignment, MemberSubscription


@dataclass
class AssignmentInput:
    """What an assignor is asked."""

    members: dict[str, MemberSubscription]
    topics: dict[bytes, int]


def topic_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def a_group(random: Random, alike: bool) -> AssignmentInput:
    """Up to twelve members and six topics."""
    topics = {topic_id(one): random.randint(1, 9) for one in range(random.randint(1, 6))}
    everything = frozenset(topics)
    members = {}
    for number in range(random.randint(1, 12)):
        some = frozenset(topic for topic in topics if random.random() < 0.5)
        instance = f"i{random.randint(0, 99)}-{number}" if random.random() < 0.3 else None
        subscribed = everything if alike else some
        members[f"m{random.randint(0, 9)}-{number}"] = MemberSubscription(
            subscribed, instance_id=instance
        )
    return AssignmentInput(members, _subscribed(members, topics))


def with_targets(asked: AssignmentInput, given: GroupAssignment) -> AssignmentInput:
    """The same group, after that."""
    members = {
        member: subscription._replace(target=given[member])
        for member, subscription in asked.members.items()
    }
    return AssignmentInput(members, asked.topics)


def changed(asked: AssignmentInput, random: Random, alike: bool) -> AssignmentInput:
    """Somebody left, somebody came, a topic went, another got more partitions."""
    members = {name: one for name, one in asked.members.items() if random.random() < 0.8}
    topics = {topic: n + random.randint(0, 2) for topic, n in asked.topics.items()}
    if topics and random.random() < 0.3:
        del topics[random.choice(list(topics))]
    left = frozenset(topics)
    members = {name: one._replace(topic_ids=one.topic_ids & left) for name, one in members.items()}
    some = frozenset(topic for topic in topics if random.random() < 0.7)
    members["newcomer"] = MemberSubscription(left if alike else some)
    return AssignmentInput(members, _subscribed(members, topics))


def check_whole(asked: AssignmentInput, given: GroupAssignment) -> None:
    """Each partition that somebody is subscribed to has one owner, who is subscribed to it."""
    assert list(given) == list(asked.members)
    seen = set()
    for member, assignment in given.items():
        for topic, partitions in assignment.items():
            assert topic in asked.members[member].topic_ids
            assert partitions
            assert list(partitions) == sorted(partitions)
            for partition in partitions:
                assert 0 <= partition < asked.topics[topic]
                assert (topic, partition) not in seen
                seen.add((topic, partition))
    assert len(seen) == sum(asked.topics.values())


def sizes(given: GroupAssignment) -> dict[str, int]:
    return {member: sum(map(len, assignment.values())) for member, assignment in given.items()}


def moved(asked: AssignmentInput, given: GroupAssignment) -> int:
    """How many partitions a member lost that it still could have."""
    return sum(
        partition not in given[member].get(topic, ())
        for member, subscription in asked.members.items()
        for topic, partitions in subscription.target.items()
        if topic in subscription.topic_ids
        for partition in partitions
    )


def _subscribed(
    members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
) -> dict[bytes, int]:
    return {
        topic: count
        for topic, count in topics.items()
        if any(topic in one.topic_ids for one in members.values())
    }

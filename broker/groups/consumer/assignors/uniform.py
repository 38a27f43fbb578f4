"""The assignor `uniform`: as even as can be, and members keep what they have.

Where all members are subscribed to the same topics, no member has two partitions more than another,
counted over all topics. A member keeps its first partitions, up to what it may have; what it must
give up, and what nobody has, fills up the others. Who has one partition more than another is by
their order, with preference for those that have it already. Where subscriptions differ,
`uniform_mixed` says what is even. Racks do not count.

Follows Kafka's `UniformAssignor` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.groups.consumer.assignors.assignor import (
    Assignment,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.assignors.subscribers import Subscribers
from broker.groups.consumer.assignors.uniform_mixed import even_out
from ground.sliced_work import Steps, in_one_go

PARTITIONS_A_SLICE = 1_000
"""About a millisecond's work."""


class UniformAssignor:
    """See the module."""

    name = "uniform"

    def assign(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> GroupAssignment:
        """As `Assignor` says."""
        return in_one_go(self.steps(members, topics))

    def steps(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> Steps[GroupAssignment]:
        """The same, in slices."""
        if not members:
            return {}
        subscribers = Subscribers(members)
        if subscribers.kinds == 1:
            return (yield from _Shares(members, topics).give_out())
        return (yield from even_out(members, topics, subscribers))


class _Shares:
    """Who has what, where all are subscribed to all `topics`."""

    def __init__(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> None:
        self._members = members
        self._places = {topic_id: place for place, topic_id in enumerate(topics)}
        self._given = {topic_id: bytearray(count) for topic_id, count in topics.items()}
        """Per partition, 1 where somebody keeps it."""
        self._share, self._larger_shares = divmod(sum(topics.values()), len(members))
        self._kept: dict[str, dict[bytes, tuple[int, ...]]] = {}
        self._sizes: dict[str, int] = {}

    def give_out(self) -> Steps[GroupAssignment]:
        looked_at = 0
        for member, subscription in self._members.items():
            self._keep(member, subscription.target)
            looked_at += self._sizes[member] + 1
            if looked_at >= PARTITIONS_A_SLICE:
                looked_at = 0
                yield None
        free: list[tuple[bytes, int]] = []
        for topic_id, given in self._given.items():
            free += [(topic_id, partition) for partition, one in enumerate(given) if not one]
            looked_at += len(given) + 1
            if looked_at >= PARTITIONS_A_SLICE:
                looked_at = 0
                yield None
        for member in reversed(list(self._members)):
            looked_at += self._fill(member, free) + 1
            if looked_at >= PARTITIONS_A_SLICE:
                looked_at = 0
                yield None
        result: dict[str, Assignment] = dict(self._kept)
        return result

    def _keep(self, member: str, target: Assignment) -> None:
        """What `member` keeps of what it has: as much as it may have."""
        kept: dict[bytes, tuple[int, ...]] = {}
        size = 0
        room = self._share + (1 if self._larger_shares else 0)
        for topic_id in self._in_order(target):
            given = self._given[topic_id]
            end = len(given)
            held = [one for one in target[topic_id] if one < end and not given[one]]
            held = held[: room - size]
            if held:
                for partition in held:
                    given[partition] = 1
                kept[topic_id] = tuple(held)
                size += len(held)
        if size > self._share:
            self._larger_shares -= 1
        self._kept[member] = kept
        self._sizes[member] = size

    def _in_order(self, target: Assignment) -> Iterator[bytes]:
        places = self._places
        known = [topic_id for topic_id in target if topic_id in places]
        known.sort(key=places.__getitem__)
        return iter(known)

    def _fill(self, member: str, free: list[tuple[bytes, int]]) -> int:
        """Give `member` the last ones of `free`, up to its share; how many."""
        wanted = self._share - self._sizes[member]
        if wanted >= 0 and self._larger_shares:
            self._larger_shares -= 1
            wanted += 1
        if wanted <= 0:
            return 0
        kept = self._kept[member]
        more: dict[bytes, list[int]] = {}
        for topic_id, partition in free[-wanted:]:
            more.setdefault(topic_id, []).append(partition)
        del free[-wanted:]
        for topic_id, partitions in more.items():
            kept[topic_id] = tuple(sorted((*kept.get(topic_id, ()), *partitions)))
        return wanted

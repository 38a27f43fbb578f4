"""The assignor `uniform`: as even as possible, while members keep their partitions.

If all members subscribe to the same topics, no member gets two partitions more than another,
counted over all topics. A member keeps its first partitions up to its share; the partitions above
that and the unassigned ones go to members below their share. Members that have one partition more
than the others may keep it, in their order; else the last members in order get it. If subscriptions
differ, `uniform_mixed` assigns. Never considers racks.

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
"""The number of partitions that take about a millisecond."""


class UniformAssignor:
    """The assignor `uniform`."""

    name = "uniform"

    def assign(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> GroupAssignment:
        """Return the assignment of all partitions by member, computed in one go; see `Assignor`."""
        return in_one_go(self.steps(members, topics))

    def steps(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> Steps[GroupAssignment]:
        """Return the assignment of all partitions by member, in slices."""
        if not members:
            return {}
        subscribers = Subscribers(members)
        if subscribers.kinds == 1:
            return (yield from _Shares(members, topics).give_out())
        return (yield from even_out(members, topics, subscribers))


class _Shares:
    """The partitions of each member, in a group whose members all subscribe to all `topics`."""

    def __init__(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> None:
        """Compute the members' share; no member keeps a partition yet. `members` must not be
        empty."""
        self._members = members
        self._places = {topic_id: place for place, topic_id in enumerate(topics)}
        self._is_kept = {topic_id: bytearray(count) for topic_id, count in topics.items()}
        """A byte for each partition, 1 if some member keeps it."""
        self._share, self._larger_shares = divmod(sum(topics.values()), len(members))
        self._kept: dict[str, dict[bytes, tuple[int, ...]]] = {}
        self._sizes: dict[str, int] = {}

    def give_out(self) -> Steps[GroupAssignment]:
        """Return the target, in slices.

        Each member keeps partitions of its last target up to its share; the free ones fill the
        other shares.
        """
        pieces = 0
        for member, subscription in self._members.items():
            self._keep(member, subscription.target)
            pieces += self._sizes[member] + 1
            if pieces >= PARTITIONS_A_SLICE:
                pieces = 0
                yield None
        free: list[tuple[bytes, int]] = []
        for topic_id, flags in self._is_kept.items():
            free += [(topic_id, number) for number, is_kept in enumerate(flags) if not is_kept]
            pieces += len(flags) + 1
            if pieces >= PARTITIONS_A_SLICE:
                pieces = 0
                yield None
        for member in reversed(list(self._members)):
            pieces += self._fill(member, free) + 1
            if pieces >= PARTITIONS_A_SLICE:
                pieces = 0
                yield None
        result: dict[str, Assignment] = dict(self._kept)
        return result

    def _keep(self, member: str, target: Assignment) -> None:
        """Let `member` keep its partitions up to its share, or one more while that is allowed."""
        kept: dict[bytes, tuple[int, ...]] = {}
        size = 0
        room = self._share + (1 if self._larger_shares else 0)
        for topic_id in self._known_in_order(target):
            is_kept = self._is_kept[topic_id]
            end = len(is_kept)
            held = [number for number in target[topic_id] if number < end and not is_kept[number]]
            held = held[: room - size]
            if held:
                for partition in held:
                    is_kept[partition] = 1
                kept[topic_id] = tuple(held)
                size += len(held)
        if size > self._share:
            self._larger_shares -= 1
        self._kept[member] = kept
        self._sizes[member] = size

    def _known_in_order(self, target: Assignment) -> Iterator[bytes]:
        """Yield the target's topics that are still subscribed, in the order of all topics."""
        places = self._places
        known_topics = [topic_id for topic_id in target if topic_id in places]
        known_topics.sort(key=places.__getitem__)
        return iter(known_topics)

    def _fill(self, member: str, free: list[tuple[bytes, int]]) -> int:
        """Move the last partitions of `free` to `member`, up to its share, or one more while that
        is allowed. Return their number."""
        wanted = self._share - self._sizes[member]
        if wanted >= 0 and self._larger_shares:
            self._larger_shares -= 1
            wanted += 1
        if wanted <= 0:
            return 0
        kept = self._kept[member]
        additions: dict[bytes, list[int]] = {}
        for topic_id, partition in free[-wanted:]:
            additions.setdefault(topic_id, []).append(partition)
        del free[-wanted:]
        for topic_id, partitions in additions.items():
            kept[topic_id] = tuple(sorted((*kept.get(topic_id, ()), *partitions)))
        return wanted

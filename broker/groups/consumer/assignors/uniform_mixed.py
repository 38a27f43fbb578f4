"""The part of the assignor `uniform` for members that subscribe to different topics.

1. Each member keeps its partitions of the topics to which it still subscribes.
2. Each unassigned partition goes to the subscriber with the fewest partitions. Topics with the most
   partitions per subscriber come first.
3. In the same order, each topic is balanced. The subscriber with the most partitions, counted over
   all topics, gives its last partition of this topic to the subscriber with the fewest, until they
   differ by less than two. This is repeated over all topics until nothing moves, at most
   `ROUNDS_MAX` times.

Each move makes the group more even, so the repetition ends in any case. The limit is for chains of
topics with two subscribers each, along which partitions move slowly. Follows the behaviour of
Kafka's `UniformHeterogeneousAssignmentBuilder`. Never considers racks.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from heapq import heapify, heappop, heapreplace

from broker.groups.consumer.assignors.assignor import (
    Assignment,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.assignors.subscribers import Subscribers
from ground.sliced_work import Steps

ROUNDS_MAX = 16
STEPS_A_SLICE = 2_000
"""The number of steps that take about a millisecond."""


def even_out(
    members: Mapping[str, MemberSubscription],
    topics: Mapping[bytes, int],
    subscribers: Subscribers,
) -> Steps[GroupAssignment]:
    """Return the assignment of all `topics`, as even as their subscribers allow, in slices. Members
    keep partitions of their last target. `subscribers` are in the order of `members`."""
    loads = _Loads(members, topics, subscribers)
    done = 0
    for member in members:
        done += loads.keep(member)
        if done >= STEPS_A_SLICE:
            done = 0
            yield None
    order = yield from _by_partitions_per_subscriber(topics, subscribers)
    for topic_id in order:
        done += loads.give_out(topic_id)
        if done >= STEPS_A_SLICE:
            done = 0
            yield None
    for _ in range(ROUNDS_MAX):
        moved = False
        least = loads.least()
        for topic_id in order:
            moves, cost = loads.even(topic_id, least)
            moved = moved or moves > 0
            done += cost
            if done >= STEPS_A_SLICE:
                done = 0
                yield None
        if not moved:
            break
    return (yield from loads.result())


def _by_partitions_per_subscriber(
    topics: Mapping[bytes, int], subscribers: Subscribers
) -> Steps[list[bytes]]:
    """Return the topics that have subscribers, by partitions per subscriber, the most first."""
    ratios: dict[bytes, float] = {}
    done = 0
    for topic_id, count in topics.items():
        subscribed = len(subscribers.to(topic_id))
        if subscribed:
            ratios[topic_id] = -count / subscribed
        done += subscribers.kinds
        if done >= STEPS_A_SLICE:
            done = 0
            yield None
    return sorted(ratios, key=ratios.__getitem__)


class _Loads:
    """The partitions of each member, and their number."""

    def __init__(
        self,
        members: Mapping[str, MemberSubscription],
        topics: Mapping[bytes, int],
        subscribers: Subscribers,
    ) -> None:
        """Start with members that have no partitions."""
        self._members = members
        self._topics = topics
        self._subscribers = subscribers
        self._sizes = dict.fromkeys(members, 0)
        self._owned: dict[bytes, dict[str, list[int]]] = {topic_id: {} for topic_id in topics}
        """The partitions by topic and member, ascending."""
        self._is_kept = {topic_id: bytearray(count) for topic_id, count in topics.items()}

    def keep(self, member: str) -> int:
        """Let `member` keep its partitions of subscribed topics. Return the cost in steps."""
        subscription = self._members[member]
        size = 0
        for topic_id, partitions in subscription.target.items():
            flags = self._is_kept.get(topic_id)
            if flags is None or topic_id not in subscription.topic_ids:
                continue
            held = [number for number in partitions if number < len(flags) and not flags[number]]
            for partition in held:
                flags[partition] = 1
            if held:
                self._owned[topic_id][member] = held
                size += len(held)
        self._sizes[member] = size
        return size + 1

    def give_out(self, topic_id: bytes) -> int:
        """Assign a topic's free partitions, each to the subscriber with the fewest partitions.

        Return the cost in steps.
        """
        flags = self._is_kept[topic_id]
        free = [partition for partition, is_kept in enumerate(flags) if not is_kept]
        if not free:
            return 1
        owned, sizes = self._owned[topic_id], self._sizes
        subscribed = self._subscribers.to(topic_id)
        if len(free) == 1:
            member = min(subscribed, key=sizes.__getitem__)
            insort(owned.setdefault(member, []), free[0])
            sizes[member] += 1
            return len(subscribed) // 4
        takers = [(sizes[member], place, member) for place, member in enumerate(subscribed)]
        heapify(takers)
        for partition in free:
            size, place, member = takers[0]
            insort(owned.setdefault(member, []), partition)
            sizes[member] = size + 1
            heapreplace(takers, (size + 1, place, member))
        return len(free) + len(takers)

    def least(self) -> int:
        """Return the number of partitions of the member with the fewest; no move lowers it."""
        return min(self._sizes.values())

    def even(self, topic_id: bytes, least: int) -> tuple[int, int]:
        """Move partitions of a topic from its members with the most to those with the fewest
        partitions.

        Return the number of moved partitions, and the cost in steps. `least`: a lower bound for the
        number of partitions of any member of the group.
        """
        owned, sizes = self._owned[topic_id], self._sizes
        most = max([sizes[member] for member in owned], default=0)
        if most - least < 2:
            return 0, len(owned)
        subscribed = self._subscribers.to(topic_id)
        if most - min([sizes[member] for member in subscribed]) < 2:
            return 0, len(subscribed) // 4
        by_size = sorted(subscribed, key=sizes.__getitem__)
        takers = [(sizes[member], place, member) for place, member in enumerate(by_size)]
        givers = [(-size, -place, member) for size, place, member in takers if owned.get(member)]
        heapify(givers)
        moves = 0
        while givers:
            minus_size, minus_place, giver = givers[0]
            size, place, taker = takers[0]
            if -minus_size - size < 2:
                break
            held = owned[giver]
            insort(owned.setdefault(taker, []), held.pop())
            sizes[giver] -= 1
            sizes[taker] = size + 1
            moves += 1
            heapreplace(takers, (size + 1, place, taker))
            if held:
                heapreplace(givers, (minus_size + 1, minus_place, giver))
            else:
                del owned[giver]
                heappop(givers)
        return moves, 2 * (len(subscribed) + moves)

    def result(self) -> Steps[GroupAssignment]:
        """Return the assignment, in the order of members and topics."""
        assigned: dict[str, dict[bytes, tuple[int, ...]]] = {member: {} for member in self._members}
        done = 0
        for topic_id, owned in self._owned.items():
            for member, partitions in owned.items():
                assigned[member][topic_id] = tuple(partitions)
            done += len(owned) + 1
            if done >= STEPS_A_SLICE:
                done = 0
                yield None
        result: dict[str, Assignment] = dict(assigned)
        return result

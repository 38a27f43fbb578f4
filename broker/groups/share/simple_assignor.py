"""The assignor `simple`: share partitions out evenly, with several members for a partition if there
are more members than partitions.

Each partition gets the same number of members, and each member gets its share of these places. A
member keeps what it had, up to its share. If all members have the same subscription, all partitions
are shared out together, else those of each topic by themselves. Follows Kafka's `SimpleAssignor`
(KIP-932), except that Kafka takes members and partitions in the order of its hash tables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from broker.groups.consumer.assignors.assignor import (
    NOTHING_ASSIGNED,
    Assignment,
    GroupAssignment,
)
from ground.sliced_work import Pace, Steps

NAME = "simple"
PLACES_A_SLICE = 2_000

Place: TypeAlias = tuple[bytes, int]
"""A partition, by its topic's id and its number."""


class ShareSubscription(NamedTuple):
    """A member in the input of the assignor."""

    topic_ids: frozenset[bytes]
    target: Assignment = NOTHING_ASSIGNED
    """The partitions of its last target assignment, even of topics that are deleted."""


def assign(
    members: Mapping[str, ShareSubscription], partitions: Mapping[bytes, Sequence[int]]
) -> Steps[GroupAssignment]:
    """Return the assignment of `partitions`, by topic id in the order of topics' names, to
    `members`, in the order in which they joined."""
    kinds = {member.topic_ids for member in members.values()}
    together, apart = [list(partitions)], [[topic_id] for topic_id in partitions]
    groups = together if len(kinds) == 1 and partitions else apart
    assigned: dict[str, dict[bytes, list[int]]] = {member: {} for member in members}
    for topic_ids in groups:
        takers = [name for name, member in members.items() if topic_ids[0] in member.topic_ids]
        places = [(topic_id, index) for topic_id in topic_ids for index in partitions[topic_id]]
        shares = yield from _share_out(places, takers, members)
        for member, share in shares.items():
            for topic_id, index in share:
                assigned[member].setdefault(topic_id, []).append(index)
    return {
        member: {topic_id: tuple(sorted(indexes)) for topic_id, indexes in topics.items()}
        for member, topics in assigned.items()
    }


def _share_out(
    places: Sequence[Place], takers: Sequence[str], members: Mapping[str, ShareSubscription]
) -> Steps[Mapping[str, Iterable[Place]]]:
    """Return the partitions of each taker."""
    if not places or not takers:
        return {}
    sharing = -(-len(takers) // len(places))  # members for each partition, rounded up
    quotas = _quotas(sharing * len(places), takers)
    free = dict.fromkeys(places, sharing)
    shares: dict[str, dict[Place, None]] = {}
    pace = Pace(PLACES_A_SLICE)
    for member in takers:
        share = shares[member] = {}
        for place in _places(members[member].target):
            if pace.is_full():
                yield None
            if len(share) < quotas[member] and free.get(place, 0) > 0:
                share[place] = None
                free[place] -= 1
    unfilled = deque(member for member in takers if len(shares[member]) < quotas[member])
    for place, room in free.items():
        if pace.is_full(1 + room):
            yield None
        _fill(place, room, unfilled, shares, quotas)
    return shares


def _quotas(total: int, takers: Sequence[str]) -> dict[str, int]:
    """Return the share of each taker: `total` places divided evenly, the longer shares first."""
    count = len(takers)
    ends = [-(-total * number // count) for number in range(count + 1)]
    return {member: ends[index + 1] - ends[index] for index, member in enumerate(takers)}


def _fill(
    place: Place,
    room: int,
    unfilled: deque[str],
    shares: Mapping[str, dict[Place, None]],
    quotas: Mapping[str, int],
) -> None:
    """Give a partition to as many unfilled members as it has room for. If all of these have it
    already, it keeps fewer."""
    holders = []
    while room and unfilled:
        member = unfilled.popleft()
        if place in shares[member]:
            holders.append(member)
            continue
        shares[member][place] = None
        room -= 1
        if len(shares[member]) < quotas[member]:
            unfilled.append(member)
    unfilled.extendleft(reversed(holders))


def _places(target: Assignment) -> Iterable[Place]:
    return ((topic_id, index) for topic_id, indexes in target.items() for index in indexes)

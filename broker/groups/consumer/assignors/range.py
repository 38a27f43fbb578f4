"""The assignor `range`: each topic is divided into as many ranges as it has subscribers.

Members have one order: static ones first, by their instance id, then the others by their member id.
If a topic does not divide evenly, the first members get one partition more. Topics with the same
number of partitions and the same subscribers are divided alike, so a member gets the same
partitions of each (co-partitioning). Never considers earlier assignments or racks.

Follows Kafka's `RangeAssignor` of the broker (KIP-848).
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.groups.consumer.assignors.assignor import (
    Assignment,
    GroupAssignment,
    MemberSubscription,
)
from broker.groups.consumer.assignors.subscribers import Subscribers
from ground.sliced_work import Steps, in_one_go

PIECES_A_SLICE = 1_000
"""The number of ranges that take about a millisecond."""


class RangeAssignor:
    """The assignor `range`."""

    name = "range"

    def assign(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> GroupAssignment:
        """Return the assignment of all partitions by member, computed in one go; see `Assignor`."""
        return in_one_go(self.steps(members, topics))

    def steps(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> Steps[GroupAssignment]:
        """Return the assignment of all partitions by member, in slices. Each topic is divided into
        ranges, one for each subscriber."""
        subscribers = Subscribers(members, sorted(members, key=lambda id_: _rank(id_, members)))
        assigned: dict[str, dict[bytes, tuple[int, ...]]] = {member: {} for member in members}
        pieces = 0
        for topic_id, count in topics.items():
            takers = subscribers.to(topic_id)
            for member, piece in zip(takers, _pieces(count, len(takers)), strict=False):
                assigned[member][topic_id] = piece
                pieces += 1
            pieces += subscribers.kinds
            if pieces >= PIECES_A_SLICE:
                pieces = 0
                yield None
        result: dict[str, Assignment] = dict(assigned)
        return result


def _rank(member_id: str, members: Mapping[str, MemberSubscription]) -> tuple[bool, bytes]:
    """Return the sort key of a member: static members first, by instance id, then others by member
    id. Ids are in Java's order, that of UTF-16 units."""
    instance_id = members[member_id].instance_id
    name = member_id if instance_id is None else instance_id
    return instance_id is None, name.encode("utf-16-be", "surrogatepass")


def _pieces(count: int, takers: int) -> list[tuple[int, ...]]:
    """Return `count` partitions in at most `takers` ranges, none of them empty; the first may be
    longer by one partition."""
    if not takers:
        return []
    size, longer = divmod(count, takers)
    ends = [(size + 1) * index for index in range(longer + 1)]
    if size:
        ends += [ends[-1] + size * index for index in range(1, takers - longer + 1)]
    return [tuple(range(start, end)) for start, end in zip(ends, ends[1:], strict=False)]

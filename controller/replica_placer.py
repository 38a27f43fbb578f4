"""Where the replicas of new partitions go.

Replicas are striped over racks and, inside a rack, over its brokers; each next partition starts
one rack further, so that leaders and replicas spread evenly. Who is fenced never leads a new
partition and comes last in its rack. After as many partitions as there are live brokers the
orders are drawn anew, so that the same sets of brokers do not stay together.

Owns: this order. Never: which brokers exist, nor randomness (`draw(n)` gives 0 to n-1).

Follows KIP-36 and Kafka's `StripedReplicaPlacer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from protocol.errors import ApiError, ErrorCode

T = TypeVar("T")
Draw = Callable[[int], int]


class UsableBroker(NamedTuple):
    """A broker that may take replicas."""

    id: int
    rack: str | None
    fenced: bool


@dataclass(slots=True)
class _Rack:
    unfenced: list[int] = field(default_factory=list)
    fenced: list[int] = field(default_factory=list)
    start: int = 0
    taken: int = 0

    def next_partition(self) -> None:
        self.taken = 0
        self.start += 1

    def next(self, unfenced_only: bool = False) -> int | None:
        """The next broker of this rack for the present partition."""
        live = len(self.unfenced)
        if self.taken < live:
            broker = self.unfenced[(self.start + self.taken) % live]
        elif not unfenced_only and self.taken < live + len(self.fenced):
            broker = self.fenced[(self.start + self.taken - live) % len(self.fenced)]
        else:
            return None
        self.taken += 1
        return broker


def place_replicas(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, draw: Draw
) -> list[list[int]] | ApiError:
    """The replicas of each of `partitions` new partitions, the leader to be first.

    INVALID_REPLICATION_FACTOR where that many replicas cannot be placed.
    """
    error = _refusal(brokers, replication_factor)
    if error is not None:
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, error)
    racks = _racks(brokers)
    live = sum(len(rack.unfenced) for rack in racks)
    placed: list[list[int]] = []
    for number in range(partitions):
        if number % live == 0:
            _shuffle_all(racks, draw)
        placed.append(_place_one(racks, number % len(racks), replication_factor))
    return placed


def _refusal(brokers: Sequence[UsableBroker], replication_factor: int) -> str | None:
    if replication_factor <= 0:
        return (
            f"Invalid replication factor {replication_factor}: "
            "the replication factor must be positive."
        )
    if not any(not broker.fenced for broker in brokers):
        return "All brokers are currently fenced."
    if replication_factor > len(brokers):
        return (
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(brokers)} broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )
    return None


def _racks(brokers: Sequence[UsableBroker]) -> list[_Rack]:
    racks: dict[str | None, _Rack] = {}
    for broker in sorted(brokers, key=lambda b: b.id):
        rack = racks.setdefault(broker.rack, _Rack())
        (rack.fenced if broker.fenced else rack.unfenced).append(broker.id)
    return list(racks.values())


def _shuffle_all(racks: list[_Rack], draw: Draw) -> None:
    _shuffle(racks, draw)
    for rack in racks:
        _shuffle(rack.unfenced, draw)
        _shuffle(rack.fenced, draw)


def _shuffle(items: list[T], draw: Draw) -> None:
    """Fisher and Yates, with the caller's randomness."""
    for last in range(len(items) - 1, 0, -1):
        other = draw(last + 1)
        items[last], items[other] = items[other], items[last]


def _place_one(racks: list[_Rack], first: int, replication_factor: int) -> list[int]:
    for rack in racks:
        rack.next_partition()
    order = racks[first:] + racks[:first]
    while not order[0].unfenced:
        order = order[1:] + order[:1]
    leader = order[0].next(unfenced_only=True)
    assert leader is not None, "a rack with a live broker has a leader to give"
    replicas = [leader]
    turn = 0
    while len(replicas) < replication_factor:
        turn = (turn + 1) % len(order)
        replica = order[turn].next()
        if replica is not None:
            replicas.append(replica)
    return replicas

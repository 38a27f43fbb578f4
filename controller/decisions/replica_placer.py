"""Placement of the replicas of new partitions.

Replicas are striped over racks and, inside a rack, over its brokers; each next partition starts one
rack further, so that leaders and replicas spread evenly. A fenced broker never leads a new
partition and is the last choice in its rack. After as many partitions as there are live brokers the
orders are shuffled again, so that the same sets of brokers do not stay together.

Owns: this order. Never: knows which brokers exist, nor creates random numbers (`draw(n)` returns 0
to n-1).

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
    """A broker on which replicas may be placed."""

    id: int
    rack: str | None
    fenced: bool


@dataclass(slots=True)
class _Brokers:
    """Brokers that take turns: each next partition starts one broker further."""

    ids: list[int] = field(default_factory=list)
    _partition: int = -1
    _start: int = -1
    _placed: int = 0

    def next(self, partition: int) -> int | None:
        """Return the next broker for `partition`; None if the partition has a replica on all of
        them. The first call for another partition begins one broker further."""
        if not self.ids:
            return None
        if partition != self._partition:
            self._partition, self._placed = partition, 0
            self._start = (self._start + 1) % len(self.ids)
        if self._placed >= len(self.ids):
            return None
        broker = self.ids[(self._start + self._placed) % len(self.ids)]
        self._placed += 1
        return broker


@dataclass(slots=True)
class _Rack:
    unfenced: _Brokers = field(default_factory=_Brokers)
    fenced: _Brokers = field(default_factory=_Brokers)

    def next(self, partition: int) -> int | None:
        """Return the next broker of the rack for `partition`, an unfenced one first; None if the
        partition has a replica on all of them."""
        broker = self.unfenced.next(partition)
        return self.fenced.next(partition) if broker is None else broker


def place_replicas(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, draw: Draw
) -> list[list[int]] | ApiError:
    """Return the replicas of each of `partitions` new partitions, the leader first.

    Return an INVALID_REPLICATION_FACTOR error if so many replicas cannot be placed, or no broker is
    unfenced.
    """
    error = _refusal(brokers, replication_factor)
    if error is not None:
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, error)
    racks = _racks(brokers)
    live = sum(len(rack.unfenced.ids) for rack in racks)
    placed: list[list[int]] = []
    for number in range(partitions):
        if number % live == 0:
            _shuffle_all(racks, draw)
        placed.append(_place_one(racks, number, replication_factor))
    return placed


def _refusal(brokers: Sequence[UsableBroker], replication_factor: int) -> str | None:
    """Return why the replicas cannot be placed, None if they can."""
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
    """Return the racks of the brokers, each with its brokers in the order of their ids. Brokers
    without a rack share one."""
    racks: dict[str | None, _Rack] = {}
    for broker in sorted(brokers, key=lambda b: b.id):
        rack = racks.setdefault(broker.rack, _Rack())
        (rack.fenced if broker.fenced else rack.unfenced).ids.append(broker.id)
    return list(racks.values())


def _shuffle_all(racks: list[_Rack], draw: Draw) -> None:
    """Shuffle, in place, the racks and the brokers of each rack."""
    _shuffle(racks, draw)
    for rack in racks:
        _shuffle(rack.unfenced.ids, draw)
        _shuffle(rack.fenced.ids, draw)


def _shuffle(items: list[T], draw: Draw) -> None:
    """Shuffle in place by Fisher and Yates, with the caller's randomness."""
    for last in range(len(items) - 1, 0, -1):
        other = draw(last + 1)
        items[last], items[other] = items[other], items[last]


def _place_one(racks: list[_Rack], partition: int, replication_factor: int) -> list[int]:
    """Return a partition's replicas. The leader is from the rack that has the turn, or from the
    next with an unfenced broker; the others are from one rack after the other."""
    turn = partition % len(racks)
    leader_rack = next(rack for rack in (*racks[turn:], *racks[:turn]) if rack.unfenced.ids)
    leader = leader_rack.unfenced.next(partition)
    assert leader is not None, "a rack with a live broker has a leader to give"
    replicas = [leader]
    skip: _Rack | None = leader_rack  # skipped in the first round, because it has the leader
    while len(replicas) < replication_factor:
        rack = racks[turn % len(racks)]
        turn += 1
        if rack is skip:
            skip = None
            continue
        replica = rack.next(partition)
        if replica is not None:
            replicas.append(replica)
    return replicas

"""The replicas of all partitions at one moment, and the changes between two moments. Pure.

A ReplicaMap is made from an answer to Metadata. The terms are those of `kafka-topics --describe`: a
partition is *under-replicated* if its ISR is smaller than its replicas, *leaderless* if it has no
leader, and *under min ISR* if its ISR is smaller than acks=all needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.core.leaders import Partition
from protocol.messages.metadata import MetadataResponse

SINGLY_MAX = 3
"""If more partitions of a topic changed in the same way, one line reports them all."""
TOPICS_MAX = 20
"""If more topics changed in the same way, one line reports them all."""
NO_LEADER = -1
"""The leader id of a partition without a leader, as in Metadata."""


class Placed(NamedTuple):
    """The leader, leader epoch and replicas of a partition.

    `replicas` are in the order of preference, `isr` and `offline` are sorted.
    """

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]

    @property
    def is_incomplete(self) -> bool:
        """True if the partition is under-replicated or leaderless."""
        return len(self.isr) < len(self.replicas) or self.leader == NO_LEADER


@dataclass(frozen=True, slots=True)
class ReplicaMap:
    """A cluster at one moment. `brokers`: those alive, each with (host, port, rack)."""

    brokers: Mapping[int, tuple[str, int, str | None]] = field(default_factory=dict)
    partitions: Mapping[Partition, Placed] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()

    @property
    def broker_ids(self) -> list[int]:
        """The sorted ids of all brokers that are alive or have a replica."""
        ids = dict.fromkeys(self.brokers)
        for placed in self.partitions.values():
            ids.update(dict.fromkeys(placed.replicas))
        return sorted(ids)


class Counts(NamedTuple):
    """The numbers of topics, partitions, and partitions with each trouble."""

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int
    under_min_isr: int | None
    """None if the login may not see `min.insync.replicas`."""
    not_preferred: int
    """Partitions with a leader that is not their first replica."""


class Change(NamedTuple):
    """An event between two snapshots, as a line. `kind` is good, bad or news."""

    kind: str
    text: str


def replica_map_of(response: MetadataResponse) -> ReplicaMap:
    """Return the snapshot in an answer to Metadata of all topics."""
    partitions = {
        (topic.name or "", partition.partition_index): Placed(
            partition.leader_id,
            partition.leader_epoch,
            tuple(partition.replica_nodes),
            tuple(sorted(partition.isr_nodes)),
            tuple(sorted(partition.offline_replicas)),
        )
        for topic in response.topics
        for partition in topic.partitions
    }
    return ReplicaMap(
        {broker.node_id: (broker.host, broker.port, broker.rack) for broker in response.brokers},
        dict(sorted(partitions.items())),
        frozenset(topic.name or "" for topic in response.topics if topic.is_internal),
    )


def incomplete_topics(snapshot: ReplicaMap) -> list[str]:
    """Return the names of topics with an under-replicated or leaderless partition, each once."""
    return list(
        dict.fromkeys(
            name for (name, _), placed in snapshot.partitions.items() if placed.is_incomplete
        )
    )


def counts(snapshot: ReplicaMap, minimum: Mapping[str, int] | None) -> Counts:
    """Return how many partitions of the snapshot have each trouble.

    `minimum` has `min.insync.replicas` of the incomplete topics; a missing topic counts as 1. It is
    None if the login may not see this config.
    """
    placed = snapshot.partitions.items()
    under = [(at, part) for at, part in placed if len(part.isr) < len(part.replicas)]
    return Counts(
        len({name for name, _ in snapshot.partitions}),
        len(snapshot.partitions),
        len(under),
        sum(part.leader == NO_LEADER for _, part in placed),
        None
        if minimum is None
        else sum(is_under_min_isr(part, minimum.get(at[0], 1)) for at, part in under),
        sum(part.leader not in (NO_LEADER, *part.replicas[:1]) for _, part in placed),
    )


def is_under_min_isr(placed: Placed, minimum: int) -> bool:
    """Return whether acks=all fails: the ISR is smaller than `minimum` and than the replicas.

    The replicas cap the minimum, as in Kafka.
    """
    return len(placed.isr) < min(minimum, len(placed.replicas))


def changed(before: ReplicaMap, now: ReplicaMap) -> dict[Partition, Placed | None]:
    """Return the new and changed partitions, and None for each deleted one."""
    partitions: dict[Partition, Placed | None] = {
        at: placed for at, placed in now.partitions.items() if before.partitions.get(at) != placed
    }
    partitions |= {at: None for at in before.partitions if at not in now.partitions}
    return partitions


def changes(before: ReplicaMap, now: ReplicaMap) -> list[Change]:
    """Return the events between two snapshots: of brokers, of leaders, of ISRs, then of topics."""
    events = [
        Change("bad", f"broker {number} left the cluster")
        for number in before.brokers
        if number not in now.brokers
    ]
    events += [
        Change("good", f"broker {number} joined the cluster")
        for number in now.brokers
        if number not in before.brokers
    ]
    both = [
        (at, before.partitions[at], placed)
        for at, placed in now.partitions.items()
        if at in before.partitions and before.partitions[at] != placed
    ]
    events += _leaders(both)
    events += _in_sync(both)
    return events + list(_topics(before, now))


Moves = Sequence[tuple[Partition, Placed, Placed]]
"""Changed partitions, each before and after."""


def _leaders(both: Moves) -> list[Change]:
    moved = [(at, now) for at, before, now in both if before.leader != now.leader]
    lost = _lines("bad", [(at, "has no leader") for at, now in moved if now.leader == NO_LEADER])
    isr = {at: _ids(now.isr) for at, now in moved}
    led = [(at, f"new leader {now.leader}") for at, now in moved if now.leader != NO_LEADER]
    return lost + _lines("news", led, {at: f"; ISR {text}" for at, text in isr.items()})


def _in_sync(both: Moves) -> list[Change]:
    """Return the changes of ISRs, except if the leader changed: its line has the ISR too."""
    stayed = [(at, old, now) for at, old, now in both if old.leader == now.leader]
    events = []
    for kind, verb, sign in (("bad", "ISR shrank", -1), ("good", "ISR grew", 1)):
        rows = [row for row in stayed if sign * (len(row[2].isr) - len(row[1].isr)) > 0]
        more = {at: f" to {_ids(now.isr)}" for at, _, now in rows}
        events += _lines(kind, [(at, verb) for at, _, _ in rows], more)
    return events


def _topics(before: ReplicaMap, now: ReplicaMap) -> Iterator[Change]:
    old, new = ({name: None for name, _ in snapshot.partitions} for snapshot in (before, now))
    made = [name for name in new if name not in old]
    gone = [name for name in old if name not in new]
    for names, word in ((made, "created"), (gone, "deleted")):
        if len(names) > TOPICS_MAX:
            yield Change("news", f"{len(names):,} topics {word}")
        else:
            yield from (Change("news", f"topic {name} {word}") for name in names)


def _lines(
    kind: str,
    rows: Sequence[tuple[Partition, str]],
    more: Mapping[Partition, str] | None = None,
) -> list[Change]:
    """Return a line for each partition, or for many partitions or topics with the same change.

    `rows` are partitions with the text of their change. `more` is an addition to the text of a
    partition, for a line of its own.
    """
    by_topic: dict[tuple[str, str], list[Partition]] = {}
    for at, text in rows:
        by_topic.setdefault((at[0], text), []).append(at)
    if len(by_topic) > TOPICS_MAX:
        totals: dict[str, list[str]] = {}
        for (topic, text), places in by_topic.items():
            totals.setdefault(text, []).extend([topic] * len(places))
        return [
            Change(kind, f"{_count(len(names))} of {len({*names}):,} topics: {text}")
            for text, names in totals.items()
        ]
    events = []
    for (topic, text), places in by_topic.items():
        if len(places) > SINGLY_MAX:
            events.append(Change(kind, f"{_count(len(places))} of {topic}: {text}"))
        else:
            rest = more or {}
            events += [Change(kind, f"{at[0]}-{at[1]} {text}{rest.get(at, '')}") for at in places]
    return events


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "empty"


def _count(number: int) -> str:
    return f"{number:,} partition{'' if number == 1 else 's'}"

"""Which replica of each partition is where and how it is, and what changed between two looks.

Pure: looks are made from the answer to Metadata. Owns what counts as lacking, in the words of
`kafka-topics --describe`: a partition is *under-replicated* with fewer replicas in sync than it
has, *leaderless* without a leader, *under min ISR* with fewer in sync than acks=all needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.core.leaders import Partition
from protocol.messages.metadata import MetadataResponse

SINGLY_MAX = 3
"""Partitions of a topic to which the same happened in one look that are told one by one."""
TOPICS_MAX = 20
"""Of one kind of change: if it happened to more topics, one line is for all."""
NOBODY = -1


class Placed(NamedTuple):
    """A partition. Replicas in the order of preference, the others in that of their numbers."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]

    @property
    def lacks(self) -> bool:
        """Whether it is under-replicated, or has no leader."""
        return len(self.isr) < len(self.replicas) or self.leader == NOBODY


@dataclass(frozen=True, slots=True)
class Look:
    """A cluster at one moment; `brokers` are those alive, with host, port and rack."""

    brokers: Mapping[int, tuple[str, int, str | None]] = field(default_factory=dict)
    partitions: Mapping[Partition, Placed] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()

    @property
    def broker_ids(self) -> list[int]:
        """All that are alive or have a replica, in order."""
        known = dict.fromkeys(self.brokers)
        for one in self.partitions.values():
            known.update(dict.fromkeys(one.replicas))
        return sorted(known)


class Counts(NamedTuple):
    """How many partitions lack something."""

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int
    under_min_isr: int | None
    """None where the login may not see `min.insync.replicas`."""
    not_preferred: int
    """Led by another than their first replica."""


class Change(NamedTuple):
    """Something that happened between two looks; `kind` is one of good, bad, news."""

    kind: str
    text: str


def look_of(answer: MetadataResponse) -> Look:
    """What Metadata of all topics tells."""
    partitions = {
        (topic.name or "", one.partition_index): Placed(
            one.leader_id,
            one.leader_epoch,
            tuple(one.replica_nodes),
            tuple(sorted(one.isr_nodes)),
            tuple(sorted(one.offline_replicas)),
        )
        for topic in answer.topics
        for one in topic.partitions
    }
    return Look(
        {one.node_id: (one.host, one.port, one.rack) for one in answer.brokers},
        dict(sorted(partitions.items())),
        frozenset(one.name or "" for one in answer.topics if one.is_internal),
    )


def lacking_topics(look: Look) -> list[str]:
    """Topics of which a partition is not complete, in order."""
    return list(dict.fromkeys(name for (name, _), one in look.partitions.items() if one.lacks))


def counts(look: Look, minimum: Mapping[str, int] | None) -> Counts:
    """`minimum`: `min.insync.replicas` of the lacking topics; None where it is not known."""
    placed = look.partitions.items()
    under = [(at, one) for at, one in placed if len(one.isr) < len(one.replicas)]
    return Counts(
        len({name for name, _ in look.partitions}),
        len(look.partitions),
        len(under),
        sum(one.leader == NOBODY for _, one in placed),
        None
        if minimum is None
        else sum(is_under_min_isr(one, minimum.get(at[0], 1)) for at, one in under),
        sum(one.leader not in (NOBODY, *one.replicas[:1]) for _, one in placed),
    )


def is_under_min_isr(one: Placed, minimum: int) -> bool:
    """A topic with fewer replicas than the minimum needs them all, and no more."""
    return len(one.isr) < min(minimum, len(one.replicas))


def changed(before: Look, now: Look) -> dict[Partition, Placed | None]:
    """The partitions that are another way now; None: it is gone."""
    found: dict[Partition, Placed | None] = {
        at: one for at, one in now.partitions.items() if before.partitions.get(at) != one
    }
    found |= {at: None for at in before.partitions if at not in now.partitions}
    return found


def changes(before: Look, now: Look) -> list[Change]:
    """What happened, in words: brokers first, then leaders, then who is in sync."""
    told = [
        Change("bad", f"broker {one} left the cluster")
        for one in before.brokers
        if one not in now.brokers
    ]
    told += [
        Change("good", f"broker {one} joined the cluster")
        for one in now.brokers
        if one not in before.brokers
    ]
    both = [
        (at, before.partitions[at], one)
        for at, one in now.partitions.items()
        if at in before.partitions and before.partitions[at] != one
    ]
    told += _leaders(both)
    told += _in_sync(both)
    return told + list(_topics(before, now))


Moves = Sequence[tuple[Partition, Placed, Placed]]


def _leaders(both: Moves) -> list[Change]:
    moved = [(at, now) for at, before, now in both if before.leader != now.leader]
    told = _told("bad", [(at, "has no leader") for at, now in moved if now.leader == NOBODY])
    isr = {at: _ids(now.isr) for at, now in moved}
    led = [(at, f"new leader {now.leader}") for at, now in moved if now.leader != NOBODY]
    return told + _told("news", led, {at: f"; ISR {text}" for at, text in isr.items()})


def _in_sync(both: Moves) -> list[Change]:
    """Of those whose leader stayed: the others are told with their new leader."""
    stayed = [(at, old, now) for at, old, now in both if old.leader == now.leader]
    told = []
    for kind, verb, sign in (("bad", "ISR shrank", -1), ("good", "ISR grew", 1)):
        rows = [one for one in stayed if sign * (len(one[2].isr) - len(one[1].isr)) > 0]
        more = {at: f" to {_ids(now.isr)}" for at, _, now in rows}
        told += _told(kind, [(at, verb) for at, _, _ in rows], more)
    return told


def _topics(before: Look, now: Look) -> Iterator[Change]:
    old, new = ({name: None for name, _ in look.partitions} for look in (before, now))
    made = [name for name in new if name not in old]
    gone = [name for name in old if name not in new]
    for names, word in ((made, "created"), (gone, "deleted")):
        if len(names) > TOPICS_MAX:
            yield Change("news", f"{len(names):,} topics {word}")
        else:
            yield from (Change("news", f"topic {name} {word}") for name in names)


def _told(
    kind: str,
    rows: Sequence[tuple[Partition, str]],
    more: Mapping[Partition, str] | None = None,
) -> list[Change]:
    """`rows`: partitions and what happened to them; `more` is told of those that stand alone."""
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
    told = []
    for (topic, text), places in by_topic.items():
        if len(places) > SINGLY_MAX:
            told.append(Change(kind, f"{_count(len(places))} of {topic}: {text}"))
        else:
            rest = more or {}
            told += [Change(kind, f"{at[0]}-{at[1]} {text}{rest.get(at, '')}") for at in places]
    return told


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "empty"


def _count(number: int) -> str:
    return f"{number:,} partition{'' if number == 1 else 's'}"

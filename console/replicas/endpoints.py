"""The stream of the replica map: an event with the whole map, then events with the changes.

A partition is a short list, `[topic, index, leader, replicas, isr, offline]`, because a cluster may
have tens of thousands of them. `topic` is an index into the list `topics` of the same event.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker.config.start_error import StartError
from client.core.leaders import Partition
from console.endpoints import Ask, Console, stream
from console.replicas.replica_map import Placed
from console.replicas.replica_watch import EVERY_S, News, ReplicaWatch

MapPartition = tuple[int, int, int, Sequence[int], Sequence[int], Sequence[int]]
"""(index into `topics`, partition, leader, replicas, ISR, offline replicas). Leader -1: none."""
GonePartition = tuple[int, int, None]
"""A deleted partition: (index into `topics`, partition, None)."""
MapEvent = tuple[int, int, str, str]
"""(number, ms since the epoch, kind: good, bad or news, text)."""


@dataclass(frozen=True, slots=True)
class MapBroker:
    """A broker. Host, port and rack are None if it is down; a broker without a rack has none."""

    id: int
    alive: bool
    host: str | None
    port: int | None
    rack: str | None


@dataclass(frozen=True, slots=True)
class MapCounts:
    """The numbers of topics, partitions, and partitions with each trouble.

    `under_min_isr` is None if the login may not see `min.insync.replicas`.
    """

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int
    under_min_isr: int | None
    not_preferred: int


@dataclass(frozen=True, slots=True)
class MapNews:
    """An event of the stream. `everything`: it has all partitions, else only the changed ones."""

    number: int
    everything: bool
    brokers: list[MapBroker]
    counts: MapCounts
    topics: list[str]
    internal: list[str]
    partitions: list[MapPartition | GonePartition]
    events: list[MapEvent]


@dataclass(frozen=True, slots=True)
class MapFailed:
    """An event of the stream while no broker answers."""

    error: str


@dataclass(frozen=True, slots=True)
class MapWell:
    """The event that ends a time without answers if the map did not change meanwhile."""

    well: bool = True


def _map(console: Console, _ask: Ask) -> Iterator[MapNews | MapFailed | MapWell | None]:
    watch, number, event_number = console.state(ReplicaWatch), 0, 0
    failed = False
    while True:
        began = time.monotonic()
        try:
            news = watch.news(number, event_number)
        except StartError as error:
            # The stream goes on, because brokers may come back.
            failed = True
            yield MapFailed(str(error))
        else:
            if news is None:
                yield MapWell() if failed else None
            else:
                yield _shown(news)
                number = news.number
                event_number = max((event.number for event in news.events), default=event_number)
            failed = False
        time.sleep(max(EVERY_S - (time.monotonic() - began), 0.05))


def _shown(news: News) -> MapNews:
    snapshot = news.snapshot
    topics = list(dict.fromkeys(name for name, _ in news.partitions))
    place = {name: index for index, name in enumerate(topics)}
    return MapNews(
        number=news.number,
        everything=news.everything,
        brokers=[_broker(snapshot.brokers.get(number), number) for number in snapshot.broker_ids],
        counts=MapCounts(*news.counts),
        topics=topics,
        internal=[name for name in topics if name in snapshot.internal],
        partitions=[_partition(place[at[0]], at, part) for at, part in news.partitions.items()],
        events=[(event.number, event.at_ms, event.kind, event.text) for event in news.events],
    )


def _broker(address: tuple[str, int, str | None] | None, number: int) -> MapBroker:
    host, port, rack = address or (None, None, None)
    return MapBroker(number, address is not None, host, port, rack)


def _partition(topic: int, at: Partition, placed: Placed | None) -> MapPartition | GonePartition:
    if placed is None:
        return topic, at[1], None
    return topic, at[1], placed.leader, placed.replicas, placed.isr, placed.offline


ENDPOINTS = (stream("/api/replicas", _map),)

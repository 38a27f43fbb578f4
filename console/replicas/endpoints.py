"""What the page asks about replicas: a stream of the map, first all of it and then what changed.

A partition is a short list, `[topic, index, leader, replicas, isr, offline]`, with topics named by
their place in a list: there may be tens of thousands.
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
"""Topic, index, leader, replicas, in sync, offline."""
GonePartition = tuple[int, int, None]
MapEvent = tuple[int, int, str, str]
"""Number, ms since 1970, kind, text."""


@dataclass(frozen=True, slots=True)
class MapBroker:
    """A broker; of one that is away, its number is all that is known."""

    id: int
    alive: bool
    host: str | None
    port: int | None
    rack: str | None


@dataclass(frozen=True, slots=True)
class MapCounts:
    """How many partitions lack something; None: the login may not see it."""

    topics: int
    partitions: int
    under_replicated: int
    leaderless: int
    under_min_isr: int | None
    not_preferred: int


@dataclass(frozen=True, slots=True)
class MapNews:
    """All partitions, or those that changed."""

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
    """No broker answers just now."""

    error: str


@dataclass(frozen=True, slots=True)
class MapWell:
    """A broker answers again, and nothing has changed."""

    well: bool = True


def _map(console: Console, _ask: Ask) -> Iterator[MapNews | MapFailed | MapWell | None]:
    watch, number, event_number = console.state(ReplicaWatch), 0, 0
    failed = False
    while True:
        began = time.monotonic()
        try:
            news = watch.news(number, event_number)
        except StartError as error:
            # Brokers die while one watches: the tab says so, and goes on.
            failed = True
            yield MapFailed(str(error))
        else:
            if news is None:
                yield MapWell() if failed else None
            else:
                yield _shown(news)
                number = news.number
                event_number = max((one.number for one in news.events), default=event_number)
            failed = False
        time.sleep(max(EVERY_S - (time.monotonic() - began), 0.05))


def _shown(news: News) -> MapNews:
    look = news.look
    topics = list(dict.fromkeys(name for name, _ in news.partitions))
    place = {name: index for index, name in enumerate(topics)}
    return MapNews(
        number=news.number,
        everything=news.everything,
        brokers=[_broker(look.brokers.get(one), one) for one in look.broker_ids],
        counts=MapCounts(*news.counts),
        topics=topics,
        internal=[name for name in topics if name in look.internal],
        partitions=[_partition(place[at[0]], at, one) for at, one in news.partitions.items()],
        events=[(one.number, one.at_ms, one.kind, one.text) for one in news.events],
    )


def _broker(at: tuple[str, int, str | None] | None, number: int) -> MapBroker:
    host, port, rack = at or (None, None, None)
    return MapBroker(number, at is not None, host, port, rack)


def _partition(topic: int, at: Partition, one: Placed | None) -> MapPartition | GonePartition:
    if one is None:
        return topic, at[1], None
    return topic, at[1], one.leader, one.replicas, one.isr, one.offline


ENDPOINTS = (stream("/api/replicas", _map),)

"""What the page asks about replicas: a stream of the map, first all of it and then what changed.

A partition is a short list, `[topic, index, leader, replicas, isr, offline]`, with topics named by
their place in a list: there may be tens of thousands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from broker.config.start_error import StartError
from client.cluster import Partition
from console.endpoints import Ask, Console, stream
from console.replicas.replica_map import Placed
from console.replicas.replica_watch import EVERY_S, News, ReplicaWatch


def _map(console: Console, _ask: Ask) -> Iterator[object]:
    watch, number, event_number = console.state(ReplicaWatch), 0, 0
    failed = False
    while True:
        began = time.monotonic()
        try:
            news = watch.news(number, event_number)
        except StartError as error:
            # Brokers die while one watches: the tab says so, and goes on.
            failed = True
            yield {"error": str(error)}
        else:
            if news is None:
                yield {"well": True} if failed else None
            else:
                yield _as_json(news)
                number = news.number
                event_number = max((one.number for one in news.events), default=event_number)
            failed = False
        time.sleep(max(EVERY_S - (time.monotonic() - began), 0.05))


def _as_json(news: News) -> dict[str, object]:
    look = news.look
    topics = list(dict.fromkeys(name for name, _ in news.partitions))
    place = {name: index for index, name in enumerate(topics)}
    return {
        "number": news.number,
        "everything": news.everything,
        "brokers": [_broker(look.brokers.get(one), one) for one in look.broker_ids],
        "counts": news.counts._asdict(),
        "topics": topics,
        "internal": [name for name in topics if name in look.internal],
        "partitions": [_partition(place[at[0]], at, one) for at, one in news.partitions.items()],
        "events": [[one.number, one.at_ms, one.kind, one.text] for one in news.events],
    }


def _broker(at: tuple[str, int, str | None] | None, number: int) -> dict[str, object]:
    host, port, rack = at or (None, None, None)
    return {"id": number, "alive": at is not None, "host": host, "port": port, "rack": rack}


def _partition(topic: int, at: Partition, one: Placed | None) -> list[object]:
    if one is None:
        return [topic, at[1], None]
    return [topic, at[1], one.leader, one.replicas, one.isr, one.offline]


ENDPOINTS = (stream("/api/replicas", _map),)

"""A search over HTTP, from the newest record on: a broker's batches, a console's events."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from urllib.parse import quote, urlsplit

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.tools.console import running_console

RECORDS = 3_000
TOPIC = "searched-backwards"


def test_the_newest_finds_come_first(broker: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(TOPIC, 3, 1)])[TOPIC].result()
    producer = Producer(
        {"bootstrap.servers": broker, "batch.num.messages": 100, "enable.idempotence": True}
    )
    first_ms = int(time.time() * 1000) - RECORDS
    for number in range(RECORDS):
        value = json.dumps({"number": number, "fizz": number % 7 == 0})
        producer.produce(TOPIC, value, partition=number % 3, timestamp=first_ms + number)
        producer.poll(0)
    assert producer.flush(60) == 0
    expected = list(range(RECORDS - RECORDS % 7, -1, -7))
    with running_console(broker) as link:
        first = _events(link, "order=newest&count=20")
        assert _numbers(first) == expected[:20]
        assert first[-1]["ended"] == "full"
        rest: list[int] = []
        cursor = first[-1]["cursor"]
        while cursor:
            events = _events(link, f"order=newest&cursor={quote(cursor)}")
            rest += _numbers(events)
            cursor = events[-1].get("cursor")
        assert rest == expected[20:]
        assert (events[-1]["ended"], events[-1]["scanned"]) == ("end", events[-1]["total"])
        oldest_first = sorted(_numbers(_events(link, "from=900")))
        assert oldest_first == [one for one in reversed(expected) if one >= 2_700]


def _numbers(events: list[Any]) -> list[int]:
    return [
        json.loads(one["value"]["text"])["number"]
        for event in events
        for one in event.get("finds", ())
    ]


def _events(link: str, query: str) -> list[Any]:
    """What the console tells of a search, until it ends."""
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    token = place.query.partition("=")[2]
    path = f"/api/topics/{TOPIC}/search?q={quote(chr(34) + 'fizz' + chr(34) + ': true')}&{query}"
    connection.request("GET", path, headers={"cookie": f"ottla_console_{place.port}={token}"})
    answer = connection.getresponse()
    assert answer.status == 200
    lines = answer.read().decode().splitlines()
    connection.close()
    assert lines[-3:-1] == ["event: done", "data: {}"], lines[-5:]
    return [json.loads(one.removeprefix("data: ")) for one in lines if one.startswith("data: ")][
        :-1
    ]

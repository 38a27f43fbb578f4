"""`python -m tests.compat.table_misfits --to delta`: events of which 1 % do not fit are counted.

Sends JSON events to a topic of a real broker, has the job `table` make a table of typed columns of
it, and compares what engines without Java read of the table and of its dead letters with what was
sent: each event that fits is a row once, each other a dead letter once, with the reason that is
right for it. The status is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing.broker_process import BrokerProcess
from pipeline import command
from tests.compat.table_kills.readers import ROWS

PARTITIONS = 6
SCHEMA = (
    "id BIGINT NOT NULL, at TIMESTAMP, amount DOUBLE, place STRUCT<cell: STRING>, tags ARRAY<INT>"
)
TOPIC = "misfits"
EVERY = 100
MISFITS: tuple[tuple[str | None, str], ...] = (
    (None, "there is no value (a tombstone)"),
    ("nope", "the value is not JSON: nope"),
    ('{"id":1}{"id":2}', 'the value is not JSON: {"id":1}{"id":2}'),
    ('[{"id":1}]', 'the value is no JSON object: [{"id":1}]'),
    ('{"amount":1}', "field id is missing or null"),
    ('{"id":1,"amount":"much"}', "field amount is STRING, not DOUBLE: much"),
    ('{"id":1,"tags":["x"]}', "field tags[] is STRING, not INT: x"),
    (
        '{"id":1,"at":1772452800000}',
        "field at is a time after the year 9999: a number is read as seconds",
    ),
    ('{"id":1,"place":{"cell":"c","more":1}}', "field place.more is not in the schema"),
    ('{"id":1,"more":null}', "field more is not in the schema"),
)
"""Values, and what the job has to say of each."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", choices=tuple(ROWS), default="delta")
    parser.add_argument("--events", type=int, default=200_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="table-misfits-") as scratch, BrokerProcess() as broker:
        path, servers = Path(scratch) / "table", broker.bootstrap_servers
        sent = send(servers, asked.events)
        reach = ("--bootstrap-server", servers, "--topic", TOPIC)
        form = ("--value-format", "json", "--schema", SCHEMA, "--new-fields", "misfit")
        began = time.monotonic()
        code = command.main(["table", *reach, "--to", asked.to, "--table", str(path), *form])
        took = time.monotonic() - began
        wrong = differences(asked.to, path, asked.events, sent) if code == 0 else [f"code {code}"]
    fit = asked.events - sum(sent.values())
    print(
        f"{asked.to}: {asked.events:,} events in {took:.0f} s, {fit:,} rows and "
        f"{sum(sent.values()):,} dead letters of {len(sent)} kinds: "
        f"{'; '.join(wrong) or 'each once, with the right reason'}",
        flush=True,
    )
    return 1 if wrong else 0


def send(servers: str, events: int) -> Counter[tuple[str | None, str]]:
    """How many misfits of each kind were sent."""
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values()
    made.result(60)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    sent: Counter[tuple[str | None, str]] = Counter()
    for number in range(events):
        value: str | None = json.dumps(event(number))
        if number % EVERY == EVERY // 2:
            misfit = MISFITS[number // EVERY % len(MISFITS)]
            value = misfit[0]
            sent[misfit] += 1
        while True:
            try:
                producer.produce(TOPIC, value, str(number), number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0
    return sent


def event(number: int) -> dict[str, object]:
    """One that fits."""
    return {
        "id": number,
        "at": f"2026-03-02T12:{number // 60 % 60:02}:{number % 60:02}Z",
        "amount": number % 1_000 / 4,
        "place": {"cell": f"C{number % 50}"},
        "tags": [number % 3, number % 5],
    }


def differences(
    to: str, path: Path, events: int, sent: Counter[tuple[str | None, str]]
) -> list[str]:
    """In words; nothing where both tables hold what was sent."""
    columns = ("partition", "offset", "id", "amount", "place", "tags")
    rows = ROWS[to](path, columns).to_pylist()
    letters = ROWS[to](Path(f"{path}-dead-letters"), ("partition", "offset", "value", "reason"))
    told = letters.to_pylist()
    wrong = []
    places = Counter((row["partition"], row["offset"]) for row in (*rows, *told))
    if len(places) != events or set(places.values()) != {1}:
        wrong.append(f"{len(places):,} offsets, the most of them {max(places.values())} times")
    fit = [number for number in range(events) if number % EVERY != EVERY // 2]
    if sorted(row["id"] for row in rows) != fit:
        wrong.append(f"{len(rows):,} rows, not {len(fit):,}")
    for row in rows:
        wanted = event(row["id"])
        if any(row[name] != wanted[name] for name in ("amount", "place", "tags")):
            wrong.append(f"another row: {row}")
            break
    found = Counter(
        (None if one["value"] is None else bytes(one["value"]).decode(), one["reason"])
        for one in told
    )
    if found != sent:
        wrong.append(f"other dead letters: {list(((found - sent) + (sent - found)).items())[:3]}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

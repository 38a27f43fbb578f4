"""A record of the page's form, written to a topic as `ottla produce --json` does.

The members are those of `ottla consume --json`: `key` and `value`, also as `…_base64`, `headers`
and `timestamp`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.records.batching import Batching, Settings
from client.records.writing import Writer
from console.endpoints import BadAsk

_NAMES = ("key", "key_base64", "value", "value_base64", "headers", "timestamp")


class Asked(NamedTuple):
    """A record as a line of JSON, and its partition; None: the partition of its key."""

    line: bytes
    partition: int | None


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The place of a written record; `offset` is -1 if the broker does not return it."""

    partition: int
    offset: int


def record_asked(body: object) -> Asked:
    """Return the record in a request's body. Raises BadAsk."""
    if not isinstance(body, dict):
        raise BadAsk('a record must be an object with a "value", such as {"value": "hello"}')
    partition = body.get("partition")
    if partition is not None and (type(partition) is not int or partition < 0):
        raise BadAsk("partition must be a whole number, or left out")
    record = {name: body[name] for name in _NAMES if body.get(name) is not None}
    if "value_base64" not in record:
        record.setdefault("value", None)
    return Asked(json.dumps(record).encode(), partition)


def produce(cluster: ClusterClient, topic: str, asked: Asked, now_ms: int) -> WrittenRecord:
    """Write a record and return its place. Raises BadAsk, Refused, StartError."""
    writer = Writer(cluster, topic)
    settings = Settings(as_json=True, partition=asked.partition)
    try:
        batching = Batching(settings, topic, None, writer, lambda: now_ms)
        batching.begin("the record")
        batching.lines(asked.line + b"\n")
    except StartError as error:
        raise BadAsk(str(error).removeprefix("the record, line 1: ")) from error
    writer.flush()
    assert writer.last_place is not None
    partition, offset = writer.last_place
    return WrittenRecord(partition, offset)

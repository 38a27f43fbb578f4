"""A record that somebody typed, written to a topic as `ottla produce --json` would.

The words are those of `ottla consume --json`: `key`, `value`, `headers`, each also as `…_base64`.
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

_NAMES = ("key", "key_base64", "value", "value_base64", "headers")


class Asked(NamedTuple):
    """A line of JSON, and the partition where it is not the key's."""

    line: bytes
    partition: int | None


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """Where it lies; `offset` is -1 where the broker does not tell."""

    partition: int
    offset: int


def record_asked(body: object) -> Asked:
    """Raises BadAsk."""
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
    """Write it, and say in which `partition` and at which `offset` it lies. Raises BadAsk,
    Refused, StartError.
    """
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

"""What the page wants to change of topics: words checked, then done as `ottla topic` does it.

Owns no connection. Everything here is refused without --allow-writes, before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.topics import add_partitions, check_names, create, delete
from console.endpoints import BadAsk

PARTITIONS_MAX = 100_000
REPLICAS_MAX = 32_767


@dataclass(frozen=True, slots=True)
class MadeTopic:
    """A topic that was made."""

    topic: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class GrownTopic:
    """A topic that has so many partitions now."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class ChangedTopic:
    """A topic that was changed or removed."""

    topic: str


def make(cluster: ClusterClient, body: object) -> MadeTopic:
    """A topic of a `name`, and what else is said of `partitions`, `replicas`, `configs`."""
    asked = _object(body)
    name = asked.get("name")
    if not isinstance(name, str):
        raise BadAsk("enter the name of the topic")
    try:
        check_names([name])
    except StartError as error:
        raise BadAsk(str(error)) from None
    ((made, partitions, replicas),) = create(
        cluster,
        [name],
        _number(asked, "partitions", PARTITIONS_MAX),
        _number(asked, "replicas", REPLICAS_MAX),
        _texts(asked.get("configs") or {}),
    )
    return MadeTopic(made, partitions, replicas)


def remove(cluster: ClusterClient, topic: str) -> ChangedTopic:
    """A topic, and all records in it."""
    (gone,) = delete(cluster, [topic])
    return ChangedTopic(gone)


def grow(cluster: ClusterClient, topic: str, body: object) -> GrownTopic:
    """To `count` partitions."""
    count = _number(_object(body), "count", PARTITIONS_MAX)
    if count is None:
        raise BadAsk("count is missing: enter the new number of partitions")
    add_partitions(cluster, topic, count)
    return GrownTopic(topic, count)


def _object(body: object) -> Mapping[str, object]:
    if not isinstance(body, dict):
        raise BadAsk("the request must be a JSON object")
    return body


def _number(asked: Mapping[str, object], name: str, most: int) -> int | None:
    found = asked.get(name)
    if found is None:
        return None
    if type(found) is not int or not 0 < found <= most:
        raise BadAsk(f"{name} must be a whole number from 1 to {most}")
    return found


def _texts(found: object) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise BadAsk("configs must be an object with strings as values")
    return found

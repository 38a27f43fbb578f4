"""Changes of topics: the body of a page's request is checked, and the change is `ottla topic`'s.

Owns no connection. Without --allow-writes, the console rejects these requests before.
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
    """A topic that was created."""

    topic: str
    partitions: int
    replicas: int


@dataclass(frozen=True, slots=True)
class GrownTopic:
    """A topic with its new number of partitions."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class ChangedTopic:
    """A topic that was changed or deleted."""

    topic: str


def make(cluster: ClusterClient, body: object) -> MadeTopic:
    """Create the topic `name` with `partitions`, `replicas` and `configs`, which may be left out.
    Raises BadAsk, Refused."""
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
    """Delete a topic with all its records. Raises Refused."""
    (deleted,) = delete(cluster, [topic])
    return ChangedTopic(deleted)


def grow(cluster: ClusterClient, topic: str, body: object) -> GrownTopic:
    """Raise the number of partitions to `count`. Raises BadAsk, Refused."""
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
    number = asked.get(name)
    if number is None:
        return None
    if type(number) is not int or not 0 < number <= most:
        raise BadAsk(f"{name} must be a whole number from 1 to {most}")
    return number


def _texts(configs: object) -> dict[str, str]:
    if not isinstance(configs, dict) or not all(isinstance(one, str) for one in configs.values()):
        raise BadAsk("configs must be an object with strings as values")
    return configs

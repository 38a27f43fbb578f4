"""The endpoints of configs: the resources that have some, the configs of a resource, a change.

The page sends a change to be checked first, shows the result, and sends it again to make it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from client.configs.settings import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    RESOURCE_WORDS,
    TOPIC,
    ConfigResource,
    alter_configs,
    client_metrics,
    configs_of,
)
from client.groups.groups import listed
from client.refusals import Refused
from console.answers import JSON_NAME
from console.configs.deletion_preview import deletion_warnings
from console.configs.rows import ConfigRow, rows
from console.endpoints import Ask, BadAsk, Console, get, post, wall_ms

KINDS = {"topic": TOPIC, "broker": BROKER, "group": GROUP, "client-metrics": CLIENT_METRICS}
ALL_BROKERS = "all"


@dataclass(frozen=True, slots=True)
class ConfigResources:
    """The names of the resources that have configs, by kind. `absent` has the reason why a kind has
    no names."""

    broker: list[str]
    topic: list[str]
    group: list[str]
    client_metrics: list[str] = field(metadata={JSON_NAME: "client-metrics"})
    absent: dict[str, str]


@dataclass(frozen=True, slots=True)
class Configs:
    """All configs of a resource."""

    kind: str
    name: str
    rows: list[ConfigRow]


@dataclass(frozen=True, slots=True)
class ChangedConfigs:
    """A change of configs: `changed` is false if it was only checked. `warnings` are sentences
    about what a checked change deletes."""

    changed: bool
    resource: str
    warnings: list[str]


def _resources(console: Console, _ask: Ask) -> ConfigResources:
    absent: dict[str, str] = {}
    with console.cluster() as cluster:
        answer = cluster.metadata(None)
        brokers = [str(number) for number in cluster.broker_ids]
        try:
            groups = [group.group for group in listed(cluster)]
        except Refused as error:
            groups, absent["group"] = [], str(error)
        try:
            metrics = client_metrics(cluster)
        except Refused as error:
            metrics, absent["client-metrics"] = [], str(error)
    if metrics is None:
        absent["client-metrics"] = "this cluster does not support client metrics"
    return ConfigResources(
        broker=[ALL_BROKERS, *brokers],
        topic=sorted(topic.name or "" for topic in answer.topics),
        group=groups,
        client_metrics=metrics or [],
        absent=absent,
    )


def _show(console: Console, ask: Ask) -> Configs:
    """Return all configs of a resource. Raises Refused if the cluster does not know the kind."""
    resource = _resource(ask.text("kind"), ask.text("name"))
    with console.cluster() as cluster:
        if resource.kind == TOPIC:
            cluster.topics([resource.name])
        found = configs_of(cluster, resource, with_documentation=True)
    return Configs(ask.text("kind"), ask.text("name"), rows(resource.kind, found))


def _change(console: Console, ask: Ask) -> ChangedConfigs:
    """Check or make the change in the body.

    The body is `{"kind", "name", "set": {key: value}, "unset": [key], "execute": false}`.
    """
    body = ask.body if isinstance(ask.body, dict) else {}
    resource = _resource(str(body.get("kind", "")), str(body.get("name", "")))
    values, removed, execute = _values(body), _removed(body), bool(body.get("execute"))
    if not (values or removed):
        raise BadAsk("nothing to change: enter a key and a value")
    with console.cluster() as cluster:
        if resource.kind == TOPIC:
            cluster.topics([resource.name])
        alter_configs(cluster, resource, values, removed, dry_run=not execute)
        warnings = []
        if resource.kind == TOPIC and not execute:
            warnings = deletion_warnings(cluster, resource.name, values, wall_ms(), removed)
    return ChangedConfigs(execute, str(resource), warnings)


def _values(body: Mapping[str, object]) -> dict[str, str]:
    found = body.get("set") or {}
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise BadAsk("set must be an object with strings as values")
    return {key.strip(): value for key, value in found.items() if key.strip()}


def _removed(body: Mapping[str, object]) -> list[str]:
    found = body.get("unset") or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadAsk("unset must be a list of keys")
    return found


def _resource(kind: str, name: str) -> ConfigResource:
    number = KINDS.get(kind)
    if number is None:
        raise BadAsk(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if number == BROKER and name == ALL_BROKERS:
        return ConfigResource(BROKER, "")
    if number == BROKER and not (name.isascii() and name.isdecimal()):
        raise BadAsk("name must be a broker id, or all")
    if not name:
        raise BadAsk(f"enter the name of the {RESOURCE_WORDS[number]}")
    return ConfigResource(number, name)


ENDPOINTS = (
    get("/api/configs/resources", _resources),
    get("/api/configs", _show),
    post("/api/configs", _change),
)

"""A preview of the records that retention deletes after a change of a topic's configs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import NamedTuple

from client.cluster import ClusterClient, partitions_of
from client.configs.settings import SOURCES, TOPIC, ConfigResource, configs_of
from client.place_offsets import offsets_at, spans
from client.places import TIME, Place
from client.refusals import Refused
from client.topics import log_sizes

RETENTION_MS, RETENTION_BYTES = "retention.ms", "retention.bytes"
_POLICY = "cleanup.policy"
_NEARLY_ALL = 0.9
_INHERITED = (RETENTION_MS, RETENTION_BYTES, _POLICY)
_MS_OF_UNIT = {"minutes": 60_000, "hours": 3_600_000}
"""The units of a broker's keys such as `log.retention.hours`, from which a topic inherits."""


class Share(NamedTuple):
    """The part of a topic that a change deletes, in records or in bytes."""

    deleted: int
    held: int


def deletion_warnings(
    cluster: ClusterClient,
    topic: str,
    values: Mapping[str, str],
    now_ms: int,
    removed: Collection[str] = (),
) -> list[str]:
    """Return a sentence for each of the new values by which retention deletes more than nothing.

    `removed`: the keys that are reset to the values that the topic inherits. Raises StartError.
    """
    try:
        values = {**values, **_inherited(cluster, topic, removed)}
        limits = {
            key: int(values[key])
            for key in (RETENTION_MS, RETENTION_BYTES)
            if values.get(key, "").strip().isdecimal()
        }
        if not limits:
            return []
        if not _is_deleted_from(cluster, topic, values):
            return []
        warnings = []
        if RETENTION_MS in limits:
            share = _by_time(cluster, topic, now_ms - limits[RETENTION_MS])
            warnings.append(in_words(share, "record", "records"))
        if RETENTION_BYTES in limits:
            share = _by_size(cluster, topic, limits[RETENTION_BYTES])
            warnings.append(in_words(share, "byte", "bytes"))
    except Refused as error:
        return [f"How much retention then deletes is not known: {error}."]
    return [warning for warning in warnings if warning]


def in_words(share: Share, unit: str, units: str) -> str:
    """Return what a change deletes as a sentence; empty if it deletes nothing."""
    if share.deleted <= 0:
        return ""
    counted = f"up to {share.deleted:,} of {share.held:,} {unit if share.held == 1 else units}"
    if share.deleted >= share.held:
        return f"Everything is deleted: {counted}."
    if share.deleted >= share.held * _NEARLY_ALL:
        return f"Nearly everything is deleted: {counted}."
    return f"Retention then deletes {counted}."


def _inherited(cluster: ClusterClient, topic: str, keys: Collection[str]) -> dict[str, str]:
    """Return the values that the topic has without its own values of these keys. Raises Refused."""
    wanted = [key for key in _INHERITED if key in keys]
    found = {}
    for config in configs_of(cluster, ConfigResource(TOPIC, topic), wanted) if wanted else ():
        for synonym in config.synonyms:
            if SOURCES.get(synonym.source) != "topic" and synonym.value is not None:
                found[config.name] = _in_topic_units(synonym.name, synonym.value)
                break
    return found


def _in_topic_units(key: str, value: str) -> str:
    """Return a broker's value in the unit of the topic's config: milliseconds instead of hours."""
    factor = _MS_OF_UNIT.get(key.rpartition(".")[2])
    return value if factor is None or not value.isdecimal() else str(int(value) * factor)


def _is_deleted_from(cluster: ClusterClient, topic: str, values: Mapping[str, str]) -> bool:
    """Return whether the topic's cleanup policy has `delete`, after the change."""
    policy = values.get(_POLICY)
    if policy is None:
        found = configs_of(cluster, ConfigResource(TOPIC, topic), [_POLICY])
        policy = next((config.value for config in found if config.name == _POLICY), None)
    return "delete" in (policy or "delete")


def _by_time(cluster: ClusterClient, topic: str, before_ms: int) -> Share:
    """Return how many offsets come before the first record at or after a time."""
    topics = cluster.topics([topic])
    held = spans(cluster, topics, partitions_of(topics))
    kept_from = offsets_at(cluster, topics, held, Place(TIME, max(before_ms, 0)))
    return Share(
        sum(kept_from[at] - span.first for at, span in held.items()),
        sum(span.last - span.first for span in held.values()),
    )


def _by_size(cluster: ClusterClient, topic: str, most: int) -> Share:
    """Return how many bytes of all replicas are above the limit of each."""
    by_partition = log_sizes(cluster, cluster.topics([topic]))
    sizes = list(chain.from_iterable(replicas.values() for replicas in by_partition.values()))
    return Share(sum(max(size - most, 0) for size in sizes), sum(sizes))

"""The details of a share group that its description lacks: deliveries, limits, dead letter topic.

Each is left out if the login lacks the right, with the reason. Owns no connection. Follows KIP-932
and KIP-1191 (dead letters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.cluster import ClusterClient
from client.configs.settings import GROUP, TOPIC, ConfigResource, configs_of
from client.core.deliveries import Delivered
from client.core.groups import GroupDescription
from client.groups.deliveries import delivered_ranges
from client.groups.groups import Standing
from client.groups.troubles import ShareLimits, troubles
from client.refusals import Refused
from protocol.errors import ErrorCode

_DELIVERY_LIMIT = "share.delivery.count.limit"
_LOCKS = "share.partition.max.record.locks"
_LOCK_MS = "share.record.lock.duration.ms"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_ALLOWS_LETTERS = "errors.deadletterqueue.group.enable"
_KEYS = (_DELIVERY_LIMIT, _LOCKS, _LOCK_MS, _DEAD_LETTERS)


@dataclass(frozen=True, slots=True)
class ShareDetails:
    """A share group's deliveries and configs.

    `without_ranges`: why the deliveries are not known, None if they are. `lock_ms`: the time after
    which the lock of a record expires. `dead_letter_topic` is None if the group has none.
    """

    ranges: Sequence[Delivered]
    without_ranges: str | None
    limits: ShareLimits | None
    lock_ms: int | None
    dead_letter_topic: str | None
    troubles: Sequence[str]


def share_details(
    cluster: ClusterClient, group: GroupDescription, rows: Sequence[Standing]
) -> ShareDetails:
    """Ask the cluster for the details of a share group, and return them. Raises StartError."""
    ends = {(row.topic, row.partition): row.end for row in rows if row.end is not None}
    ranges: list[Delivered] = []
    reason = None
    try:
        ranges = delivered_ranges(cluster, group.name, ends)
    except Refused as error:
        reason = str(error)
    values = _configs(cluster, ConfigResource(GROUP, group.name), _KEYS)
    limits = None
    if _DELIVERY_LIMIT in values and _LOCKS in values:
        limits = ShareLimits(int(values[_DELIVERY_LIMIT]), int(values[_LOCKS]))
    letters = values.get(_DEAD_LETTERS) or None
    found_troubles = troubles(group, rows, ranges, limits or ShareLimits())
    return ShareDetails(
        ranges,
        reason,
        limits,
        int(values[_LOCK_MS]) if _LOCK_MS in values else None,
        letters,
        found_troubles + ([] if letters is None else _letter_troubles(cluster, letters)),
    )


def _letter_troubles(cluster: ClusterClient, topic: str) -> list[str]:
    """Return why no dead letters can be written to a topic: it does not exist, or does not allow
    them. None of this is known if the login may not see the topic."""
    (answer,) = cluster.metadata([topic]).topics
    if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return [
            f"the dead letter topic {topic} does not exist: create it with {_ALLOWS_LETTERS}=true "
            "(brokers do so with errors.deadletterqueue.auto.create.topics.enable=true)"
        ]
    allowed = _configs(cluster, ConfigResource(TOPIC, topic), [_ALLOWS_LETTERS])
    if allowed.get(_ALLOWS_LETTERS) == "false":
        return [f"topic {topic} allows no dead letters: set {_ALLOWS_LETTERS}=true"]
    return []


def _configs(
    cluster: ClusterClient, resource: ConfigResource, keys: Sequence[str]
) -> dict[str, str]:
    """Ask for these configs, and return those that have a value; none if the cluster rejects the
    request."""
    try:
        configs = configs_of(cluster, resource, keys)
    except Refused:
        return {}
    return {config.name: config.value for config in configs if config.value is not None}

"""The configs of a share group that decide how its records are delivered.

A group has its own configs, else those of the broker. Owns the choice between the two. Never
validates a value: `broker.config.group_configs` does when it is set. Follows Kafka's
`ShareGroupConfigProvider` (KIP-932, KIP-1191, KIP-1222).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.version import SHARE_VERSION
from ground import java_literals as java

DEAD_LETTERS_FROM = 2
"""The level of `share.version` from which a cluster has dead-letter topics."""
GROUPS_KEPT = 1_024
"""The most groups with configs of their own whose settings are kept for the next look-up."""
_NS_A_MS = 1_000_000


class OffsetReset(NamedTuple):
    """The offset at which a new group begins: `share.auto.offset.reset`."""

    kind: str = "latest"
    """`latest`, `earliest` or `by_duration`."""
    duration_ms: int = 0
    """The age of the first record, with `by_duration`."""


class DeliverySettings(NamedTuple):
    """The group's configs, or those of the broker where the group has none."""

    lock_duration_ms: int = 30_000
    """The time until an acquired record is available again: `share.record.lock.duration.ms`."""
    delivery_limit: int = 5
    """The most deliveries of a record: `share.delivery.count.limit`."""
    max_locks: int = 2_000
    """The length of the window that a leader fills: `share.partition.max.record.locks`."""
    may_renew: bool = True
    """True if members may renew locks: `share.renew.acknowledge.enable`."""
    has_dead_letters: bool = False
    """True if the group has a dead-letter topic and the cluster's `share.version` is 2."""
    reads_committed: bool = False
    """True if the group skips records of aborted transactions: `share.isolation.level`."""
    offset_reset: OffsetReset = OffsetReset()

    @property
    def throttled_from(self) -> int:
        """The number of deliveries from which on a batch is delivered in ever smaller parts, to
        find the record that no member can process."""
        return max(2, ceil(self.delivery_limit / 2))


class GroupDeliverySettings:
    """The settings of each share group, by the newest metadata."""

    def __init__(self, config: BrokerConfig, image: Callable[[], MetadataImage]) -> None:
        """Use the broker's configs where a group has none; `image()` returns the newest metadata.

        Settings of groups with own configs are kept until these, or `share.version`, change.
        """
        self._image = image
        self._default = DeliverySettings(
            config.group_share_record_lock_duration_ms,
            config.group_share_delivery_count_limit,
            config.group_share_partition_max_record_locks,
        )
        self._kept: dict[str, tuple[Mapping[str, str], int, DeliverySettings]] = {}

    def of(self, group_id: str) -> DeliverySettings:
        """Return the settings of a group, which need not exist."""
        image = self._image()
        configs = image.config(ResourceType.GROUP, group_id)
        if not configs:
            return self._default
        share_version = image.features.get(SHARE_VERSION, 0)
        kept = self._kept.get(group_id)
        if kept is not None and kept[0] is configs and kept[1] == share_version:
            return kept[2]
        if len(self._kept) >= GROUPS_KEPT:
            self._kept.clear()
        settings = settings_of(self._default, configs, share_version)
        self._kept[group_id] = configs, share_version, settings
        return settings


def settings_of(
    default: DeliverySettings, configs: Mapping[str, str], share_version: int
) -> DeliverySettings:
    """Return the settings of a group that has `configs` of its own, else the broker's."""

    def number(name: str, broker_value: int) -> int:
        """Return the group's own value of a config, or the broker's."""
        return int(configs.get(name, broker_value))

    return DeliverySettings(
        number("share.record.lock.duration.ms", default.lock_duration_ms),
        number("share.delivery.count.limit", default.delivery_limit),
        number("share.partition.max.record.locks", default.max_locks),
        configs.get("share.renew.acknowledge.enable", "true").strip().lower() == "true",
        bool(configs.get("errors.deadletterqueue.topic.name", "").strip())
        and share_version >= DEAD_LETTERS_FROM,
        configs.get("share.isolation.level", "").strip().lower() == "read_committed",
        _offset_reset(configs.get("share.auto.offset.reset", "latest").strip()),
    )


def _offset_reset(text: str) -> OffsetReset:
    """Return the value of `share.auto.offset.reset`, which was checked when it was set."""
    kind, _, duration = text.partition(":")
    elapsed_ns = java.duration_ns(duration) if duration else 0
    return OffsetReset(kind, (elapsed_ns or 0) // _NS_A_MS)

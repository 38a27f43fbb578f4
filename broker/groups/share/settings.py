"""The settings of a share group's membership: its own configs, else those of the broker.

Owns the choice between the two (KIP-932: resource type 32). Never validates a value:
`broker.config.group_configs` does when it is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.values import BrokerConfig


class ShareGroupSettings(NamedTuple):
    """The times of a group, in ms, and its size."""

    session_timeout_ms: int
    """The time without a heartbeat after which a member is removed."""
    heartbeat_interval_ms: int
    """The interval at which members must send heartbeats."""
    assignment_interval_ms: int
    """The least time between two computations of a target assignment; 0: no limit."""
    max_size: int
    """The most members: `group.share.max.size`."""


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> ShareGroupSettings:
    """Return the settings of a group that has `overrides` as its own configs; the others are the
    broker's."""

    def value(name: str, default: int) -> int:
        """Return the group's own value of a config, or `default`."""
        text = overrides.get(name)
        return default if text is None else int(text)

    return ShareGroupSettings(
        value("share.session.timeout.ms", config.group_share_session_timeout_ms),
        value("share.heartbeat.interval.ms", config.group_share_heartbeat_interval_ms),
        value("share.assignment.interval.ms", config.group_share_assignment_interval_ms),
        config.group_share_max_size,
    )


def initialize_retry_ms(config: BrokerConfig) -> int:
    """Return the time after which an initialization without an answer begins again, in ms. As in
    Kafka it is at least `offsets.commit.timeout.ms`."""
    return max(config.group_share_initialize_retry_interval_ms, config.offsets_commit_timeout_ms)

"""The settings of a consumer group: its own configs, else those of the broker.

Owns the choice between the two (KIP-848: resource type 32). Never validates a value:
`broker.config.group_configs` does when it is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.values import BrokerConfig


class ConsumerGroupSettings(NamedTuple):
    """The times of a group, in ms."""

    session_timeout_ms: int
    """The time without a heartbeat after which a member is removed."""
    heartbeat_interval_ms: int
    """The interval at which members must send heartbeats."""
    assignment_interval_ms: int
    """The least time between two computations of a target assignment; 0: no limit."""


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> ConsumerGroupSettings:
    """Return the settings of a group that has `overrides` as its own configs; the others are the
    broker's."""
    if not overrides:
        return ConsumerGroupSettings(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_assignment_interval_ms,
        )
    return ConsumerGroupSettings(
        _value(overrides, "consumer.session.timeout.ms", config.group_consumer_session_timeout_ms),
        _value(
            overrides, "consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms
        ),
        _value(
            overrides,
            "consumer.assignment.interval.ms",
            config.group_consumer_assignment_interval_ms,
        ),
    )


def _value(overrides: Mapping[str, str], name: str, default: int) -> int:
    """Return the group's own value of a config, or `default`."""
    text = overrides.get(name)
    return default if text is None else int(text)

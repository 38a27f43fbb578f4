"""What applies to one group that the broker assigns: its own configs, else the server's.

Owns the choice between the two (KIP-848: resource type 32). Never judges a value: whoever sets one
is told (`broker.config.group_configs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.config.values import BrokerConfig


class ConsumerGroupSettings(NamedTuple):
    """The times of one group, in ms."""

    session_timeout_ms: int
    """After so long without a heartbeat a member is removed."""
    heartbeat_interval_ms: int
    """How often members are told to come."""
    assignment_interval_ms: int
    """How soon after one target assignment the next may be computed; 0: at once."""


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> ConsumerGroupSettings:
    """The settings of a group with these configs of its own."""
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
    text = overrides.get(name)
    return default if text is None else int(text)

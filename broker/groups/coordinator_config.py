"""The part of the broker's configuration that groups follow, with Kafka's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long a JoinGroup of a new member stays parked (a constant in Kafka too)."""


@dataclass(frozen=True, slots=True)
class GroupCoordinatorConfig:
    """`group.*`, `offsets.*` and `offset.metadata.max.bytes`, in the unit of each name."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_topic_segment_bytes: int = 104_857_600

    @staticmethod
    def of(broker_config: Any) -> GroupCoordinatorConfig:
        """The values of a BrokerConfig (or anything with these attributes)."""
        names = [field.name for field in fields(GroupCoordinatorConfig)]
        return GroupCoordinatorConfig(**{name: getattr(broker_config, name) for name in names})

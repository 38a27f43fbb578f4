"""The settings of a share group's membership: its own configs, else those of the broker.

Owns only the names; KIP-932 has the configs.
"""

from __future__ import annotations

from typing import NamedTuple


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

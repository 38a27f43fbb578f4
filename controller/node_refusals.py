"""Says that other nodes do not let this one do what nodes do, and what a person can do about it.

Nodes are told apart from clients by their principals alone: one that may not do ClusterAction gets
no registration, no records and no votes, and waits. Nobody else would say why.

Owns: one line in a while for each node that refuses. Never: knows a principal itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(f"ottla.{__name__}")

TOLD_AGAIN_MS = 60_000


class NodeRefusals:
    """Of the requests that this node sends to one kind of listener."""

    def __init__(self, principal: str, monotonic_ms: Callable[[], float]) -> None:
        """`principal`: as which it comes there, in words."""
        self._principal = principal
        self._monotonic_ms = monotonic_ms
        self._told_ms: dict[int, float] = {}

    def refused(self, node_id: int, request: str) -> None:
        """`node_id` does not take a `request` of this node."""
        now_ms = self._monotonic_ms()
        told_ms = self._told_ms.get(node_id)
        if told_ms is not None and now_ms - told_ms < TOLD_AGAIN_MS:
            return
        self._told_ms[node_id] = now_ms
        logger.error(
            "node %d refuses %s of this node, which is %s there and may not do CLUSTER_ACTION on "
            "the cluster: put that principal into super.users of every node",
            node_id,
            request,
            self._principal,
        )

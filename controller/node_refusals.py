"""Log lines that say that other nodes reject requests of this node, with advice.

Only its principal distinguishes a node from a client. If it may not do ClusterAction, the node gets
no registration, records or votes, and waits; nothing else in the log would say why.

Owns: a limit of one line a minute for each node that rejects. Never: knows principals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(f"ottla.{__name__}")

LOG_INTERVAL_MS = 60_000


class NodeRefusals:
    """The requests of this node that one kind of listener rejected."""

    def __init__(self, principal: str, monotonic_ms: Callable[[], float]) -> None:
        """`principal` describes this node's principal at that kind of listener, for the log
        lines."""
        self._principal = principal
        self._monotonic_ms = monotonic_ms
        self._logged_ms: dict[int, float] = {}

    def refused(self, node_id: int, request: str) -> None:
        """Log at ERROR that `node_id` rejected a `request` of this node, with advice. Log at most
        once a minute for each `node_id`."""
        now_ms = self._monotonic_ms()
        logged_ms = self._logged_ms.get(node_id)
        if logged_ms is not None and now_ms - logged_ms < LOG_INTERVAL_MS:
            return
        self._logged_ms[node_id] = now_ms
        logger.error(
            "node %d refuses %s of this node, which is %s there and may not do CLUSTER_ACTION on "
            "the cluster: put that principal into super.users of every node",
            node_id,
            request,
            self._principal,
        )

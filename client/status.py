"""The state of a cluster, from the first of its nodes that answers.

Owns the connections, one at a time; `client.cluster_status` has the requests and decides what
counts as degraded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from broker.network.outgoing.blocking_client import ApiNotServed, BlockingClient, accepts
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from client.cluster_status import ClusterStatus, StatusRefused, fetch_status
from client.connection import Address, Unanswered
from protocol.errors import ProtocolError

TIMEOUT_S = 5.0


def status_of(
    addresses: Sequence[Address],
    timeout_s: float = TIMEOUT_S,
    guard: ClientGuard = PLAINTEXT_GUARD,
    *,
    advises_start: bool = True,
) -> ClusterStatus:
    """Ask the nodes in order, and return the status from the first that answers. Raises StartError
    if none does; with `advises_start`, the error may say how to start a broker. The cause of the
    error is the StatusRefused of a node that answered, if there is one.

    Without a quorum, each broker that is not fenced is tried, to find which ones take connections.
    """
    unanswered = Unanswered(timeout_s, guard, advises_start=advises_start)
    verdict = "no broker answers"
    refused: StatusRefused | None = None
    for host, port in addresses:
        try:
            with BlockingClient(host, port, timeout_s, guard=guard) as client:
                status = fetch_status(partial(_answer_if_served, client))
        except (OSError, ProtocolError, StatusRefused) as error:
            unanswered.add((host, port), error)
            if isinstance(error, StatusRefused):
                verdict, refused = "no broker tells the cluster's state", error
        else:
            return status if status.quorum is not None else _with_reachability(status)
    raise unanswered.error(verdict) from refused


def _with_reachability(status: ClusterStatus) -> ClusterStatus:
    """Connect to each broker that is not fenced, and return the status with `reachable` set for it.

    Without a quorum, no controller fences brokers that died.
    """
    return replace(
        status,
        brokers=[
            broker
            if broker.fenced
            else replace(broker, reachable=accepts(broker.host, broker.port))
            for broker in status.brokers
        ],
    )


def _answer_if_served(client: BlockingClient, request: Any) -> Any:
    """Send a request and return the response, None if the node lacks the API."""
    try:
        return client.call(request)
    except ApiNotServed:
        return None

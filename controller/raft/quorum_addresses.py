"""The addresses of the quorum's nodes, to which requests go.

    of a leader      what it or another node told last, because it may be a voter that this node's
                     log does not have yet
    of a voter       its endpoint in the log, or in `controller.quorum.voters`
    of neither       the addresses in `controller.quorum.bootstrap.servers`, which have ids below -1

Owns: these addresses. Never: connects (`controller.raft.quorum_network`).

Follows KIP-853 and Kafka's `RequestManager` and `Endpoints`.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.raft.quorum_voters import QuorumVoters

Address = tuple[str, int]

FIRST_BOOTSTRAP_ID = -2
LEARNED_MAX = 1_000


def bootstrap_ids(servers: Sequence[Address]) -> tuple[int, ...]:
    """Return the ids of bootstrap servers."""
    return tuple(FIRST_BOOTSTRAP_ID - place for place in range(len(servers)))


class QuorumAddresses:
    """The addresses of a node's quorum."""

    def __init__(
        self, voters: QuorumVoters, listener: str, bootstrap: Sequence[Address] = ()
    ) -> None:
        """Know the voters and the bootstrap servers. `listener` is the controller listener whose
        endpoints this node uses."""
        self._voters = voters
        self.listener = listener
        self._bootstrap = dict(zip(bootstrap_ids(bootstrap), bootstrap, strict=True))
        self._learned: dict[int, Address] = {}

    def of(self, node_id: int) -> Address | None:
        """Return host and port of a node; None if they are not known."""
        if node_id in self._bootstrap:
            return self._bootstrap[node_id]
        own = self._learned.get(node_id)
        return own or self._voters.latest.address(node_id, self.listener)

    def learned(self, node_id: int, host: str, port: int) -> None:
        """Note where a leader said that it is, or another node said so."""
        if node_id < 0 or not host or port <= 0:
            return
        if len(self._learned) >= LEARNED_MAX:
            self._learned.clear()
        self._learned[node_id] = (host, port)

    def shown(self, node_id: int) -> str:
        """Return a node as `ID@HOST:PORT`, or a bootstrap server as `HOST:PORT`."""
        address = self.of(node_id)
        if address is None:
            return f"{node_id}@?"
        host, port = address
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return place if node_id in self._bootstrap else f"{node_id}@{place}"

"""The parts of a reset that change a broker in this process directly (`port.Inside`).

Owns nothing: it uses the node, its sockets, and the parts that hold what a test has left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.node.node import Node
from controller.metadata.acl import Acl
from controller.metadata.topic_names import is_internal
from testbed.initial_state import InitialState, User


class Sockets(Protocol):
    """The broker's sockets (`broker.network.server.socket_server.SocketServer`)."""

    def close_connections(self, reason: str, spared: Callable[[str], bool]) -> int:
        """Close all open connections except those whose id is `spared`, and return how many were
        closed."""


class ClientEntrance(Protocol):
    """The entrance of clients' requests (`testbed.sent_requests.SentRequests`)."""

    shut: bool

    def is_of_a_node_or_test(self, connection_id: str) -> bool:
        """Return whether a connection is that of another node, or of a test's operation."""


class InsideNode:
    """A node in this process, as a reset needs it."""

    def __init__(
        self,
        node: Node,
        sockets: Sockets,
        forget: Callable[[], None],
        entrance: ClientEntrance,
        initial_state: InitialState,
    ) -> None:
        """Use a node with a broker. `forget` removes faults and kept requests. `initial_state`:
        that at the first start."""
        assert node.broker is not None, "a broker"
        self._node = node
        self._broker = node.broker
        self._sockets = sockets
        self._forget = forget
        self._entrance = entrance
        self._initial_state = initial_state

    def irrevocable(self) -> list[str]:
        """Return what no reset can undo, in words: failed log directories and
        `InitialState.irrevocable`."""
        failed = [f"{folder} has failed" for folder in self._node.failures.offline_dirs()]
        return failed + self._initial_state.irrevocable(InitialState.of(self._node.image))

    def topics(self) -> list[str]:
        """Return all topics but the internal ones. Those have many partitions, and a reset keeps
        them."""
        return [name for name in self._node.image.topics.by_name if not is_internal(name)]

    def forget_transactional_ids(self) -> None:
        """Expire all transactional ids of this broker but those with an open transaction. Does not
        wait for the end of that."""
        self._broker.parts.transactions.coordinator.expire_ids(0)

    def changed_configs(self) -> list[tuple[int, str, dict[str, str | None]]]:
        """Return type and name of each resource whose configs differ from the first start. With it
        comes the first value of each such key, None if it was not set. Topics are left out: a reset
        deletes them."""
        first, now, changes = (
            self._initial_state.configs,
            InitialState.of(self._node.image).configs,
            [],
        )
        for resource in dict.fromkeys([*first, *now]):
            before, after = first.get(resource, {}), now.get(resource, {})
            changed = {
                key: before.get(key)
                for key in {**before, **after}
                if before.get(key) != after.get(key)
            }
            if changed:
                changes.append((*resource, changed))
        return changes

    def new_users(self) -> list[User]:
        """Return the SCRAM users that were not there at the first start."""
        return list(
            InitialState.of(self._node.image).users.keys() - self._initial_state.users.keys()
        )

    def changed_acls(self) -> tuple[list[Acl], list[Acl]]:
        """Return the ACLs that were added since the first start, and those that were removed."""
        now, first = InitialState.of(self._node.image).acls, self._initial_state.acls
        return list(now - first), list(first - now)

    def close_connections(self) -> int:
        """Close the connections of clients, but not those of other nodes, at once. Return how many
        there were."""
        return self._sockets.close_connections(
            "the broker was reset", self._entrance.is_of_a_node_or_test
        )

    def serve_clients(self, is_serving: bool) -> None:
        """Set whether clients are served; if not, a client that sends a request has its connection
        closed."""
        self._entrance.shut = not is_serving

    def forget(self) -> None:
        """Remove faults, kept requests, prepared answers, and what clients have used of their
        quotas."""
        self._forget()
        self._node.shared.quotas.forget()
        self._broker.requests.admission.changed()

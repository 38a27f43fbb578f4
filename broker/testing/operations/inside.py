"""What a reset does to a broker in this process that no request can (`port.Inside`).

Owns nothing: it knows the node, its sockets, and who is to forget what belongs to a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.apis.auto_topic_creation import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker.node.node import Node
from controller.metadata.image import ResourceType

_OWN = (OFFSETS_TOPIC, TRANSACTION_TOPIC)


class Sockets(Protocol):
    """Those of the broker (`broker.network.socket_server.SocketServer`)."""

    def close_connections(self, reason: str, spared: Callable[[str], bool]) -> int: ...


class InsideNode:
    """See the module."""

    def __init__(
        self,
        node: Node,
        sockets: Sockets,
        forget: Callable[[], None],
        is_no_clients: Callable[[str], bool],
    ) -> None:
        """`forget`: what others have of a test: faults, requests that were kept.
        `is_no_clients(connection id)`: no client's."""
        assert node.broker is not None, "a broker"
        self._node = node
        self._broker = node.broker
        self._sockets = sockets
        self._forget = forget
        self._is_no_clients = is_no_clients
        self._configs = node.image.configs

    def failed_folders(self) -> list[str]:
        """Log directories that have failed: they stay so until the next start."""
        return list(self._node.failures.offline_dirs())

    def topics(self) -> list[str]:
        """All that are not the broker's own: those have many partitions, which a reset leaves."""
        return [name for name in self._node.image.topics.by_name if name not in _OWN]

    def forget_transactional_ids(self) -> None:
        """All of them, but those that are in the midst of a transaction."""
        self._broker.parts.transactions.coordinator.expire_ids(0)

    def changed_configs(self) -> list[tuple[int, str, dict[str, str | None]]]:
        """Those that are others than at first, but topics': the topics go."""
        now, found = self._node.image.configs, []
        for resource in dict.fromkeys([*self._configs, *now]):
            before, after = self._configs.get(resource, {}), now.get(resource, {})
            changed = {
                key: before.get(key)
                for key in {**before, **after}
                if before.get(key) != after.get(key)
            }
            if changed and resource[0] != ResourceType.TOPIC:
                found.append((*resource, changed))
        return found

    def close_connections(self) -> int:
        """Those of clients, at once; how many there were."""
        return self._sockets.close_connections("the broker was reset", self._is_no_clients)

    def forget(self) -> None:
        """Faults, requests that were kept, and what was prepared for clients."""
        self._forget()
        self._broker.requests.admission.changed()

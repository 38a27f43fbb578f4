"""What a reset does to a broker in this process that no request can (`port.Inside`).

Owns nothing: it knows the node, its sockets, and who is to forget what belongs to a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.apis.auto_topic_creation import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker.node.node import Node
from controller.metadata.acl import Acl
from testbed.as_new import AsNew, User

_OWN = (OFFSETS_TOPIC, TRANSACTION_TOPIC)


class Sockets(Protocol):
    """Those of the broker (`broker.network.server.socket_server.SocketServer`)."""

    def close_connections(self, reason: str, spared: Callable[[str], bool]) -> int: ...


class Door(Protocol):
    """Where clients come in (`testbed.sent_requests.SentRequests`)."""

    shut: bool

    def is_no_clients(self, connection_id: str) -> bool: ...


class InsideNode:
    """See the module."""

    def __init__(
        self,
        node: Node,
        sockets: Sockets,
        forget: Callable[[], None],
        door: Door,
        as_new: AsNew,
    ) -> None:
        """`forget`: what others have of a test: faults, requests that were kept. `as_new`: what
        the broker was at first."""
        assert node.broker is not None, "a broker"
        self._node = node
        self._broker = node.broker
        self._sockets = sockets
        self._forget = forget
        self._door = door
        self._as_new = as_new

    def irrevocable(self) -> list[str]:
        """What no reset brings back, in words."""
        failed = [f"{one} has failed" for one in self._node.failures.offline_dirs()]
        return failed + self._as_new.irrevocable(AsNew.of(self._node.image))

    def topics(self) -> list[str]:
        """All that are not the broker's own: those have many partitions, which a reset leaves."""
        return [name for name in self._node.image.topics.by_name if name not in _OWN]

    def forget_transactional_ids(self) -> None:
        """All of them, but those that are in the midst of a transaction."""
        self._broker.parts.transactions.coordinator.expire_ids(0)

    def changed_configs(self) -> list[tuple[int, str, dict[str, str | None]]]:
        """Those that are others than at first, but topics': the topics go."""
        first, now, found = self._as_new.configs, AsNew.of(self._node.image).configs, []
        for resource in dict.fromkeys([*first, *now]):
            before, after = first.get(resource, {}), now.get(resource, {})
            changed = {
                key: before.get(key)
                for key in {**before, **after}
                if before.get(key) != after.get(key)
            }
            if changed:
                found.append((*resource, changed))
        return found

    def new_users(self) -> list[User]:
        """Those that were not there at first."""
        return list(AsNew.of(self._node.image).users.keys() - self._as_new.users.keys())

    def changed_acls(self) -> tuple[list[Acl], list[Acl]]:
        """The entries that were not there at first, and those that are not there any more."""
        now, first = AsNew.of(self._node.image).acls, self._as_new.acls
        return list(now - first), list(first - now)

    def close_connections(self) -> int:
        """Those of clients, at once; how many there were."""
        return self._sockets.close_connections("the broker was reset", self._door.is_no_clients)

    def let_in(self, anybody: bool) -> None:
        """Whether clients that come are served; those that are not have their connection closed."""
        self._door.shut = not anybody

    def forget(self) -> None:
        """Faults, requests that were kept, what was prepared for clients, and what they used of
        their quotas."""
        self._forget()
        self._node.shared.quotas.forget()
        self._broker.requests.admission.changed()

"""The settings of a node's configuration that come from the keys of listeners.

Combines the results of the other modules of this package: the server half and the limits of each
listener, the client halves, and the warnings. Only a node that has such a key or a secured listener
loads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from broker.config.endpoints import EndPoint, ListenerLimits
from broker.config.security.listener_keys import Scope, check_listener_keys, listener_prefix
from broker.config.security.listeners import (
    PeerListeners,
    controller_security,
    inter_broker_security,
    listener_security,
    open_controllers,
    security_warnings,
)


def node_security(
    texts: Mapping[str, str],
    listeners: Sequence[EndPoint],
    protocols: Mapping[str, str],
    inter_broker: str,
    controllers: Sequence[str],
    alone: bool,
) -> dict[str, object]:
    """Return the settings under the names of BrokerConfig, and `security_warnings`.

    `protocols` is the security protocol of each listener. `inter_broker` and `controllers` name the
    listeners by which nodes connect to each other, and `alone` says that there are no other nodes.
    Raises ConfigError.
    """
    bound = [listener.listener_name for listener in listeners]
    names = dict.fromkeys([*bound, *controllers])
    ignored = list(check_listener_keys(texts, names))
    servers = listener_security(texts, listeners)
    peers = PeerListeners(
        inter_broker if inter_broker in bound else None, controllers[0], protocols, alone
    )
    between = inter_broker_security(texts, peers, servers)
    to_controllers = controller_security(texts, peers, servers)
    return {
        "listener_security": servers,
        "listener_limits": _own_limits(texts, bound),
        "inter_broker_security": between,
        "controller_security": to_controllers,
        "security_warnings": (
            *ignored,
            *security_warnings(texts, servers),
            *open_controllers(texts, listeners, servers, controllers),
        ),
    }


def _own_limits(texts: Mapping[str, str], names: Sequence[str]) -> dict[str, ListenerLimits]:
    """Return the own limits of each listener that has any."""
    limits = {name: _limits_of(Scope(texts, (listener_prefix(name),))) for name in names}
    return {
        name: own_limits for name, own_limits in limits.items() if own_limits != ListenerLimits()
    }


def _limits_of(own: Scope) -> ListenerLimits:
    """Return the limits that the listener itself sets; each is None if only the node sets it."""

    def of(key: str) -> int | None:
        """Return the listener's own value of `key`; None if it is not set."""
        return None if own.text(key) is None else cast(int, own.value(key))

    return ListenerLimits(
        of("max.connections"), of("num.network.threads"), of("max.connection.creation.rate")
    )

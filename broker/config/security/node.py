"""All that the keys of listeners make of one node's configuration.

Puts together what the other files here make: the server half and the limits of each listener, the
client halves, and the warnings. Loaded only by a node that has such a key or a secured listener.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from broker.config.endpoints import EndPoint, ListenerLimits
from broker.config.security.listener_keys import Scope, check_listener_keys, listener_prefix
from broker.config.security.listeners import (
    Peers,
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
    """By the names of BrokerConfig, and `security_warnings`. Raises ConfigError.

    `protocols`: listener → security protocol; `inter_broker` and `controllers`: the names of
    listeners by which nodes connect to each other; `alone`: there are no others.
    """
    bound = [one.listener_name for one in listeners]
    names = dict.fromkeys([*bound, *controllers])
    ignored = list(check_listener_keys(texts, names))
    servers = listener_security(texts, listeners)
    peers = Peers(inter_broker if inter_broker in bound else None, controllers[0], protocols, alone)
    between = inter_broker_security(texts, peers, servers)
    to_controllers = controller_security(texts, peers, servers)
    clients = {controllers[0]: to_controllers, inter_broker: between}
    return {
        "listener_security": servers,
        "listener_limits": _limits(texts, bound),
        "inter_broker_security": between,
        "controller_security": to_controllers,
        "security_warnings": (
            *ignored,
            *security_warnings(texts, servers, clients),
            *open_controllers(texts, listeners, servers, controllers),
        ),
    }


def _limits(texts: Mapping[str, str], names: Sequence[str]) -> dict[str, ListenerLimits]:
    limits = {name: _limits_of(Scope(texts, (listener_prefix(name),))) for name in names}
    return {name: one for name, one in limits.items() if one != ListenerLimits()}


def _limits_of(own: Scope) -> ListenerLimits:
    def of(key: str) -> int | None:
        return None if own.text(key) is None else cast(int, own.value(key))

    return ListenerLimits(
        of("max.connections"), of("num.network.threads"), of("max.connection.creation.rate")
    )

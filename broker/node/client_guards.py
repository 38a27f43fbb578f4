"""How this node gets into the listeners of other nodes: brokers' and controllers'.

Made once at the start, so that a store that cannot be read ends the start. Without security nothing
is loaded.
"""

from __future__ import annotations

from broker.config.values import BrokerConfig
from broker.security.client_guard import ClientGuard


def inter_broker_guard(config: BrokerConfig) -> ClientGuard:
    """For connections to brokers (`inter.broker.listener.name`). Raises ConfigError."""
    name = config.inter_broker_listener_name
    return ClientGuard(config.inter_broker_security, f"listener.name.{name.lower()}.")


def controller_guard(config: BrokerConfig) -> ClientGuard:
    """For connections to controllers (the first of `controller.listener.names`). Raises
    ConfigError."""
    name = next(iter(config.controller_listener_names))
    return ClientGuard(config.controller_security, f"listener.name.{name.lower()}.")

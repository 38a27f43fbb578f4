"""Whether a broker that fell silent is dead: known at once, where its address says so.

A session runs out only after `broker.session.timeout.ms`. But when the connection of a broker's
heartbeats closes, and a new connection to the broker's own listener is refused, then no process is
there, and the active controller fences it at once. A broker that is only slow, paused or cut off
refuses nothing and keeps its session. After a failover the new controller looks at every broker
that is not fenced, since whoever died with the old one sends it nothing.

A request is sent, since a process that ends may let somebody connect for a moment. But a node that
is only a controller is not told how to get into a secured listener between brokers: it connects,
says nothing, and does so again a little later.

Fencing is always safe: a broker that lives is unfenced by its next heartbeat. Kafka waits for the
session (its longest gap after a `kill -9` is in `ARCHITECTURE.md`). Owns which connection is whose;
never decides.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from broker.config.values import BrokerConfig
from broker.node.node_ports import NodePorts
from controller.controller_node import ControllerNode
from controller.metadata.image import BrokerRegistration, Endpoint
from ground.ports import Channel, ChannelFailure
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

_log = logging.getLogger(f"ottla.{__name__}")

_TIMEOUT_MS = 2_000
_AGAIN_MS = 100
"""A process that ends closes its connections first and its listeners last, or the other way."""
_TRIES = 3
_PLAINTEXT = 0
"""The security protocol of an endpoint in the metadata."""


class BrokerProbe:
    """Looks whether brokers are there, for the active controller."""

    def __init__(self, config: BrokerConfig, ports: NodePorts, node: ControllerNode) -> None:
        """`node` is this controller, whose metadata has the brokers."""
        self._config = config
        self._ports = ports
        self._metadata = node
        self._controller = node.controller
        # Connection → (broker id, broker epoch) of the heartbeats that came over it.
        self._brokers: dict[str, tuple[int, int]] = {}
        node.controller.add_claim_listener(self._claimed)

    def heard(self, connection_id: str, heartbeat: BrokerHeartbeatRequest) -> None:
        """A heartbeat came over this connection."""
        self._brokers[connection_id] = (heartbeat.broker_id, heartbeat.broker_epoch)

    def connection_closed(self, connection_id: str) -> None:
        """A connection to the controller listener is gone."""
        known = self._brokers.pop(connection_id, None)
        if known is not None and self._controller.is_active:
            self._look(*known, tries=_TRIES)

    def _claimed(self, unfenced: Sequence[BrokerRegistration]) -> None:
        """This node is the active controller from now on."""
        for broker in unfenced:
            if broker.id != self._config.node_id:
                self._look(broker.id, broker.epoch, tries=1)

    def _look(self, broker_id: int, epoch: int, tries: int) -> None:
        network, broker = self._ports.network, self._metadata.image.brokers.get(broker_id)
        if network is None or broker is None or broker.epoch != epoch or broker.fenced:
            return
        listener = self._listener(broker)
        if listener is None:
            return
        look = self._ports.look
        if look is not None and listener.security_protocol != _PLAINTEXT:
            connected = partial(self._connected, broker_id, epoch, tries)
            look(listener.host, listener.port, connected, _TIMEOUT_MS)
            return
        channel = network.channel(listener.host, listener.port, "broker-probe")
        channel.send(
            ApiVersionsRequest(), partial(self._seen, channel, broker_id, epoch, tries),
            _TIMEOUT_MS, version=0,
        )  # fmt: skip

    def _listener(self, broker: BrokerRegistration) -> Endpoint | None:
        name = self._config.inter_broker_listener_name
        return broker.endpoints.get(name)

    def _seen(
        self,
        channel: Channel,
        broker_id: int,
        epoch: int,
        tries: int,
        _response: Any,
        failure: ChannelFailure | None,
    ) -> None:
        channel.close()
        self._judge(broker_id, epoch, tries, failure)

    def _connected(
        self, broker_id: int, epoch: int, tries: int, failure: ChannelFailure | None
    ) -> None:
        """It was not asked anything, so that a connection proves as little as one that is lost."""
        self._judge(broker_id, epoch, tries, failure or ChannelFailure.LOST)

    def _judge(
        self, broker_id: int, epoch: int, tries: int, failure: ChannelFailure | None
    ) -> None:
        if failure is ChannelFailure.REFUSED:
            _log.warning("broker %d is gone: nobody listens at its address", broker_id)
            self._controller.broker_gone(broker_id, epoch)
        elif failure is ChannelFailure.LOST and tries > 1:
            again = partial(self._look, broker_id, epoch, tries - 1)
            self._ports.scheduler.call_later(_AGAIN_MS, again)

"""The probe of a silent broker, by which the active controller detects a dead process at once.

A session expires only after `broker.session.timeout.ms`. But if the connection of a broker's
heartbeats closes, and the broker's own listener refuses a new connection, then its process is gone.
The active controller then fences the broker at once. A broker that is only slow, paused or
unreachable refuses nothing and keeps its session. After a failover the new controller probes every
broker that is not fenced, since a broker that died with the old controller sends it nothing.

The probe sends a request, because an ending process may still accept connections for a moment. But
a node that is only a controller has no login for a secured listener between brokers. To such a
listener the probe only connects, sends nothing, and tries again a little later.

Fencing is always safe: the next heartbeat unfences a broker that lives. Kafka waits for the session
(its longest gap after a `kill -9` is in `ARCHITECTURE.md`). Owns which connection belongs to which
broker; never decides.
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
_RETRY_MS = 100
"""Wait between attempts.

An ending process closes its connections and its listeners in any order.
"""
_TRIES = 3
_PLAINTEXT = 0
"""The number of PLAINTEXT in the endpoints of the metadata."""


class BrokerProbe:
    """The probes of brokers' listeners for the active controller."""

    def __init__(self, config: BrokerConfig, ports: NodePorts, node: ControllerNode) -> None:
        """Create a probe for the controller of `node`, whose metadata has the brokers. When that
        controller becomes active, it probes all other unfenced brokers."""
        self._config = config
        self._ports = ports
        self._metadata = node
        self._controller = node.controller
        # Connection → (broker id, broker epoch) of the heartbeats that came over it.
        self._brokers: dict[str, tuple[int, int]] = {}
        node.controller.add_claim_listener(self._claimed)

    def note_heartbeat(self, connection_id: str, heartbeat: BrokerHeartbeatRequest) -> None:
        """Remember the broker whose heartbeat came over this connection."""
        self._brokers[connection_id] = (heartbeat.broker_id, heartbeat.broker_epoch)

    def connection_closed(self, connection_id: str) -> None:
        """Probe the broker whose heartbeats came over this connection, which has closed. Does
        nothing unless this node is the active controller."""
        broker = self._brokers.pop(connection_id, None)
        if broker is not None and self._controller.is_active:
            self._probe(*broker, tries=_TRIES)

    def _claimed(self, unfenced: Sequence[BrokerRegistration]) -> None:
        """Probe all other unfenced brokers, because this node has become the active controller."""
        for broker in unfenced:
            if broker.id != self._config.node_id:
                self._probe(broker.id, broker.epoch, tries=1)

    def _probe(self, broker_id: int, epoch: int, tries: int) -> None:
        """Connect to a broker if it is still registered with this epoch and unfenced."""
        network, broker = self._ports.network, self._metadata.image.brokers.get(broker_id)
        if network is None or broker is None or broker.epoch != epoch or broker.fenced:
            return
        listener = self._listener(broker)
        if listener is None:
            return
        probe = self._ports.probe_address
        if probe is not None and listener.security_protocol != _PLAINTEXT:
            connected = partial(self._connected, broker_id, epoch, tries)
            probe(listener.host, listener.port, connected, _TIMEOUT_MS)
            return
        channel = network.channel(listener.host, listener.port, "broker-probe")
        channel.send(
            ApiVersionsRequest(), partial(self._seen, channel, broker_id, epoch, tries),
            _TIMEOUT_MS, version=0,
        )  # fmt: skip

    def _listener(self, broker: BrokerRegistration) -> Endpoint | None:
        """Return the broker's endpoint for other nodes, or None."""
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
        """Close the probe's channel and judge its result."""
        channel.close()
        self._judge(broker_id, epoch, tries, failure)

    def _connected(
        self, broker_id: int, epoch: int, tries: int, failure: ChannelFailure | None
    ) -> None:
        """Judge a probe that only connects. An established connection counts as lost: it does not
        prove that a process lives."""
        self._judge(broker_id, epoch, tries, failure or ChannelFailure.LOST)

    def _judge(
        self, broker_id: int, epoch: int, tries: int, failure: ChannelFailure | None
    ) -> None:
        """Log that a broker refuses connections, and let the controller fence it.

        Probe again, `tries` times in all, if the connection was lost.
        """
        if failure is ChannelFailure.REFUSED:
            _log.warning("broker %d is gone: nobody listens at its address", broker_id)
            self._controller.broker_gone(broker_id, epoch)
        elif failure is ChannelFailure.LOST and tries > 1:
            retry = partial(self._probe, broker_id, epoch, tries - 1)
            self._ports.scheduler.call_later(_RETRY_MS, retry)

"""The parts of a SocketServer that its processors share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from broker.config.values import BrokerConfig
from broker.network.limits.connection_quotas import ConnectionQuotas
from broker.network.limits.request_memory import RequestMemory
from broker.network.server.busy_poll import BusyPoll
from broker.network.server.request_channel import RequestChannel
from broker.network.server.unsent_answers import UnsentAnswers
from ground.ports import Blocking


@dataclass(frozen=True, slots=True)
class NetworkParts:
    """The collaborators of the processors of all listeners."""

    loop: asyncio.AbstractEventLoop
    config: BrokerConfig
    channel: RequestChannel
    busy_poll: BusyPoll
    blocking: Blocking
    quotas: ConnectionQuotas
    memory: RequestMemory
    unsent: UnsentAnswers
    scratch: bytearray
    """The shared receive buffer; its contents are valid during one call of the loop only."""
    on_closed: Callable[[str], None] | None
    """The callback that gets the id of each connection that was closed, by either side."""

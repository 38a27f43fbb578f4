"""The parts of a SocketServer that all of its processors share."""

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
    """The collaborators of each processor, of whatever listener it is."""

    loop: asyncio.AbstractEventLoop
    config: BrokerConfig
    channel: RequestChannel
    busy_poll: BusyPoll
    blocking: Blocking
    quotas: ConnectionQuotas
    memory: RequestMemory
    unsent: UnsentAnswers
    scratch: bytearray
    """Bytes are received into it; nothing in it outlives a call of the loop."""
    on_closed: Callable[[str], None] | None
    """Called with a connection's id when it is gone, whichever side closed it."""

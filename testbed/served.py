"""One broker under test, as its operations see it.

Owns the server and the order of its states: made, started, stopped. Never reads a channel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from broker.config.values import BrokerConfig
from broker.loop.scheduler import LoopScheduler
from broker.node.node import Node
from broker.process.server import Server, Surroundings
from broker.requests.request_handler import Entrance, RequestHandler
from ground.filesystem import LocalFilesystem
from testbed.as_new import AsNew, LogLevels
from testbed.clock import MovableScheduler, PeersScheduler
from testbed.faults.faults import Faults
from testbed.faults.full_disk import FillableFilesystem, Room
from testbed.faults.links import Links
from testbed.faults.logins import LoginFaults
from testbed.faults.of_node import faults_of
from testbed.sent_requests import SentRequests
from testbed.unsynced_filesystem import UnsyncedFilesystem

Part = TypeVar("Part")


class NotStarted(Exception):
    """There is no broker in this process: it has not been started, or asks another cluster."""


class Served:
    """See the module. To be used on the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[int], None]) -> None:
        """`end(code)` ends the process, when what was asked is answered."""
        self.loop = loop
        self.end = end
        self.room = Room()
        """On its disk."""
        self.clock = MovableScheduler(loop)
        self.links = Links(LoopScheduler(loop))
        """To other nodes. What is cut is timed by a clock that no test moves."""
        self._config: BrokerConfig | None = None
        self._server: Server | None = None
        self._faults: Faults | None = None
        self._sent: SentRequests | None = None
        self._as_new: AsNew | None = None
        self._log_levels: LogLevels | None = None

    @property
    def as_new(self) -> AsNew:
        """What a reset brings it back to."""
        return _there(self._as_new)

    @property
    def sent(self) -> SentRequests:
        """What clients have sent to it."""
        return _there(self._sent)

    @property
    def config(self) -> BrokerConfig:
        """Of the broker that was started."""
        return _there(self._config)

    @property
    def server(self) -> Server:
        """Its sockets, pools and node."""
        return _there(self._server)

    @property
    def node(self) -> Node:
        """Its cores: `node.broker.requests` answers requests, `node.image` is the metadata."""
        return self.server.node

    @property
    def faults(self) -> Faults:
        """What becomes of its requests; nothing meets them before a test asks for that."""
        if self._faults is None:
            self._faults = faults_of(self.node)
            if self.server.guards is not None:
                assert self.node.broker is not None, "faults are those of a broker"
                logins = LoginFaults(self._faults, self.node.broker.requests)
                self.server.guards.meet_logins_by(logins.meet)
        return self._faults

    async def start(
        self,
        config: BrokerConfig,
        *,
        durable: bool = False,
        ahead_ms: float = 0.0,
        as_new: AsNew | None = None,
    ) -> int:
        """Start; the port of the first listener. Raises StartError. `ahead_ms`: of the clocks.
        `as_new`: what it was at its first start; None: this is it."""
        assert self._server is None, "the broker is running already"
        self.clock.begin_ahead(ahead_ms)

        def filesystem(spares: int, private: tuple[str, ...]) -> FillableFilesystem:
            real = LocalFilesystem if durable else UnsyncedFilesystem
            return FillableFilesystem(real(spares, private), self.room)

        surroundings = Surroundings(
            filesystem,
            lambda _loop: self.clock,
            lambda loop: PeersScheduler(loop, self.clock),
            self._entrance,
            self.links.over,
        )
        self._config = config
        self._server = Server(config, surroundings)
        endpoints = await self._server.start()
        self._as_new = as_new or AsNew.of(self.node.image)
        self._log_levels = LogLevels()
        return endpoints[0].port

    def forget(self) -> None:
        """What a test has asked for, and what it has caused, is no more."""
        if self._faults is not None:
            self._faults.clear()
        self.room.free()
        self.links.heal()
        self.sent.forget()
        _there(self._log_levels).restore()

    async def stop(self) -> None:
        """Stop it as SIGTERM does."""
        if self._server is not None:
            if self._faults is not None:
                self._faults.clear()  # nobody waits for what is left unanswered
                self._faults = None
            await self._server.stop()
            self._server = None

    def _entrance(self, requests: RequestHandler) -> Entrance:
        sent = self._sent = SentRequests(requests, lambda: self.node.ports.scheduler.wall_ms())
        return sent


def _there(part: Part | None) -> Part:
    if part is None:
        raise NotStarted("no broker was started here")
    return part

"""The broker under test, as the operations of its control channel use it.

Owns the server and the order of its states: made, started, stopped. Never reads a channel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from broker.config.values import BrokerConfig
from broker.loop.scheduler import LoopScheduler
from broker.node.node import Node
from broker.process.server import Server, ServerPorts
from broker.requests.request_handler import Entrance, RequestHandler
from ground.filesystem import LocalFilesystem
from testbed.clock import MovableScheduler, PeersScheduler
from testbed.faults.faults import FaultRules
from testbed.faults.full_disk import FillableFilesystem, Room
from testbed.faults.links import NodeLinks
from testbed.faults.logins import LoginFaults
from testbed.faults.of_node import faults_of
from testbed.initial_state import InitialState, LogLevels
from testbed.sent_requests import SentRequests
from testbed.unsynced_filesystem import UnsyncedFilesystem

Part = TypeVar("Part")


class NotStarted(Exception):
    """The error of an operation that needs a broker in this process, where none was started."""


class BrokerUnderTest:
    """The broker under test of this process. All methods run on the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[int], None]) -> None:
        """Prepare a broker; `start` starts it. `end(code)` ends the process as soon as the pending
        answers are written."""
        self.loop = loop
        self.end = end
        self.room = Room()
        """The space on the broker's disk, which a test may fill."""
        self.clock = MovableScheduler(loop)
        self.links = NodeLinks(LoopScheduler(loop))
        """The links to other nodes. Requests over a cut link time out by the machine's clock, which
        no test moves."""
        self._config: BrokerConfig | None = None
        self._server: Server | None = None
        self._faults: FaultRules | None = None
        self._sent: SentRequests | None = None
        self._initial_state: InitialState | None = None
        self._log_levels: LogLevels | None = None

    @property
    def initial_state(self) -> InitialState:
        """The state at the first start, which a reset restores. Raises NotStarted before
        `start`."""
        return _required(self._initial_state)

    @property
    def sent(self) -> SentRequests:
        """The requests that clients have sent to this broker. Raises NotStarted before `start`."""
        return _required(self._sent)

    @property
    def config(self) -> BrokerConfig:
        """The configuration with which the broker was started. Raises NotStarted before `start`."""
        return _required(self._config)

    @property
    def server(self) -> Server:
        """The running server: sockets, thread pools and the node. Raises NotStarted before `start`
        and after `stop`."""
        return _required(self._server)

    @property
    def node(self) -> Node:
        """The broker's cores: `node.broker.requests` answers requests, `node.image` is the
        metadata. Raises NotStarted if the broker does not run."""
        return self.server.node

    @property
    def faults(self) -> FaultRules:
        """The fault rules of this broker's requests and logins, without rules at first. They are
        connected to the running node at the first use. Raises NotStarted if the broker does not
        run."""
        if self._faults is None:
            self._faults = faults_of(self.node)
            if self.server.guards is not None:
                assert self.node.broker is not None, "faults are those of a broker"
                logins = LoginFaults(self._faults, self.node.broker.requests)
                self.server.guards.intercept_logins_by(logins.intercept)
        return self._faults

    async def start(
        self,
        config: BrokerConfig,
        *,
        durable: bool = False,
        ahead_ms: float = 0.0,
        initial_state: InitialState | None = None,
    ) -> int:
        """Start the server and return the port of its first listener. Record the metadata and the
        log levels, which a reset restores.

        `durable`: whether writes are synced to the device. `ahead_ms`: how far the broker's clocks
        are ahead of the machine's. `initial_state`: the state at the first start; None if this is
        the first start. Raises StartError.
        """
        assert self._server is None, "the broker is running already"
        self.clock.begin_ahead(ahead_ms)

        def filesystem(spares: int, private: tuple[str, ...]) -> FillableFilesystem:
            """Return a local file system that a test can fill, and that syncs writes only if
            `durable`. The arguments are those of `LocalFilesystem`."""
            real = LocalFilesystem if durable else UnsyncedFilesystem
            return FillableFilesystem(real(spares, private), self.room)

        surroundings = ServerPorts(
            filesystem,
            lambda _loop: self.clock,
            lambda loop: PeersScheduler(loop, self.clock),
            self._entrance,
            self.links.over,
        )
        self._config = config
        self._server = Server(config, surroundings)
        endpoints = await self._server.start()
        self._initial_state = initial_state or InitialState.of(self.node.image)
        self._log_levels = LogLevels()
        return endpoints[0].port

    def forget(self) -> None:
        """Undo settings and records of a test: lift faults, free the disk, restore links and log
        levels, and drop the kept requests. Raises NotStarted before `start`."""
        if self._faults is not None:
            self._faults.clear()
        self.room.free()
        self.links.heal()
        self.sent.forget()
        _required(self._log_levels).restore()

    async def stop(self) -> None:
        """Lift all faults, and stop the broker as SIGTERM does. Does nothing if it does not run."""
        if self._server is not None:
            if self._faults is not None:
                self._faults.clear()  # a stop does not wait for requests that faults left open
                self._faults = None
            await self._server.stop()
            self._server = None

    def _entrance(self, requests: RequestHandler) -> Entrance:
        """Return a new entrance before the request handler, which keeps clients' requests; `sent`
        is that entrance from now on."""
        sent = self._sent = SentRequests(requests, lambda: self.node.ports.scheduler.wall_ms())
        return sent


def _required(part: Part | None) -> Part:
    """Return the part. Raises NotStarted if it is None."""
    if part is None:
        raise NotStarted("no broker was started here")
    return part

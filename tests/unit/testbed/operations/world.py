"""A node in virtual time, asked by operations as in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from controller.metadata.image import MetadataImage
from testbed.initial_state import InitialState
from testbed.operations.in_process import InProcess
from testbed.operations.inside import InsideNode
from testbed.operations.port import OperationWorld
from tests.unit.broker.node_fixture import Running

_LONGEST_MS = 100_000


class NoSockets:
    """Of a node without a network."""

    def close_connections(self, reason: str, spared: Callable[[str], bool]) -> int:
        return 2


class Door:
    """Nobody comes in by it here; `said` is how often it was shut and opened."""

    def __init__(self) -> None:
        self.said: list[bool] = []

    @property
    def shut(self) -> bool:
        return self.said[-1]

    @shut.setter
    def shut(self, shut: bool) -> None:
        self.said.append(shut)

    def is_of_a_node_or_test(self, connection_id: str) -> bool:
        return False


class OneNode:
    """A running node, and the world of operations around it."""

    def __init__(self, folder: Path, **overrides: str) -> None:
        self.running = Running(folder, **overrides)
        self.sockets = NoSockets()
        self.door = Door()
        waiting = asyncio.current_task()
        assert waiting is not None
        self.waiting = waiting
        node, scheduler = self.running.node, self.running.scheduler
        assert node.broker is not None
        initial_state = InitialState.of(node.image)
        inside = InsideNode(node, self.sockets, lambda: None, self.door, initial_state)
        self.ask = InProcess(node.broker.requests, "PLAINTEXT")
        self.world = OperationWorld(
            self.ask,
            lambda: scheduler.monotonic_ms() / 1000,
            scheduler.wall_ms,
            self._pause,
            inside,
        )

    @property
    def image(self) -> MetadataImage:
        """Its metadata now."""
        return self.running.node.image

    async def _pause(self, seconds: float) -> None:
        scheduler = self.running.scheduler
        until = scheduler.monotonic_ms() + seconds * 1000
        while scheduler.monotonic_ms() < until:
            await asyncio.sleep(0)

    async def _pass_time(self) -> None:
        scheduler = self.running.scheduler
        end = scheduler.monotonic_ms() + _LONGEST_MS
        while scheduler.monotonic_ms() < end:
            scheduler.run_for(1)
            await asyncio.sleep(0)
        self.waiting.cancel("nothing came of it within 100 s of virtual time")


@asynccontextmanager
async def one_node(folder: Path, **overrides: str) -> AsyncIterator[OneNode]:
    """Time passes there as long as anybody waits."""
    node = OneNode(folder, **overrides)
    passing = asyncio.create_task(node._pass_time())
    try:
        yield node
    finally:
        passing.cancel()
        node.running.stop()

"""A node whose work takes time: in virtual time an event takes none, and a quota of request time
would never count.

Each look at the clock finds it a little later, as if what ran since the last look had taken that
long. Where nothing runs, the clock is the world's again. Nodes wait for each other in the world's
time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from broker.config.values import BrokerConfig
from broker.node.node import Node
from broker.node.node_ports import NodePorts
from controller.storage_format import LogDirectories
from ground.ports import Scheduler, Timer

MEAN_MS = 0.2
"""What is done between two looks at the clock, on average."""


class WorkingScheduler:
    """A scheduler of virtual time in which work takes time (`ground.ports.Scheduler`)."""

    def __init__(self, scheduler: Scheduler, chance: random.Random) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._now_ms = 0.0

    def wall_ms(self) -> int:
        return self._scheduler.wall_ms()

    def monotonic_ms(self) -> float:
        worked_ms = self._chance.expovariate(1 / MEAN_MS)
        self._now_ms = max(self._now_ms + worked_ms, self._scheduler.monotonic_ms())
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return self._scheduler.call_later(delay_ms, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._scheduler.call_soon(callback)


def working_node(config: BrokerConfig, ports: NodePorts, storage: LogDirectories) -> Node:
    """A `Node` whose work takes time."""
    scheduler = WorkingScheduler(ports.scheduler, random.Random(ports.random_bytes(8)))
    return Node(config, replace(ports, scheduler=scheduler, peers=ports.scheduler), storage)

"""A client in the simulator: its connections, and the generators that wait for time and answers.

What a `Task` runs yields what it waits for: a number is a sleep in milliseconds, an `Exchange` its
answer, a list of them all their answers. A client draws what it does from a random source of its
own.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

from ground.sim_scheduler import SimScheduler
from simulation.network.sim_network import Exchange, SimConnection, SimNetwork

Waits = Generator[Any, Any, Any]


class Task:
    """Runs one generator."""

    def __init__(self, world: SimScheduler, generator: Waits) -> None:
        self._world = world
        self._generator = generator
        self.done = False
        world.call_soon(self._resume)

    def cancel(self) -> None:
        """The client's process is dead: nothing of it runs any more."""
        self.done = True
        self._generator.close()

    def _resume(self, value: object = None) -> None:
        if self.done:
            return
        try:
            wanted = self._generator.send(value)
        except StopIteration:
            self.done = True
            return
        if isinstance(wanted, Exchange):
            self._wait([wanted], wanted)
        elif isinstance(wanted, list):
            self._wait(wanted, wanted)
        else:
            self._world.call_later(wanted, self._resume)

    def _wait(self, exchanges: list[Exchange], value: object) -> None:
        missing = [one for one in exchanges if one.outcome is None]
        if not missing:
            self._world.call_soon(lambda: self._resume(value))
            return
        left = len(missing)

        def settled(_: Exchange) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._world.call_soon(lambda: self._resume(value))

        for one in missing:
            one.waiters.append(settled)


class SimClient:
    """The connections of one client."""

    def __init__(self, name: str, seed: str, world: SimScheduler, network: SimNetwork) -> None:
        self.name = name
        self.world = world
        self.network = network
        self.chance = random.Random(f"{seed}/{name}")
        self.bootstrap = sorted(network.client_addresses)
        self.stopping = False
        self._connections: dict[str, SimConnection] = {}

    @property
    def done(self) -> bool:
        """Whether it has nothing to do any more."""
        return True

    def hang_up(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()

    # --- talking -------------------------------------------------------------------------------

    def connection(self, address: str) -> SimConnection | None:
        """The connection to a broker, made where there is none; None where nobody listens."""
        known = self._connections.get(address)
        if known is None or not known.open:
            known = self.network.connect(self.name, address)
            if known is None:
                return None
            self._connections[address] = known
        return known

    def pause_ms(self) -> float:
        """A back-off before trying again."""
        return 50.0 + self.chance.random() * 200.0

"""A client in the simulator: its connections, and the generators of its actions.

A generator that a `GeneratorRun` runs yields what it waits for: a number is a sleep in
milliseconds, an `Exchange` is waited for until it is settled, a list of exchanges until all of them
are. A client's random choices come from a random source of its own.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

from ground.sim_scheduler import SimScheduler
from simulation.network.sim_network import Exchange, SimConnection, SimNetwork

Waits = Generator[Any, Any, Any]


class GeneratorRun:
    """The run of one generator."""

    def __init__(self, world: SimScheduler, generator: Waits) -> None:
        """Run the generator, from the world's next event on, until it ends or `cancel`."""
        self._world = world
        self._generator = generator
        self.done = False
        world.call_soon(self._resume)

    def cancel(self) -> None:
        """Stop the generator: the client's process has died."""
        self.done = True
        self._generator.close()

    def _resume(self, value: object = None) -> None:
        """Send `value` to the generator, and run it until it waits: for exchanges, or for some
        milliseconds. Set `done` if it ends."""
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
        """Resume with `value` when all exchanges have an outcome."""
        missing = [exchange for exchange in exchanges if exchange.outcome is None]
        if not missing:
            self._world.call_soon(lambda: self._resume(value))
            return
        left = len(missing)

        def settled(_: Exchange) -> None:
            """Count a settled exchange; after the last, resume the generator."""
            nonlocal left
            left -= 1
            if not left:
                self._world.call_soon(lambda: self._resume(value))

        for exchange in missing:
            exchange.waiters.append(settled)


class SimClient:
    """A client with its connections to brokers."""

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
        """Whether the client has nothing left to do: always, unless a subclass overrides this."""
        return True

    def hang_up(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()

    # --- connections ---------------------------------------------------------------------------

    def connection(self, address: str) -> SimConnection | None:
        """Return the open connection to a broker, or a new one; None if no process listens
        there."""
        connection = self._connections.get(address)
        if connection is None or not connection.open:
            connection = self.network.connect(self.name, address)
            if connection is None:
                return None
            self._connections[address] = connection
        return connection

    def pause_ms(self) -> float:
        """Return a random back-off before the next try, in ms."""
        return 50.0 + self.chance.random() * 200.0

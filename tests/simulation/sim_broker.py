"""One broker in the simulator: a `Node` on a disk in memory, that can die and come back.

Owns the process: its ports, its disk, its lives. `kill()` is process death: everything in memory is
gone, the written bytes stay. `lose_power()` loses or tears what was not fsynced, too.
`stop(done)` is the clean stop of `broker.server`. What the node asks of a supervisor (`halt`) ends
that life; the simulation decides when the next one begins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from broker.config import BrokerConfig
from broker.endpoints import EndPoint
from broker.node import Node, NodePorts
from broker.node_storage import open_storage
from tests.simulation.memory_filesystem import Died, MemoryFilesystem
from tests.simulation.sim_process import ProcessBlocking, ProcessScheduler
from tests.simulation.sim_scheduler import SimScheduler

DATA = "/data"
PORT = 9092


class SimBroker:
    """See the module. `address` is what clients connect to."""

    def __init__(
        self,
        world: SimScheduler,
        seed: str,
        node_id: int,
        properties: Mapping[str, str],
        make_node: Callable[[BrokerConfig, NodePorts, Any], Node] = Node,
    ) -> None:
        self.world = world
        self.node_id = node_id
        self.address = f"broker-{node_id}"
        self.seed = f"{seed}/{self.address}"
        self.disk = MemoryFilesystem(world.wall_ms)
        self.life = 0
        self.clean = True
        """Whether the last life ended in a clean stop."""
        self.lost_a_dir = False
        """Whether a log directory was offline when the last life ended."""
        self.node: Node | None = None
        self.serving = False
        self.epochs: list[int] = []
        self.on_served: Callable[[SimBroker], None] = lambda _broker: None
        self.on_ended: Callable[[SimBroker, str], None] = lambda _broker, _why: None
        self.on_ran: Callable[[SimBroker], None] = lambda _broker: None
        self._make_node = make_node
        self._halted: str | None = None
        self._scheduler: ProcessScheduler | None = None
        self._pools: list[ProcessBlocking] = []
        self.config = BrokerConfig.single_node(
            {
                "node.id": str(node_id),
                "listeners": f"PLAINTEXT://{self.address}:{PORT}",
                "log.dirs": DATA,
                **properties,
            }
        )

    @property
    def alive(self) -> bool:
        """Whether there is a process, serving or not."""
        return self.node is not None

    # --- up ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a life; `on_served` tells when clients may come."""
        assert self.node is None
        self.life += 1
        self._halted = None
        life = self.life
        # Now and then the clock of the day was set between two lives.
        skew_ms = random.Random(f"{self.seed}/clock-{life}").choice([0, 0, 0, -90_000, 90_000])
        scheduler = ProcessScheduler(self.world, skew_ms)
        scheduler.on_ran = lambda: self.on_ran(self)
        chance = random.Random(f"{self.seed}/life-{life}")
        io = ProcessBlocking(scheduler, chance, self.config.num_io_threads, 60.0)
        background = ProcessBlocking(scheduler, chance, self.config.background_threads, 300.0)
        self._scheduler, self._pools = scheduler, [io, background]
        ports = NodePorts(
            filesystem=self.disk,
            scheduler=scheduler,
            io=io,
            background=background,
            random_bytes=chance.randbytes,
            halt=self._halt,
        )
        storage = open_storage(self.config, self.disk, chance.randbytes, scheduler.wall_ms())
        self.node = self._make_node(self.config, ports, storage)
        endpoints = [replace(one, port=PORT) for one in self._advertised()]
        self.node.start(endpoints, lambda error: self._started(life, error))

    def _advertised(self) -> list[EndPoint]:
        names = {one.listener_name for one in self.config.broker_listeners}
        return [one for one in self.config.advertised_listeners if one.listener_name in names]

    def _started(self, life: int, error: Exception | None) -> None:
        if life != self.life or self.node is None:
            return
        if error is not None:
            self.disk.kill()
            self._end(f"did not start: {error}")
            return
        self.clean = False
        self.serving = True
        self.epochs.append(self.node.broker_epoch())
        self.on_served(self)

    # --- down ----------------------------------------------------------------------------------

    def kill(self) -> None:
        """Process death: what was written stays."""
        self.disk.kill()
        self._end("killed")

    def lose_power(self, chance: random.Random) -> None:
        """The machine went dark: what was not fsynced is lost, or torn."""
        self.disk.lose_power(chance)
        self._end("lost power")

    def stop(self, done: Callable[[], None]) -> None:
        """Stop as SIGTERM does; `done` when the process is gone."""
        node, life = self.node, self.life
        assert node is not None and self.serving
        self.serving = False
        node.begin_stop()
        self._when_idle(life, lambda: self._finish(life, node, done))

    def _when_idle(self, life: int, then: Callable[[], None]) -> None:
        if life != self.life or self.node is None:
            return
        if any(pool.outstanding for pool in self._pools):
            self.world.call_later(5, lambda: self._when_idle(life, then))
        else:
            then()

    def _finish(self, life: int, node: Node, done: Callable[[], None]) -> None:
        if life != self.life or self.node is None:
            return
        node.finish_stop()
        self.clean = True
        self.disk.kill()
        self._end("stopped")
        done()

    def _halt(self, reason: str) -> None:
        """The node asked for its own end: nothing of it runs any more, not even what is on the
        stack. Whoever runs the events catches `Died` and calls `bury`."""
        self._halted = reason
        raise Died(reason)

    def bury(self) -> None:
        """End the process if it halted, or came to the point at which it was to die."""
        if self.node is not None and (self._halted is not None or self.disk.is_dead):
            why = "died in a write" if self._halted is None else f"halted: {self._halted}"
            self.disk.kill()
            self._end(why)

    def _end(self, why: str) -> None:
        assert self._scheduler is not None
        self._scheduler.end()
        self.lost_a_dir = self.node is not None and bool(self.node.failures.offline_dirs())
        self.node = None
        self.serving = False
        self.on_ended(self, why)

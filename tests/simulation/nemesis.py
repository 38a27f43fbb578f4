"""What goes wrong with the processes: deaths, stops and failing disks, drawn from the seed.

A death comes between two events, or in the midst of one: before the n-th change of the disk from
now on, so that a request can be half done. A disk that fails takes its log directory offline; the
only one ends the process. Every process is started again after a while.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.invariants import Promises
from tests.simulation.sim_broker import SimBroker
from tests.simulation.sim_scheduler import SimScheduler


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults, and how often."""

    mean_interval_ms: float = 5_000.0
    kill: float = 5.0
    die_in_a_write: float = 4.0
    stop: float = 2.0
    disk_error: float = 0.0
    power_loss: float = 0.0
    longest_downtime_ms: float = 3_000.0


class Nemesis:
    """See the module."""

    def __init__(
        self,
        world: SimScheduler,
        seed: str,
        faults: Faults,
        brokers: list[SimBroker],
        promises: Promises,
        tell: Callable[[str], None],
    ) -> None:
        self._world = world
        self._chance = random.Random(f"{seed}/nemesis")
        self._faults = faults
        self._brokers = brokers
        self._promises = promises
        self._tell = tell
        self.on_power_loss: Callable[[SimBroker], None] = lambda _broker: None
        self.healing = False
        self.counts: dict[str, int] = {}

    def start(self) -> None:
        self._again()

    def _again(self) -> None:
        interval = self._chance.expovariate(1 / self._faults.mean_interval_ms)
        self._world.call_later(interval, self._strike)

    def _strike(self) -> None:
        if self.healing:
            return
        faults = self._faults
        works = {
            self._kill: faults.kill,
            self._die_in_a_write: faults.die_in_a_write,
            self._stop: faults.stop,
            self._disk_error: faults.disk_error,
            self._power_loss: faults.power_loss,
        }
        self._again()
        broker = self._chance.choice(self._brokers)
        work = self._chance.choices(list(works), list(works.values()))[0]
        if broker.alive:
            name = work.__name__.strip("_")
            self.counts[name] = self.counts.get(name, 0) + 1
            self._tell(f"nemesis: {name} of {broker.address}")
            work(broker)

    # --- the faults ----------------------------------------------------------------------------

    def _kill(self, broker: SimBroker) -> None:
        broker.kill()

    def _die_in_a_write(self, broker: SimBroker) -> None:
        broker.disk.die_at = broker.disk.changes + self._chance.randint(0, 30)
        broker.disk.torn = self._chance.choice([0.0, 0.3, 0.9, 1.0])

    def _stop(self, broker: SimBroker) -> None:
        if broker.serving:
            broker.stop(lambda: None)

    def _disk_error(self, broker: SimBroker) -> None:
        operation = self._chance.choice(["append", "append", "sync", "replace", "rename"])
        number = self._chance.choice([errno.EIO, errno.ENOSPC])
        folder = self._chance.choice(broker.config.log_dirs)
        skip = self._chance.randint(0, 20)
        broker.disk.inject(operation, number, skip=skip, path_part=f"{folder}/")

    def _power_loss(self, broker: SimBroker) -> None:
        self._promises.power_lost_ms = self._world.now_ms
        self.on_power_loss(broker)
        broker.lose_power(self._chance)

    # --- what follows --------------------------------------------------------------------------

    def ended(self, broker: SimBroker) -> None:
        """A process ended: start it again after a while."""
        downtime = self._chance.random() * self._faults.longest_downtime_ms
        self._world.call_later(downtime, lambda: self._start(broker))

    def _start(self, broker: SimBroker) -> None:
        if not broker.alive:
            broker.start()

    def heal(self) -> None:
        """No more faults; every process runs."""
        self.healing = True
        for broker in self._brokers:
            broker.disk.die_at = None
            broker.disk.heal()
            if broker.node is not None and broker.node.failures.offline_dirs():
                broker.kill()  # a folder that failed comes back with the next start
            self._start(broker)

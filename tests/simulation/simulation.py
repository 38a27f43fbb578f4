"""One seed: brokers, clients and faults in virtual time, with every invariant watching.

    outcome = Simulation(seed).run()      # raises Failure where an invariant does not hold

A run: the brokers start, the admin makes the topics, clients and nemesis work for a while; then
all is healed, the clients finish, and a last reader reads everything; the brokers are stopped
cleanly, started again, and everything is read once more. The trace has a line for everything that
is said and done; its checksum is the same in every run of the seed.
"""

from __future__ import annotations

import hashlib
import logging
import random
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker.node import Node
from tests.simulation.admins import SimAdmin
from tests.simulation.consumers import SimConsumer
from tests.simulation.control_invariants import CONTROL_INVARIANTS
from tests.simulation.data_invariants import CHECKPOINT_MS, DATA_INVARIANTS
from tests.simulation.final_reader import FinalReader
from tests.simulation.group_invariants import GROUP_INVARIANTS
from tests.simulation.group_members import GroupMember
from tests.simulation.invariants import Invariant, Promises
from tests.simulation.memory_filesystem import Died
from tests.simulation.nemesis import Faults, Nemesis
from tests.simulation.producers import IDEMPOTENT, ChurnProducer, SimProducer
from tests.simulation.sim_broker import SimBroker
from tests.simulation.sim_client import SimClient, Violation
from tests.simulation.sim_network import Exchange, SimNetwork, Weather
from tests.simulation.sim_scheduler import SimScheduler

INVARIANTS: tuple[type[Invariant], ...] = (
    *DATA_INVARIANTS,
    *CONTROL_INVARIANTS,
    *GROUP_INVARIANTS,
)
LAST_LINES = 80
PROPERTIES = {
    "offsets.topic.num.partitions": "2",
    "log.flush.start.offset.checkpoint.interval.ms": str(CHECKPOINT_MS),
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "log.segment.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "200",
    "auto.create.topics.enable": "false",
    "max.incremental.fetch.session.cache.slots": "3",
}
STEADY = {"orders": 3, "clicks": 2}
CHURNING = ["gusts", "showers"]
GROUPS = ["readers", "writers"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed's run is made of."""

    duration_ms: float = 25_000.0
    settle_ms: float = 30_000.0
    think_ms: float = 250.0
    weather: Weather = field(default_factory=Weather)
    faults: Faults = field(default_factory=Faults)
    trusts_state: bool = True
    log_dirs: str = "/data"

    @staticmethod
    def of(seed: int) -> Plan:
        """The plan that a seed draws. Every fifth loses power or has failing disks."""
        chance = random.Random(f"{seed}/plan")
        weather = Weather(
            delay_ms=chance.choice([1.0, 5.0, 30.0]),
            slow_chance=chance.choice([0.0, 0.02, 0.1]),
            cut_chance=chance.choice([0.0, 0.01, 0.03]),
            dumb_chance=chance.choice([0.0, 0.0, 0.003, 0.01]),
        )
        kind = seed % 5
        faults = Faults(
            mean_interval_ms=chance.choice([2_000.0, 4_000.0, 10_000.0]),
            disk_error=4.0 if kind == 3 else 0.0,
            power_loss=5.0 if kind == 4 else 0.0,
        )
        # With a second folder, one that fails takes part of the partitions, not the process.
        log_dirs = "/data,/more" if kind == 3 and seed % 2 else "/data"
        return Plan(weather=weather, faults=faults, trusts_state=kind != 4, log_dirs=log_dirs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that kept every invariant."""

    seed: int
    checksum: str
    events: int
    requests: int
    acknowledged: int
    faults: dict[str, int]


class Failure(AssertionError):
    """A run that did not. Its text has the seed and the last lines of the trace."""

    def __init__(
        self, seed: int, invariant: str, reason: str, lines: list[str], events: int
    ) -> None:
        self.seed = seed
        self.invariant = invariant
        self.events = events
        super().__init__(
            f"seed {seed}: {reason}\n  replay: python -m tests.simulation --seed {seed}\n"
            + "\n".join(f"  {line}" for line in lines)
        )


class Trace:
    """A checksum over everything that happened, and the last lines of it."""

    def __init__(self, world: SimScheduler) -> None:
        self._world = world
        self._hash = hashlib.blake2b(digest_size=12)
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.count = 0

    def add(self, text: str) -> None:
        line = f"{self._world.now_ms:10.3f} {text}"
        self._hash.update(line.encode() + b"\n")
        self.last.append(line)
        self.count += 1

    def checksum(self) -> str:
        return self._hash.hexdigest()


class _LogLines(logging.Handler):
    """What the cores log: part of the trace, and an error is kept."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(logging.WARNING)
        self._trace = trace
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._trace.add(f"log {record.levelname} {text}")
        if record.levelno < logging.ERROR:
            return
        if record.exc_info and record.exc_info[1] is not None:
            text += ": " + _origin(record.exc_info[1])
        self.errors.append(f"{record.name}: {text}")


def _origin(error: BaseException) -> str:
    """An exception and where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{one.filename}:{one.lineno}" for one in reversed(last))
    return f"{error!r} at {places}"


class Simulation:
    """See the module."""

    def __init__(
        self,
        seed: int,
        plan: Plan | None = None,
        *,
        brokers: int = 1,
        make_node: Callable[..., Node] = Node,
    ) -> None:
        self.seed = seed
        self.plan = plan or Plan.of(seed)
        text = str(seed)
        self.world = SimScheduler(seed)
        self.trace = Trace(self.world)
        self.network = SimNetwork(self.world, text, self.plan.weather)
        self.promises = Promises()
        self.invariants = [one(self.world, self.promises) for one in INVARIANTS]
        properties = {**PROPERTIES, "log.dirs": self.plan.log_dirs}
        self.brokers = [
            SimBroker(self.world, text, number + 1, properties, make_node)
            for number in range(brokers)
        ]
        self.nemesis = Nemesis(
            self.world, text, self.plan.faults, self.brokers, self.promises, self.trace.add
        )
        self.clients: list[SimClient] = []
        self._twin: GroupMember | None = None
        self.acknowledged = 0
        self.requests = 0
        self._where = (text, self.world, self.network)
        for broker in self.brokers:
            self.network.servers[broker.address] = broker
            broker.on_served = self._served
            broker.on_ended = self._ended
            broker.on_ran = self._ran
        self.nemesis.on_power_loss = self._power_lost
        self.network.watch(self)
        self.network.on_handled = self._node_handled

    # --- the run -------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Raises Failure."""
        lines = _LogLines(self.trace)
        root = logging.getLogger()
        root.addHandler(lines)
        try:
            self._run()
            if lines.errors and not self.plan.faults.disk_error:
                raise Violation("I19", f"the broker logged {lines.errors[0]}")
        except AssertionError as error:
            name = getattr(error, "name", "assertion")
            reason = "; ".join([str(error), *lines.errors[:1]])
            raise self._failure(name, reason) from error
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise self._failure("crash", reason) from error
        finally:
            root.removeHandler(lines)
        self._add_disks()
        return Outcome(
            self.seed,
            self.trace.checksum(),
            self.world.events_run,
            self.requests,
            self.acknowledged,
            self.nemesis.counts,
        )

    def _failure(self, invariant: str, reason: str) -> Failure:
        lines = list(self.trace.last)
        return Failure(self.seed, invariant, reason, lines, self.world.events_run)

    def _run(self) -> None:
        for broker in self.brokers:
            self.world.call_soon(broker.start)
        self.start_clients()
        self.nemesis.start()
        self.run_for(self.plan.duration_ms)
        self._heal()
        self._read_everything("last-reader-1")
        for broker in self.brokers:
            self._stop_and_start(broker)
        self._read_everything("last-reader-2")

    def start_clients(self) -> None:
        """Make the topics, then let everybody begin."""
        admin = self._add(SimAdmin, "admin", steady=STEADY, churning=CHURNING,
                          trimmed=["clicks"], think_ms=900.0)  # fmt: skip
        self._run_until(lambda: admin.ready, 60_000)
        self._add_clients()

    def _add_clients(self) -> None:
        think = self.plan.think_ms
        both, trust = list(STEADY), self.plan.trusts_state
        for number in (1, 2):
            self._add(SimProducer, f"{IDEMPOTENT}-{number}", topics=both, acks=-1,
                      idempotent=True, think_ms=think, trusts_state=trust)  # fmt: skip
        for acks in (0, 1, -1):
            self._add(SimProducer, f"plain-{acks}", topics=both, acks=acks,
                      idempotent=False, think_ms=2 * think)  # fmt: skip
        self._add(ChurnProducer, "plain-churn", topics=CHURNING, acks=-1,
                  idempotent=False, think_ms=think)  # fmt: skip
        self._add(SimConsumer, "consumer-1", topics=both)
        self._add(SimConsumer, "consumer-2", topics=["clicks"])
        self._add(SimConsumer, "consumer-3", topics=CHURNING, by_id=True)
        for number, group in enumerate([GROUPS[0]] * 3 + [GROUPS[1]] * 2):
            instance_id = f"instance-{number}" if number in (2, 4) else None
            self._add(GroupMember, f"member-{number}", group=group, topics=both,
                      instance_id=instance_id)  # fmt: skip
        if self.seed % 2:
            # Another life of member-4's instance, while that one lives: each fences the other.
            self._twin = self._add(GroupMember, "twin-4", group=GROUPS[1], topics=both,
                                   instance_id="instance-4")  # fmt: skip

    def _add(self, kind: Callable[..., Any], name: str, **options: Any) -> Any:
        client = kind(name, *self._where, **options)
        self.clients.append(client)
        client.start()
        return client

    def _heal(self) -> None:
        """End the faults; let what is under way end well."""
        self.trace.add("heal")
        self.network.weather = Weather()
        self.nemesis.heal()
        self._run_until(lambda: all(one.serving for one in self.brokers), 10_000)
        if self._twin is not None:
            self._twin.die()
        for client in self.clients:
            client.calm = True
            client.stopping = not isinstance(client, GroupMember)
        self.run_for(self.plan.settle_ms)
        late = [one.name for one in self.clients if one.stopping and not one.done]
        if late:
            raise Violation("I20", f"{late} have not finished long after the heal")

    def _read_everything(self, name: str) -> None:
        reader = self._add(FinalReader, name, groups=GROUPS, steady=list(STEADY))
        self._run_until(lambda: reader.done, 30_000)
        for invariant in self.invariants:
            invariant.at_end(reader)

    def _stop_and_start(self, broker: SimBroker) -> None:
        self.trace.add(f"stop {broker.address}")
        for client in self.clients:
            client.stopping = True
        self.run_for(10_000)
        broker.stop(lambda: None)
        self._run_until(lambda: not broker.alive, 20_000)
        self._run_until(lambda: broker.serving, 20_000)
        assert broker.node is not None
        if broker.node.logs.report:
            raise Violation("I19", f"recovery after a clean stop: {broker.node.logs.report}")

    # --- events --------------------------------------------------------------------------------

    def _step(self) -> bool:
        try:
            return self.world.step()
        except Died as death:
            self.trace.add(f"died: {death}")
            for broker in self.brokers:
                broker.bury()
            return True

    def run_for(self, duration_ms: float) -> None:
        """Let virtual time pass."""
        end_ms = self.world.now_ms + duration_ms
        self.world.call_later(duration_ms, lambda: None)
        while self.world.now_ms < end_ms and self._step():
            pass

    def _run_until(self, condition: Callable[[], bool], limit_ms: float) -> None:
        end_ms = self.world.now_ms + limit_ms
        while not condition():
            if self.world.now_ms > end_ms or not self._step():
                raise Violation("I20", f"no progress within {limit_ms:.0f} ms")

    def _served(self, broker: SimBroker) -> None:
        self.trace.add(f"{broker.address} serves, epoch {broker.epochs[-1]}")
        for invariant in self.invariants:
            invariant.node_served(broker)

    def _ended(self, broker: SimBroker, why: str) -> None:
        self.trace.add(f"{broker.address} ended: {why}")
        self.network.broker_gone(broker.address)
        for invariant in self.invariants:
            invariant.node_ended(broker, why)
        self.nemesis.ended(broker)

    def _power_lost(self, broker: SimBroker) -> None:
        for invariant in self.invariants:
            invariant.power_lost(broker)

    def _ran(self, broker: SimBroker) -> None:
        if broker.node is not None:
            for invariant in self._inside:
                invariant.node_ran(broker)

    def _node_handled(self, address: str) -> None:
        for broker in self.brokers:
            if broker.address == address:
                self._ran(broker)

    @property
    def _inside(self) -> list[Invariant]:
        return [one for one in self.invariants if type(one).node_ran is not Invariant.node_ran]

    # --- the network's watcher ------------------------------------------------------------------

    def sent(self, exchange: Exchange) -> None:
        self.requests += 1
        for invariant in self.invariants:
            invariant.sent(exchange)

    def handled(self, exchange: Exchange) -> None:
        self._line("handles", exchange)
        for invariant in self.invariants:
            invariant.handled(exchange)

    def answered(self, exchange: Exchange) -> None:
        for invariant in self.invariants:
            invariant.answered(exchange)

    def received(self, exchange: Exchange) -> None:
        self._line("receives", exchange)
        if exchange.key == 0:
            self.acknowledged += 1
        forgotten = self.promises.forgotten(exchange)
        for invariant in self.invariants:
            if not forgotten or invariant.stands_power_loss:
                invariant.received(exchange)

    def given_up(self, exchange: Exchange) -> None:
        self._line("gives up", exchange)
        for invariant in self.invariants:
            invariant.given_up(exchange)

    def _line(self, what: str, exchange: Exchange) -> None:
        self.trace.add(
            f"{exchange.client} {what} #{exchange.number} {exchange.key.name} "
            f"v{exchange.version} {exchange.digest:08x}"
        )

    def _add_disks(self) -> None:
        for broker in self.brokers:
            for path, data in broker.disk.files():
                self.trace.add(f"{path} {hashlib.blake2b(data, digest_size=8).hexdigest()}")

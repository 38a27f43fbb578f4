"""A cluster of whole nodes in virtual time, with faults, and invariants that watch everything.

Owns the world, the network, the nodes, the nemesis and the trace of one run; whoever derives from
it brings clients. `watched` lets something happen, and raises `Failure` where an invariant does not
hold, with the last lines of the trace. The trace has a line for everything that is said and done;
its checksum is the same in every run of a seed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from broker.node.node import Node
from ground.memory_filesystem import Died
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from simulation.faults.faults import Faults
from simulation.faults.nemesis import Nemesis
from simulation.invariants.invariant import Invariant, Promises
from simulation.machines.cluster_view import ClusterView
from simulation.machines.layout import CLUSTER_PROPERTIES, PROPERTIES, Layout
from simulation.machines.sim_broker import MakeNode, SimBroker
from simulation.network.sim_network import Exchange, SimNetwork, Weather
from simulation.sim_trace import Failure, LogLines, Trace, Violation, origin

CONVERGE_WITHIN_MS = 30_000.0


class Client(Protocol):
    """What a cluster has to know of a client."""

    name: str
    stopping: bool
    """Whether it was told to come to an end."""

    @property
    def done(self) -> bool:
        """Whether it has."""


class SimulatedCluster:
    """See the module."""

    def __init__(
        self,
        seed: int,
        layout: Layout,
        properties: Mapping[str, str],
        *,
        weather: Weather,
        faults: Faults,
        invariants: Sequence[type[Invariant]],
        make_node: MakeNode = Node,
    ) -> None:
        """`properties`: of every node, beside what `layout` sets."""
        self.seed = seed
        self.replay = f"seed {seed}"
        """How a failure of this run is made to happen again, in words for its text."""
        text = str(seed)
        self.world = SimScheduler(seed)
        self.trace = Trace(self.world)
        self.network = SimNetwork(self.world, text, weather)
        common = CLUSTER_PROPERTIES if len(layout.nodes) > 1 else PROPERTIES
        self.brokers = [
            SimBroker(
                self.world,
                self.network,
                text,
                number,
                {**common, **layout.properties(number), **properties},
                make_node,
            )
            for number, _ in layout.nodes
        ]
        self.view = ClusterView(self.brokers)
        self.is_cluster = len(self.brokers) > 1
        self.promises = Promises(self.view if self.is_cluster else None)
        self.invariants: list[Invariant] = []
        self._inside: list[Invariant] = []
        for kind in invariants:
            self.watch(kind(self.world, self.promises))
        self.faults = faults
        self.nemesis = Nemesis(
            self.world, self.network, text, faults, self.view, self.promises, self.tell,
            power_lost=self._power_lost, clients=lambda: [one.name for one in self.clients],
        )  # fmt: skip
        self.clients: list[Client] = []
        self.acknowledged = 0
        self.requests = 0
        self._lines = LogLines(self.trace, self.world)
        for broker in self.brokers:
            self.network.add(broker.address, broker, clients=broker.is_broker)
            broker.tell(served=self._served, ended=self._ended, ran=self._ran)
        self.network.watch(self, between_nodes=self.trace.add)

    def watch(self, invariant: Invariant) -> None:
        """Let one more invariant be told of everything."""
        self.invariants.append(invariant)
        if type(invariant).node_ran is not Invariant.node_ran:
            self._inside.append(invariant)

    def tell(self, text: str) -> None:
        """A fault, or what became of a node."""
        self.trace.add(text)

    # --- what happens ----------------------------------------------------------------------------

    def watched(self, story: Callable[[], None]) -> None:
        """Let `story` happen. Raises Failure."""
        root = logging.root
        root.addHandler(self._lines)
        try:
            story()
            if self._lines.errors and not self.faults.disk_error:
                raise Violation("I19", f"the broker logged {self._lines.errors[0]}")
        except AssertionError as error:
            name = getattr(error, "name", "assertion")
            reason = "; ".join([str(error), *self._lines.errors[:1]])
            raise self._failure(name, reason) from error
        except Exception as error:
            reason = origin(error)
            raise self._failure("crash", reason) from error
        finally:
            root.removeHandler(self._lines)

    def _failure(self, invariant: str, reason: str) -> Failure:
        lines = list(self.trace.last)
        return Failure(self.seed, invariant, reason, lines, self.world.events_run, self.replay)

    def start_brokers(self) -> None:
        """Begin the first life of each node."""
        for broker in self.brokers:
            self.world.call_soon(broker.start)

    def converge(self) -> None:
        """Let a cluster come to rest: everybody in sync with everything, and of one mind."""
        end_ms = self.world.now_ms + CONVERGE_WITHIN_MS
        while (why := self.view.why_not_converged()) is not None or self.unsettled():
            if self.world.now_ms > end_ms:
                raise Violation("I13", f"not converged long after the heal: {why}")
            self.run_for(200)

    def unsettled(self) -> bool:
        """Whether clients are on their way to their end, or whatever else must be waited for."""
        return any(one.stopping and not one.done for one in self.clients)

    def is_on_its_way(self) -> bool:
        """Whether an append waits for replicas."""
        serving = [one for one in self.brokers if one.node is not None and one.is_broker]
        return any(len(one.replicas.produce_purgatory) for one in serving)

    # --- events --------------------------------------------------------------------------------

    def step(self) -> bool:
        """Let the next event happen; False where there is none."""
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
        while self.world.now_ms < end_ms and self.step():
            pass

    def run_until(self, condition: Callable[[], bool], limit_ms: float) -> None:
        """Let time pass until something is so; I20 where it does not come in time."""
        end_ms = self.world.now_ms + limit_ms
        while not condition():
            if self.world.now_ms > end_ms or not self.step():
                raise Violation("I20", f"no progress within {limit_ms:.0f} ms")

    def _served(self, broker: SimBroker) -> None:
        epoch = f", epoch {broker.epochs[-1]}" if broker.epochs else ""
        self.tell(f"{broker.address} serves{epoch}")
        for invariant in self.invariants:
            invariant.node_served(broker)

    def _ended(self, broker: SimBroker, why: str) -> None:
        self.tell(f"{broker.address} ended: {why}")
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

    # --- the network's watcher ------------------------------------------------------------------

    def sent(self, exchange: Exchange) -> None:
        """See `Watcher`, as those below."""
        self.requests += 1
        for invariant in self.invariants:
            invariant.sent(exchange)

    def handled(self, exchange: Exchange) -> None:
        """A broker begins with a request."""
        self._line("handles", exchange)
        for invariant in self.invariants:
            invariant.handled(exchange)

    def answered(self, exchange: Exchange) -> None:
        """It has answered."""
        for invariant in self.invariants:
            invariant.answered(exchange)

    def received(self, exchange: Exchange) -> None:
        """The client has the response."""
        self._line("receives", exchange)
        if exchange.key is ApiKey.PRODUCE:
            self.acknowledged += 1
        forgotten = self.promises.forgotten(exchange)
        for invariant in self.invariants:
            if not forgotten or invariant.stands_power_loss:
                invariant.received(exchange)

    def given_up(self, exchange: Exchange) -> None:
        """It will never have one."""
        self._line("gives up", exchange)
        for invariant in self.invariants:
            invariant.given_up(exchange)

    def _line(self, what: str, exchange: Exchange) -> None:
        self.trace.add(
            f"{exchange.client} {what} #{exchange.number} {exchange.key.name} "
            f"v{exchange.version} {exchange.node} {exchange.digest:08x}"
        )

    def add_disks(self) -> None:
        """Let the trace have what is on every disk."""
        for broker in self.brokers:
            for path, data in broker.disk.files():
                digest = hashlib.blake2b(data, digest_size=8).hexdigest()
                self.trace.add(f"{broker.address} {path} {digest}")

"""A cluster of whole nodes in virtual time, with faults, and invariants that check every event.

Owns the world, the network, the nodes, the nemesis and the trace of one run. Clients are added by
subclasses. `watched` runs a part of a run and raises `Failure`, with the last lines of the trace,
if an invariant is broken. The trace has a line for every request, response, fault and end of a
process. Its checksum is the same in every run of a seed.

`ottla.testing.simulation.cluster.SimulatedCluster` is the same concept on a scenario's side.
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
from simulation.faults.faults import FaultRates
from simulation.faults.nemesis import Nemesis
from simulation.invariants.invariant import Invariant, Promises
from simulation.machines.layout import CLUSTER_PROPERTIES, PROPERTIES, Layout
from simulation.machines.sim_broker import MakeNode, SimBroker
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.network.sim_network import Exchange, SimNetwork, Weather
from simulation.sim_trace import Failure, LogLines, Trace, Violation, origin

CONVERGE_WITHIN_MS = 30_000.0


class AttachedClient(Protocol):
    """A client, as the cluster uses it."""

    name: str
    stopping: bool
    """Whether the client has been asked to stop."""

    @property
    def done(self) -> bool:
        """Whether the client has stopped."""


class SimulatedCluster:
    """One run of a cluster: world, nodes, faults and invariants."""

    def __init__(
        self,
        seed: int,
        layout: Layout,
        properties: Mapping[str, str],
        *,
        weather: Weather,
        faults: FaultRates,
        invariants: Sequence[type[Invariant]],
        make_node: MakeNode = Node,
    ) -> None:
        """Create the nodes, none of which runs yet. `properties` are set on every node, over those
        of `layout`."""
        self.seed = seed
        self.replay = f"seed {seed}"
        """The way to repeat a failure of this run, as words for the failure's text."""
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
        self.view = SimulatedNodes(self.brokers)
        self.is_cluster = len(self.brokers) > 1
        self.promises = Promises(self.view if self.is_cluster else None)
        self.invariants: list[Invariant] = []
        self._inside: list[Invariant] = []
        for kind in invariants:
            self.watch(kind(self.world, self.promises))
        self.faults = faults
        self.nemesis = Nemesis(
            self.world, self.network, text, faults, self.view, self.promises, self.tell,
            power_lost=self._power_lost, clients=lambda: [client.name for client in self.clients],
        )  # fmt: skip
        self.clients: list[AttachedClient] = []
        self.acknowledged = 0
        self.requests = 0
        self._lines = LogLines(self.trace, self.world)
        for broker in self.brokers:
            self.network.add(broker.address, broker, clients=broker.is_broker)
            broker.tell(served=self._served, ended=self._ended, ran=self._ran)
        self.network.watch(self, between_nodes=self.trace.add)

    def watch(self, invariant: Invariant) -> None:
        """Add an invariant, which then gets every event."""
        self.invariants.append(invariant)
        if type(invariant).node_ran is not Invariant.node_ran:
            self._inside.append(invariant)

    def tell(self, text: str) -> None:
        """Add a line about a fault, or a change of a node's state, to the trace."""
        self.trace.add(text)

    # --- parts of a run --------------------------------------------------------------------------

    def watched(self, story: Callable[[], None]) -> None:
        """Run `story`, with the cores' log lines in the trace.

        Raises Failure if an invariant is broken, `story` crashes, or an error is logged. Logged
        errors are allowed if the faults include disk errors.
        """
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
        """Return, without raising it, the failure of this run, with the trace's last lines."""
        lines = list(self.trace.last)
        return Failure(self.seed, invariant, reason, lines, self.world.events_run, self.replay)

    def start_brokers(self) -> None:
        """Begin the first life of each node, as the world's next events."""
        for broker in self.brokers:
            self.world.call_soon(broker.start)

    def converge(self) -> None:
        """Let time pass until all replicas are in sync, all nodes have the same metadata, and
        nothing is unsettled. Raises Violation (I13) after CONVERGE_WITHIN_MS of virtual time."""
        end_ms = self.world.now_ms + CONVERGE_WITHIN_MS
        while (why := self.view.why_not_converged()) is not None or self.unsettled():
            if self.world.now_ms > end_ms:
                raise Violation("I13", f"not converged long after the heal: {why}")
            self.run_for(200)

    def unsettled(self) -> bool:
        """Return whether a stopping client, or whatever a subclass adds, must still be waited
        for."""
        return any(client.stopping and not client.done for client in self.clients)

    def has_waiting_appends(self) -> bool:
        """Return whether an append is waiting for replicas."""
        serving = [node for node in self.brokers if node.node is not None and node.is_broker]
        return any(len(broker.replicas.produce_purgatory) for broker in serving)

    # --- events --------------------------------------------------------------------------------

    def step(self) -> bool:
        """Run the next event. Return False if there is none.

        If a node's process dies in the event, add that to the trace and end the process.
        """
        try:
            return self.world.step()
        except Died as death:
            self.trace.add(f"died: {death}")
            for broker in self.brokers:
                broker.end_if_dead()
            return True

    def run_for(self, duration_ms: float) -> None:
        """Let this much virtual time pass."""
        end_ms = self.world.now_ms + duration_ms
        self.world.call_later(duration_ms, lambda: None)
        while self.world.now_ms < end_ms and self.step():
            pass

    def run_until(self, condition: Callable[[], bool], limit_ms: float) -> None:
        """Let time pass until the condition holds. Raises Violation (I20) if it does not within
        `limit_ms`."""
        end_ms = self.world.now_ms + limit_ms
        while not condition():
            if self.world.now_ms > end_ms or not self.step():
                raise Violation("I20", f"no progress within {limit_ms:.0f} ms")

    def _served(self, broker: SimBroker) -> None:
        """Add to the trace that a broker serves, and pass the event to the invariants."""
        epoch = f", epoch {broker.epochs[-1]}" if broker.epochs else ""
        self.tell(f"{broker.address} serves{epoch}")
        for invariant in self.invariants:
            invariant.node_served(broker)

    def _ended(self, broker: SimBroker, why: str) -> None:
        """Add the end of a process to the trace, and pass it to the invariants and to the nemesis,
        which schedules the next start."""
        self.tell(f"{broker.address} ended: {why}")
        for invariant in self.invariants:
            invariant.node_ended(broker, why)
        self.nemesis.ended(broker)

    def _power_lost(self, broker: SimBroker) -> None:
        """Pass a node's loss of power to the invariants."""
        for invariant in self.invariants:
            invariant.power_lost(broker)

    def _ran(self, broker: SimBroker) -> None:
        """Let the invariants that look into nodes check a node, after a callback of its process."""
        if broker.node is not None:
            for invariant in self._inside:
                invariant.node_ran(broker)

    # --- the network's watcher ------------------------------------------------------------------

    def sent(self, exchange: Exchange) -> None:
        """Count a sent request, and pass it to the invariants; see `Watcher`."""
        self.requests += 1
        for invariant in self.invariants:
            invariant.sent(exchange)

    def handled(self, exchange: Exchange) -> None:
        """Add to the trace that a broker begins to handle a request, and pass it to the
        invariants."""
        self._line("handles", exchange)
        for invariant in self.invariants:
            invariant.handled(exchange)

    def answered(self, exchange: Exchange) -> None:
        """Pass a broker's response to the invariants."""
        for invariant in self.invariants:
            invariant.answered(exchange)

    def received(self, exchange: Exchange) -> None:
        """Add to the trace that a client has received a response, count it if it is a Produce's,
        and pass it to the invariants.

        If power was lost after the response, only invariants that hold all the same get it.
        """
        self._line("receives", exchange)
        if exchange.key is ApiKey.PRODUCE:
            self.acknowledged += 1
        forgotten = self.promises.forgotten(exchange)
        for invariant in self.invariants:
            if not forgotten or invariant.stands_power_loss:
                invariant.received(exchange)

    def unanswered(self, exchange: Exchange) -> None:
        """Add to the trace that a request will never be answered, and pass it to the invariants."""
        self._line("gives up", exchange)
        for invariant in self.invariants:
            invariant.unanswered(exchange)

    def _line(self, verb: str, exchange: Exchange) -> None:
        """Add to the trace a line with the client, the verb, the request and its digest."""
        self.trace.add(
            f"{exchange.client} {verb} #{exchange.number} {exchange.key.name} "
            f"v{exchange.version} {exchange.node} {exchange.digest:08x}"
        )

    def add_disks(self) -> None:
        """Add a checksum of every file on every disk to the trace."""
        for broker in self.brokers:
            for path, data in broker.disk.files():
                digest = hashlib.blake2b(data, digest_size=8).hexdigest()
                self.trace.add(f"{broker.address} {path} {digest}")

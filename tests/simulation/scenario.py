"""A cluster to which a test does what a named scenario tells, and all invariants watch.

    story = Scenario(seed=1)
    story.run(lambda: …)        # raises Failure where an invariant does not hold

Brokers start, the topics are made; what follows is the test's: no fault happens by chance, and what
died stays dead until it is started or all is healed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from simulation.faults.faults import FaultRates
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import TRANSACTIONS_TOPIC
from simulation.network.sim_network import Exchange, Weather
from simulation.sim_client import GeneratorRun, Waits
from simulation.sim_trace import RunOutcome
from tests.simulation.cast import GROUPS
from tests.simulation.group_members import GroupMember
from tests.simulation.plans import Plan
from tests.simulation.producers import Batch, Sending, SimProducer
from tests.simulation.sim_actor import REQUEST_TIMEOUT_MS, SimActor, Topic
from tests.simulation.simulation import Simulation


class ScriptedClient(SimActor):
    """Does nothing by itself."""

    def life(self) -> Waits:
        return
        yield


class Scenario(Simulation):
    """See the module."""

    def __init__(
        self,
        seed: int = 1,
        *,
        layout: Layout | None = None,
        weather: Weather | None = None,
        properties: dict[str, str] | None = None,
        transactional: bool = False,
        assigned: bool = False,
    ) -> None:
        """`transactional` adds topics for transactions, and their invariants; `assigned` the
        settings and the invariants of groups that the broker assigns."""
        plan = Plan(
            settle_ms=2_000.0,
            weather=weather or Weather(),
            faults=FaultRates(mean_interval_ms=1e12),
            layout=layout or Layout.combined(3),
            replicas=3,
            think_ms=100.0,
            properties=properties or {},
            transactional=transactional,
            assigned=assigned,
        )
        super().__init__(seed, plan)
        self.nemesis.ended = lambda _broker: None  # type: ignore[method-assign]
        self._values = 0

    def run(self, tell: Callable[[], None] = lambda: None) -> RunOutcome:
        """Start, let `tell` happen, heal, and read everything. Raises Failure."""

        def story() -> None:
            self.start_brokers()
            self.run_until(lambda: all(one.serving for one in self.brokers), 10_000)
            self.make_topics()
            for client in self.clients:
                client.die()  # the admin has done its part
            self.run_for(500)
            self.script = self.add(ScriptedClient, "script")
            tell()
            self.heal()
            self.read_everything("last-reader")

        return self.judged(story)

    # --- clients -------------------------------------------------------------------------------

    def ask(self, request: Any, version: int, to: SimBroker, *, timeout_ms: float = 8_000.0) -> Any:
        """A request and its response; None where there is none."""
        exchange = self.send(request, version, to, timeout_ms=timeout_ms)
        if exchange is None:
            return None
        self.run_until(lambda: exchange.outcome is not None, timeout_ms + 1_000.0)
        return exchange.response

    def send(
        self, request: Any, version: int, to: SimBroker, *, timeout_ms: float = 8_000.0,
        about: Any = None,
    ) -> Exchange | None:  # fmt: skip
        """Send a request; None where nobody listens."""
        connection = self.script.connection(to.address)
        if connection is None:
            return None
        return connection.send(request, version, timeout_ms, about=about)

    def producers(self) -> list[SimProducer]:
        """Two idempotent producers begin their work."""
        return [
            self.add(SimProducer, f"idempotent-{number}", topics=list(self.steady), acks=-1,
                     idempotent=True, think_ms=self.plan.think_ms)
            for number in (1, 2)
        ]  # fmt: skip

    def members(self, count: int = 2) -> list[GroupMember]:
        """Members of a group begin their work."""
        return [
            self.add(GroupMember, f"member-{number}", group=GROUPS[0], topics=list(self.steady),
                     instance_id=None)
            for number in range(count)
        ]  # fmt: skip

    def produce(
        self, topic: str, index: int, to: SimBroker, *, acks: int = -1, count: int = 1
    ) -> Exchange:
        """Send a batch of fresh values to a broker, leader or not."""
        producer = SimProducer(
            "plain-script", *self._where, topics=[topic], acks=acks, idempotent=False, think_ms=1.0
        )
        producer.version = 12
        image = self.view.newest_image().topics.get(topic)
        assert image is not None
        producer.topics.take(Topic(topic, image.id))
        values = []
        for _ in range(count):
            self._values += 1
            values.append(f"plain-script/{self._values}".encode())
        batch = Batch(topic, image.id, index, values)
        connection = producer.connection(to.address)
        assert connection is not None
        request = producer.request_for(batch)
        about = Sending(batch, acks, idempotent=False)
        return connection.send(request, producer.version, REQUEST_TIMEOUT_MS, about=about)

    def settled(self, exchange: Exchange) -> ErrorCode | None:
        """The error of a Produce, or None where there was no answer."""
        self.run_until(lambda: exchange.outcome is not None, REQUEST_TIMEOUT_MS + 1_000.0)
        if exchange.response is None:
            return None
        return ErrorCode(exchange.response.responses[0].partition_responses[0].error_code)

    def do(self, part: Waits, limit_ms: float = 60_000.0) -> Any:
        """Let a part of some client's life happen; gives what it gives."""
        told = self.begin(part)
        self.run_until(lambda: bool(told), limit_ms)
        return told[0]

    def begin(self, part: Waits) -> list[Any]:
        """The same under way: what it gives will be in the list."""
        told: list[Any] = []

        def run() -> Waits:
            told.append((yield from part))

        GeneratorRun(self.world, run())
        return told

    # --- the cluster ---------------------------------------------------------------------------

    def leader(self, topic: str = "orders", index: int = 0) -> SimBroker:
        """The leader of a partition, once there is one that serves."""

        def there() -> bool:
            found = self.view.leader(topic, index)
            return found is not None and found.serving

        self.run_until(there, 20_000)
        found = self.view.leader(topic, index)
        assert found is not None
        return found

    def new_leader(self, old: SimBroker, topic: str = "orders", index: int = 0) -> SimBroker:
        """The leader of a partition, once it is another."""

        def another() -> bool:
            found = self.view.leader(topic, index)
            return found is not None and found is not old and found.serving

        self.run_until(another, 20_000)
        return self.leader(topic, index)

    def followers(self, topic: str = "orders", index: int = 0) -> list[SimBroker]:
        leader = self.leader(topic, index)
        return [one for one in self.view.brokers if one is not leader]

    def replica(self, broker: SimBroker, topic: str = "orders", index: int = 0) -> Partition:
        found = broker.replicas.partition(topic, index)
        assert found is not None
        return found

    def controller(self) -> SimBroker:
        """The active controller, once there is one."""
        self.run_until(lambda: self.view.active_controller() is not None, 20_000)
        found = self.view.active_controller()
        assert found is not None
        return found

    def coordinator(self) -> SimBroker:
        """The coordinator of the group, once there is one that serves."""
        return self.leader("__consumer_offsets", 0)

    def transaction_coordinator(self) -> SimBroker:
        """The same of the transactions; somebody must have looked for it."""
        return self.leader(TRANSACTIONS_TOPIC, 0)

    def isolate(self, node: SimBroker) -> None:
        """From the other nodes, not from clients."""
        for other in self.brokers:
            if other is not node:
                self.network.links.cut_both(node.address, other.address)

    def start(self, *nodes: SimBroker) -> None:
        """Start what is dead, and wait until it serves."""
        for node in nodes:
            if not node.alive:
                node.start()
        self.run_until(lambda: all(one.serving for one in nodes), 20_000)

    def kill(self, *nodes: SimBroker) -> None:
        for node in nodes:
            if node.alive:
                self.trace.add(f"the story kills {node.address}")
                node.kill()

    def in_sync(self, *nodes: SimBroker) -> None:
        """Wait until nodes are in sync with all that they hold."""
        self.run_until(lambda: all(self.view.is_healthy(one) for one in nodes), 30_000)

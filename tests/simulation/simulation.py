"""One seed: brokers, clients and faults in virtual time, with every invariant watching.

    outcome = Simulation(seed).run()                 # raises Failure where an invariant is broken
    outcome = Simulation(seed, brokers=3).run()      # the same for a cluster

A run: the brokers start, the admin makes the topics, clients and nemesis work for a while; then
all is healed, the clients finish, a cluster has to come to rest, and a last reader reads all there
is; the brokers are stopped cleanly, started again, and all is read once more. The trace has a line
for everything that is said and done; its checksum is the same in every run of the seed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from broker.node.node import Node
from tests.simulation.acls.acl_changer import AclChanger
from tests.simulation.acls.acl_invariants import AnswersAgreeWithAcls
from tests.simulation.acls.principals import NODES, principal_of, settings
from tests.simulation.acls.stranger import Rereader, Stranger
from tests.simulation.admins import SimAdmin
from tests.simulation.cast import (
    CHURNING,
    CLUSTER_STEADY,
    COPIERS,
    GROUPS,
    SOURCE,
    STEADY,
    TRANSACTIONAL,
    add_to_cluster,
    add_to_one_broker,
    add_transactions,
)
from tests.simulation.cluster_invariants import CLUSTER_INVARIANTS
from tests.simulation.cluster_view import ClusterView
from tests.simulation.control_invariants import CONTROL_INVARIANTS
from tests.simulation.copiers import Copier
from tests.simulation.data_invariants import DATA_INVARIANTS
from tests.simulation.final_reader import FinalReader
from tests.simulation.group_invariants import GROUP_INVARIANTS
from tests.simulation.group_members import GroupMember
from tests.simulation.invariants import Invariant, Promises
from tests.simulation.memory_filesystem import Died
from tests.simulation.metadata_invariants import METADATA_INVARIANTS
from tests.simulation.nemesis import Nemesis
from tests.simulation.plans import CLUSTER_PROPERTIES, PROPERTIES, Plan
from tests.simulation.sim_broker import SimBroker
from tests.simulation.sim_client import SimClient, Violation
from tests.simulation.sim_network import Exchange, SimNetwork, Weather
from tests.simulation.sim_scheduler import SimScheduler
from tests.simulation.sim_trace import Failure, LogLines, Outcome, Trace, origin
from tests.simulation.transaction_invariants import TRANSACTION_INVARIANTS, hanging
from tests.simulation.watermark_invariants import WATERMARK_INVARIANTS

__all__ = ["PROPERTIES", "Failure", "Outcome", "Plan", "Simulation"]

INVARIANTS: tuple[type[Invariant], ...] = (
    *DATA_INVARIANTS,
    *WATERMARK_INVARIANTS,
    *METADATA_INVARIANTS,
    *CONTROL_INVARIANTS,
    *GROUP_INVARIANTS,
)
"""Those of every run."""
STABLE_WITHIN_MS = 21_000.0
"""The longest time-out of a transaction, and fifteen seconds."""
LATER_MS = 7_200_000
"""More than a clock ever goes back."""
CONVERGE_WITHIN_MS = 30_000.0
ACLS_CHANGE_MS = 500.0
"""On average."""


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
        if plan is None:
            plan = Plan.of(seed) if brokers == 1 else Plan.cluster(seed, brokers)
        self.seed = seed
        self.plan = plan
        text = str(seed)
        self.world = SimScheduler(seed)
        self.trace = Trace(self.world)
        self.network = SimNetwork(self.world, text, plan.weather)
        self.brokers = [self._make(text, number, make_node) for number, _ in plan.layout.nodes]
        self.view = ClusterView(self.brokers)
        self.promises = Promises(self.view if plan.is_cluster else None)
        kinds = (
            *INVARIANTS,
            *(CLUSTER_INVARIANTS if plan.is_cluster else ()),
            *(TRANSACTION_INVARIANTS if plan.transactional else ()),
        )
        self.invariants = [one(self.world, self.promises) for one in kinds]
        self.rights = AnswersAgreeWithAcls(self.world, self.promises)
        if plan.secured:
            self._secure()
        self._inside = [
            one for one in self.invariants if type(one).node_ran is not Invariant.node_ran
        ]
        self.nemesis = Nemesis(
            self.world, self.network, text, plan.faults, self.view, self.promises, self.trace.add
        )
        self.clients: list[SimClient] = []
        self._twin: GroupMember | None = None
        self.plain = CLUSTER_STEADY if plan.is_cluster else STEADY
        """The topics that need no transactions."""
        self.steady = self.plain | (TRANSACTIONAL if plan.transactional else {})
        if plan.transactional:
            self.promises.transactional_topics = (SOURCE, *TRANSACTIONAL)
        self.groups = GROUPS[:1] if plan.is_cluster else GROUPS
        self.last_reader: FinalReader | None = None
        self.acknowledged = 0
        self.requests = 0
        self._where = (text, self.world, self.network)
        for broker in self.brokers:
            self.network.servers[broker.address] = broker
            if broker.is_broker:
                self.network.client_addresses.append(broker.address)
            broker.on_served = self._served
            broker.on_ended = self._ended
            broker.on_ran = self._ran
        self.nemesis.on_power_loss = self._power_lost
        self.nemesis.clients = lambda: [one.name for one in self.clients]
        self.network.watch(self)
        self.network.on_node_message = self.trace.add

    def _make(self, seed: str, node_id: int, make_node: Callable[..., Node]) -> SimBroker:
        plan = self.plan
        properties = {
            **(CLUSTER_PROPERTIES if plan.is_cluster else PROPERTIES),
            **plan.layout.properties(node_id),
            "log.dirs": plan.log_dirs,
            **(settings(plan.everyone) if plan.secured else {}),
            **plan.properties,
        }
        return SimBroker(self.world, self.network, seed, node_id, properties, make_node)

    def _secure(self) -> None:
        """Clients and nodes have names, and what they are told of rights is watched."""
        self.network.principal_of = principal_of
        self.network.nodes_principal = NODES
        self.rights.everyone = self.plan.everyone
        self.invariants.append(self.rights)
        self.promises.may_read = self.rights.may_read
        self.network.on_node_told = self.rights.node_told
        for broker in self.brokers:
            broker.on_made = self.rights.node_made

    # --- the run -------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Raises Failure."""
        return self.judged(self._run)

    def judged(self, story: Callable[[], None]) -> Outcome:
        """Let `story` happen, and judge it. Raises Failure."""
        lines = LogLines(self.trace, self.world)
        root = logging.getLogger()
        root.addHandler(lines)
        try:
            story()
            if lines.errors and not self.plan.faults.disk_error:
                raise Violation("I19", f"the broker logged {lines.errors[0]}")
        except AssertionError as error:
            name = getattr(error, "name", "assertion")
            reason = "; ".join([str(error), *lines.errors[:1]])
            raise self._failure(name, reason) from error
        except Exception as error:
            reason = origin(error)
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
            self.rights.judged,
        )

    def _failure(self, invariant: str, reason: str) -> Failure:
        lines = list(self.trace.last)
        options = f" --brokers {self.plan.layout.brokers}" if self.plan.is_cluster else ""
        return Failure(self.seed, invariant, reason, lines, self.world.events_run, options)

    def _run(self) -> None:
        self.start_brokers()
        self.start_clients()
        self.nemesis.start()
        self.run_for(self.plan.duration_ms)
        self.heal()
        self.read_everything("last-reader-1")
        if self.plan.restarts:
            self._restart_all()
            self.read_everything("last-reader-2")

    def start_brokers(self) -> None:
        for broker in self.brokers:
            self.world.call_soon(broker.start)

    def start_clients(self) -> None:
        """Make the topics, then let everybody begin."""
        if self.plan.secured:
            changer = self.add(AclChanger, "acls", think_ms=ACLS_CHANGE_MS)
            self.run_until(lambda: changer.ready, 60_000)
            groups = ["strangers", *self.groups]
            self.add(Stranger, "stranger", groups=groups)
            self.add(Rereader, "consumer-again", groups=groups)
        self.make_topics()
        if self.plan.is_cluster:
            self._twin = add_to_cluster(self)
        else:
            self._twin = add_to_one_broker(self)
        if self.plan.transactional:
            add_transactions(self)

    def make_topics(self) -> None:
        admin = self.add(SimAdmin, "admin", steady=self.steady, churning=CHURNING, think_ms=900.0,
                         trimmed=["clicks"], replicas=self.plan.replicas)  # fmt: skip
        self.run_until(lambda: admin.ready, 60_000)

    def add(self, kind: Callable[..., Any], name: str, **options: Any) -> Any:
        """Start a client."""
        client = kind(name, *self._where, **options)
        self.clients.append(client)
        client.start()
        return client

    def heal(self) -> None:
        """End the faults; let what is under way end well, and a cluster come to rest."""
        self.trace.add("heal")
        self.network.weather = Weather()
        self.nemesis.heal()
        self.run_until(lambda: all(one.serving for one in self.brokers), 15_000)
        if self._twin is not None:
            self._twin.die()
        for client in self.clients:
            client.calm = True
            client.stopping = isinstance(client, Copier) or not isinstance(client, GroupMember)
        self.run_for(self.plan.settle_ms)
        if self.plan.is_cluster:
            self.converge()
            self.promises.calm_since_ms = self.world.now_ms
        self._finish_clients()
        if self.plan.transactional:
            self._end_transactions()

    def _finish_clients(self) -> None:
        late = [one.name for one in self.clients if one.stopping and not one.done]
        if late:
            raise Violation("I20", f"{late} have not finished long after the heal")

    def _end_transactions(self) -> None:
        """Those that were left are aborted, once their time is over.

        That is told by the clock of the day (as in Kafka), which may have gone back since: then it
        has to come as far again.
        """
        why = self._hangs()
        if why is not None:
            for broker in self.brokers:
                broker.set_clock(LATER_MS)
            why = self._hangs()
        if why is not None:
            raise Violation("I10", why)
        if self.plan.is_cluster:
            self.converge()

    def _hangs(self) -> str | None:
        """A partition that is not stable to its end within `STABLE_WITHIN_MS`."""
        end_ms = self.world.now_ms + STABLE_WITHIN_MS
        while (why := hanging(self.brokers)) is not None and self.world.now_ms < end_ms:
            self.run_for(200)
        return why

    def converge(self) -> None:
        """Let a cluster come to rest: everybody in sync with everything, and of one mind."""
        end_ms = self.world.now_ms + CONVERGE_WITHIN_MS
        while (why := self.view.why_not_converged()) is not None or self._unsettled():
            if self.world.now_ms > end_ms:
                raise Violation("I13", f"not converged long after the heal: {why}")
            self.run_for(200)

    def _unsettled(self) -> bool:
        """Whether members are still on their way into their group, or clients at their end."""
        return any(one.stopping and not one.done for one in self.clients) or any(
            isinstance(one, GroupMember) and not one.done and not one.assigned
            for one in self.clients
        )

    def read_everything(self, name: str) -> None:
        reader = self.add(FinalReader, name, groups=self.groups, steady=list(self.steady),
                          skipped=self.promises.unclean_topics,
                          transactional=(COPIERS,) if self.plan.transactional else ())  # fmt: skip
        self.run_until(lambda: reader.done, 45_000)
        # The end of a transaction that ran out of time may be on its way to followers.
        end_ms = self.world.now_ms + 5_000
        while self._is_on_its_way() and self.world.now_ms < end_ms and self._step():
            pass
        self.last_reader = reader
        for invariant in self.invariants:
            invariant.at_end(reader)

    def _restart_all(self) -> None:
        for client in self.clients:
            client.stopping = True
        self.run_for(3_000 if self.plan.is_cluster else 10_000)
        for broker in self.brokers:
            self.restart(broker)

    def restart(self, broker: SimBroker) -> None:
        """Stop a broker cleanly, and start it: nothing is to be recovered."""
        self.trace.add(f"stop {broker.address}")
        broker.stop(lambda: None)
        self.run_until(lambda: not broker.alive, 20_000)
        self.run_until(lambda: broker.serving, 20_000)
        assert broker.node is not None
        if broker.node.logs.report:
            raise Violation("I19", f"recovery after a clean stop: {broker.node.logs.report}")
        if self.plan.is_cluster:
            self.converge()

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

    def _is_on_its_way(self) -> bool:
        """Whether an append waits for replicas."""
        serving = [one for one in self.brokers if one.node is not None and one.is_broker]
        return any(len(one.replicas.produce_purgatory) for one in serving)

    def run_until(self, condition: Callable[[], bool], limit_ms: float) -> None:
        """Let time pass until something is so; I20 where it does not come in time."""
        end_ms = self.world.now_ms + limit_ms
        while not condition():
            if self.world.now_ms > end_ms or not self._step():
                raise Violation("I20", f"no progress within {limit_ms:.0f} ms")

    def _served(self, broker: SimBroker) -> None:
        epoch = f", epoch {broker.epochs[-1]}" if broker.epochs else ""
        self.trace.add(f"{broker.address} serves{epoch}")
        for invariant in self.invariants:
            invariant.node_served(broker)

    def _ended(self, broker: SimBroker, why: str) -> None:
        self.trace.add(f"{broker.address} ended: {why}")
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
            f"v{exchange.version} {exchange.node} {exchange.digest:08x}"
        )

    def _add_disks(self) -> None:
        for broker in self.brokers:
            for path, data in broker.disk.files():
                digest = hashlib.blake2b(data, digest_size=8).hexdigest()
                self.trace.add(f"{broker.address} {path} {digest}")

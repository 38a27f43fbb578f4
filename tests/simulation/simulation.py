"""One seed: brokers, clients and faults in virtual time, with every invariant watching.

    outcome = Simulation(seed).run()                 # raises Failure where an invariant is broken
    outcome = Simulation(seed, brokers=3).run()      # the same for a cluster

A run: the brokers start, the admin makes the topics, clients and nemesis work for a while; then
all is healed, the clients finish, a cluster has to come to rest, and a last reader reads all there
is; the brokers are stopped cleanly, started again, and all is read once more. The trace has a line
for everything that is said and done; its checksum is the same in every run of the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from broker.node.node import Node
from controller.metadata.image import ResourceType
from simulation.invariants.cluster_invariants import CLUSTER_INVARIANTS
from simulation.invariants.control_invariants import CONTROL_INVARIANTS
from simulation.invariants.invariant import Invariant
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Weather
from simulation.sim_trace import Failure, RunOutcome, Violation
from simulation.simulated_cluster import SimulatedCluster
from tests.simulation.acls.acl_changer import AclChanger
from tests.simulation.acls.acl_invariants import AnswersAgreeWithAcls
from tests.simulation.acls.principals import NODES, principal_of, settings
from tests.simulation.acls.stranger import Rereader, Stranger
from tests.simulation.admins import SimAdmin
from tests.simulation.cast import (
    ASSIGNED,
    CHURNING,
    CLUSTER_STEADY,
    COPIERS,
    GROUPS,
    GUSTY,
    MIGRATING,
    SOURCE,
    STEADY,
    TRANSACTIONAL,
    add_consumers,
    add_sharers,
    add_to_cluster,
    add_to_one_broker,
    add_transactions,
)
from tests.simulation.consumer_groups.consumer_invariants import CONSUMER_INVARIANTS
from tests.simulation.consumer_groups.consumer_member import SETTINGS as CONSUMER_SETTINGS
from tests.simulation.consumer_groups.group_counts import GroupCounts
from tests.simulation.consumer_groups.log_invariants import LOG_INVARIANTS
from tests.simulation.consumer_groups.settling import QuietGroupsSettle
from tests.simulation.copiers import Copier
from tests.simulation.data_invariants import DATA_INVARIANTS
from tests.simulation.final_reader import FinalReader
from tests.simulation.group_invariants import GROUP_INVARIANTS
from tests.simulation.group_members import GroupMember
from tests.simulation.metadata_invariants import METADATA_INVARIANTS
from tests.simulation.plans import Plan
from tests.simulation.quotas.quota_changer import SETTINGS, QuotaChanger
from tests.simulation.quotas.quota_invariants import NobodyWaitsForEver
from tests.simulation.quotas.working_time import working_node
from tests.simulation.share_groups.drained import NoRecordIsLost, undrained
from tests.simulation.share_groups.share_group_invariants import SHARE_GROUP_INVARIANTS
from tests.simulation.share_groups.share_invariants import RecordsAreShared
from tests.simulation.share_groups.share_member import ShareMember
from tests.simulation.share_groups.share_settings import SETTINGS as SHARE_SETTINGS
from tests.simulation.share_groups.share_settings import ShareAdmin, groups_of, writes_of
from tests.simulation.transaction_invariants import TRANSACTION_INVARIANTS, hanging
from tests.simulation.watermark_invariants import WATERMARK_INVARIANTS

__all__ = ["Failure", "RunOutcome", "Plan", "Simulation"]

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
ACLS_CHANGE_MS = 500.0
QUOTAS_CHANGE_MS = 500.0
"""On average."""


def _properties_of(plan: Plan) -> dict[str, str]:
    """Return the configs of each node in a run."""
    return {
        "log.dirs": plan.log_dirs,
        **(settings(plan.everyone) if plan.secured else {}),
        **(SETTINGS if plan.limited else {}),
        **(CONSUMER_SETTINGS if plan.assigned else {}),
        **(SHARE_SETTINGS if plan.shared else {}),
        **plan.properties,
    }


def _command_of(seed: int, plan: Plan) -> str:
    """Return the command that repeats a run."""
    options = f" --brokers {plan.layout.brokers}"
    options += " --quotas" if plan.limited else ""
    options += " --groups" if plan.assigned else ""
    options += " --shares" if plan.shared else ""
    return f"python -m tests.simulation{options} --seed {seed}"


class Simulation(SimulatedCluster):
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
        if plan.limited and make_node is Node:
            make_node = working_node
        self.plan = plan
        kinds = (
            *INVARIANTS,
            *(CLUSTER_INVARIANTS if plan.is_cluster else ()),
            *(TRANSACTION_INVARIANTS if plan.transactional else ()),
            *((*CONSUMER_INVARIANTS, *LOG_INVARIANTS) if plan.assigned else ()),
            *(SHARE_GROUP_INVARIANTS if plan.shared else ()),
        )
        super().__init__(
            seed, plan.layout, _properties_of(plan), weather=plan.weather, faults=plan.faults,
            invariants=kinds, make_node=make_node,
        )  # fmt: skip
        self.replay = _command_of(seed, plan)
        self.rights = AnswersAgreeWithAcls(self.world, self.promises)
        if plan.secured:
            self._secure()
        self.waits = NobodyWaitsForEver(self.world, self.promises)
        if plan.limited:
            self.watch(self.waits)
            self.network.on_node_answered = self.waits.node_answered
        self.counts = GroupCounts(self.world, self.promises)
        self.settling = QuietGroupsSettle(self.world, self.promises)
        if plan.assigned:
            self.watch(self.counts)
            self.watch(self.settling)
        self.shares = groups_of(seed) if plan.shared else ()
        self.records = RecordsAreShared(self.world, self.promises, groups=self.shares)
        self._twin: GroupMember | None = None
        self.plain = CLUSTER_STEADY if plan.is_cluster else STEADY
        """The topics that need no transactions."""
        self.steady = self.plain | (TRANSACTIONAL if plan.transactional else {})
        if plan.transactional:
            self.promises.transactional_topics = (SOURCE, *TRANSACTIONAL)
        self.drained = NoRecordIsLost(
            self.world, self.promises, records=self.records, topics=list(self.plain)
        )
        if plan.shared:
            self.watch(self.records)
            self.watch(self.drained)
        self.groups = GROUPS[:1] if plan.is_cluster else GROUPS
        self._assigned = (ASSIGNED, MIGRATING, GUSTY) if plan.assigned else ()
        self.promises.assigned_groups = self._assigned
        self.last_reader: FinalReader | None = None
        self._where = (str(seed), self.world, self.network)

    def _secure(self) -> None:
        """Clients and nodes have names, and what they are told of rights is watched."""
        self.network.principal_of = principal_of
        self.network.nodes_principal = NODES
        self.rights.everyone = self.plan.everyone
        self.watch(self.rights)
        self.promises.may_read = self.rights.may_read
        self.network.on_node_told = self.rights.node_told
        for broker in self.brokers:
            broker.on_made = self.rights.node_made

    # --- the run -------------------------------------------------------------------------------

    def run(self) -> RunOutcome:
        """Raises Failure."""
        with writes_of(self.seed) if self.plan.shared else nullcontext():
            return self.judged(self._run)

    def judged(self, story: Callable[[], None]) -> RunOutcome:
        """Let `story` happen, and judge it. Raises Failure."""
        self.watched(story)
        self.add_disks()
        return RunOutcome(
            self.seed,
            self.trace.checksum(),
            self.world.events_run,
            self.requests,
            self.acknowledged,
            self.nemesis.counts,
            self.rights.judged,
            self.waits.muted,
            self.counts.grouped._replace(settled=self.settling.judged),
            self.records.shared._replace(letters=self.drained.letters),
        )

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
        if self.plan.assigned:
            add_consumers(self)
        if self.plan.shared:
            add_sharers(self)
        if self.plan.limited:
            self.add(QuotaChanger, "quotas", think_ms=QUOTAS_CHANGE_MS)

    def make_topics(self) -> None:
        admin = self.add(SimAdmin, "admin", steady=self.steady, churning=CHURNING, think_ms=900.0,
                         trimmed=["clicks"], replicas=self.plan.replicas,
                         limited=self.plan.limited)  # fmt: skip
        self.run_until(lambda: admin.ready, 60_000)
        if self.shares:
            self.add(ShareAdmin, "share-admin", groups=self.shares)
            self.run_until(self._are_shares_known, 60_000)

    def _are_shares_known(self) -> bool:
        """Whether all brokers have the configs of the share groups: with those before, a group
        would begin at the end."""
        return all(
            broker.node is not None and broker.node.image.config(ResourceType.GROUP, group.name)
            for broker in self.view.brokers
            for group in self.shares
        )

    def add(self, kind: Callable[..., Any], name: str, **options: Any) -> Any:
        """Start a client."""
        client = kind(name, *self._where, **options)
        self.clients.append(client)
        client.start()
        return client

    def heal(self) -> None:
        """End the faults; let what is under way end well, and a cluster come to rest."""
        self.trace.add("heal")
        self.network.set_weather(Weather())
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

    def unsettled(self) -> bool:
        """Also members that are still on their way into their group."""
        return (
            super().unsettled()
            or any(
                isinstance(one, GroupMember) and not one.done and not one.assigned
                for one in self.clients
            )
            or (self._is_sharing() and undrained(self.records, list(self.plain), self.view.brokers))
        )

    def _is_sharing(self) -> bool:
        """Whether members of share groups are there to finish what is left."""
        return any(isinstance(one, ShareMember) and not one.done for one in self.clients)

    def read_everything(self, name: str) -> None:
        reader = self.add(FinalReader, name, groups=[*self.groups, *self._assigned],
                          steady=list(self.steady),
                          skipped=(*self.promises.unclean_topics,
                                   *(group.dead_letters for group in self.shares)),
                          assigned=self._assigned,
                          transactional=(COPIERS,) if self.plan.transactional else ())  # fmt: skip
        self.run_until(lambda: reader.done, 45_000)
        # The end of a transaction that ran out of time may be on its way to followers.
        end_ms = self.world.now_ms + 5_000
        while self.has_waiting_appends() and self.world.now_ms < end_ms and self.step():
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

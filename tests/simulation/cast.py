"""Who takes part in a run: topics, groups, and the clients of one broker and of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simulation.machines.simulated_nodes import SimulatedNodes
from tests.simulation.consumer_groups.churning_member import ChurningMember
from tests.simulation.consumer_groups.consumer_member import ConsumerMember
from tests.simulation.consumer_groups.migrating_member import MigratingMember
from tests.simulation.consumers import SimConsumer
from tests.simulation.copiers import Copier
from tests.simulation.group_members import GroupMember
from tests.simulation.plans import Plan
from tests.simulation.producers import IDEMPOTENT, ChurnProducer, SimProducer
from tests.simulation.share_groups.share_member import ShareMember
from tests.simulation.share_groups.share_settings import SharedGroup
from tests.simulation.transfers import Transferrer

STEADY = {"orders": 3, "clicks": 2}
CLUSTER_STEADY = {"orders": 2, "clicks": 1}
ACCOUNTS, COPIES = "accounts", "copies"
TRANSACTIONAL = {ACCOUNTS: 2, COPIES: 1}
SOURCE = "orders"
"""The topic that copiers copy; nothing of it is deleted, and transactions write to it, too."""
CHURNING = ["gusts", "showers"]
GROUPS = ["readers", "writers"]
COPIERS = "copiers"
ASSIGNED, MIGRATING, GUSTY = "assigned", "migrating", "gusty"
"""Groups that the broker assigns: of steady topics; one that is a classic one now and then; and one
of topics that come and go."""


class Stage(Protocol):
    """What of a simulation its clients are made for."""

    seed: int
    plan: Plan
    view: SimulatedNodes
    plain: dict[str, int]
    """The topics that need no transactions."""
    steady: dict[str, int]
    shares: tuple[SharedGroup, ...]
    """Its share groups."""

    def add(self, kind: Callable[..., Any], name: str, **options: Any) -> Any: ...


def add_to_one_broker(stage: Stage) -> GroupMember | None:
    """Gives the second life of somebody's instance, where there is one."""
    think = stage.plan.think_ms
    both, trust = list(stage.plain), stage.plan.trusts_state
    for number in (1, 2):
        stage.add(SimProducer, f"{IDEMPOTENT}-{number}", topics=both, acks=-1,
                  idempotent=True, think_ms=think, trusts_state=trust)  # fmt: skip
    for acks in (0, 1, -1):
        stage.add(SimProducer, f"plain-{acks}", topics=both, acks=acks,
                  idempotent=False, think_ms=2 * think)  # fmt: skip
    stage.add(ChurnProducer, "plain-churn", topics=CHURNING, acks=-1,
              idempotent=False, think_ms=think)  # fmt: skip
    stage.add(SimConsumer, "consumer-1", topics=list(stage.steady), trusts_state=trust)
    stage.add(SimConsumer, "consumer-2", topics=["clicks"], trusts_state=trust)
    stage.add(SimConsumer, "consumer-3", topics=CHURNING, by_id=True)
    for number, group in enumerate([GROUPS[0]] * 3 + [GROUPS[1]] * 2):
        instance_id = f"instance-{number}" if number in (2, 4) else None
        stage.add(GroupMember, f"member-{number}", group=group, topics=both,
                  instance_id=instance_id)  # fmt: skip
    if not stage.seed % 2:
        return None
    # Another life of member-4's instance, while that one lives: each fences the other.
    twin: GroupMember = stage.add(
        GroupMember, "twin-4", group=GROUPS[1], topics=both, instance_id="instance-4"
    )
    return twin


def add_to_cluster(stage: Stage) -> GroupMember | None:
    """The same; fewer than one broker has, for each write is replicated."""
    think, both = stage.plan.think_ms, list(stage.plain)
    for number in (1,) if stage.plan.transactional else (1, 2):
        stage.add(SimProducer, f"{IDEMPOTENT}-{number}", topics=both, acks=-1,
                  idempotent=True, think_ms=think, view=stage.view)  # fmt: skip
    for acks in (1, -1):
        stage.add(SimProducer, f"plain-{acks}", topics=both, acks=acks,
                  idempotent=False, think_ms=2 * think)  # fmt: skip
    stage.add(ChurnProducer, "plain-churn", topics=CHURNING, acks=-1,
              idempotent=False, think_ms=2 * think)  # fmt: skip
    stage.add(SimConsumer, "consumer-1", topics=list(stage.steady), view=stage.view)
    stage.add(SimConsumer, "consumer-3", topics=CHURNING, by_id=True, view=stage.view)
    for number in range(2):
        stage.add(GroupMember, f"member-{number}", group=GROUPS[0], topics=both,
                  instance_id="instance-1" if number else None)  # fmt: skip
    if stage.seed % 4 != 1:
        return None
    twin: GroupMember = stage.add(
        GroupMember, "twin-1", group=GROUPS[0], topics=both, instance_id="instance-1"
    )
    return twin


def add_consumers(stage: Stage) -> None:
    """As many members as get a partition each; one is static, one subscribes by an expression. And
    as many that change their protocol, and two whose topics come and go."""
    both = list(stage.plain)
    for number in range(3):
        stage.add(ConsumerMember, f"assigned-{number}", group=ASSIGNED, topics=both,
                  instance_id="assigned" if number == 1 else None,
                  expression="|".join(both) if number == 2 else None)  # fmt: skip

    for number in range(3):
        stage.add(MigratingMember, f"migrating-{number}", group=MIGRATING, topics=both,
                  instance_id="migrating" if number == 2 else None)  # fmt: skip
    for number in range(2):
        stage.add(ChurningMember, f"gusty-{number}", group=GUSTY, topics=both, churning=CHURNING,
                  instance_id=None)  # fmt: skip


def add_sharers(stage: Stage) -> None:
    """Members of the share groups."""
    for group in stage.shares:
        for number in range(group.members):
            stage.add(ShareMember, f"{group.name}-{number}", group=group.name,
                      topics=list(stage.plain))  # fmt: skip


def add_transactions(stage: Stage) -> None:
    """Clients of either protocol; in every other seed two of them have one transactional id."""
    protocols = (1, 2) if stage.seed % 2 else (2, 1)
    think_ms, topics = stage.plan.think_ms, [ACCOUNTS, SOURCE]
    shared = stage.seed % 4 > 1
    for number, protocol in enumerate(protocols, start=1):
        transactional_id = "bank" if shared else f"bank-{number}"
        stage.add(Transferrer, f"transfer-{number}", topics=topics, protocol=protocol,
                  transactional_id=transactional_id, think_ms=think_ms)  # fmt: skip
    for number, protocol in enumerate(protocols, start=1):
        stage.add(Copier, f"copier-{number}", group=COPIERS, topics=[SOURCE], target=COPIES,
                  protocol=protocol)  # fmt: skip

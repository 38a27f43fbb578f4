"""What a seed's run is made of: nodes, configuration, workload, weather, faults."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simulation.faults.faults import FaultRates
from simulation.machines.layout import Layout
from simulation.network.sim_network import Weather

NERVOUS = {
    "controller.quorum.election.timeout.ms": "150",
    "controller.quorum.election.backoff.max.ms": "60",
    "controller.quorum.fetch.timeout.ms": "400",
}
"""A quorum whose time-outs are not much longer than its messages take: many elections."""


def brokers_of(seed: int) -> int:
    """How many brokers a seed's cluster has, where nobody says it."""
    return 5 if seed % 20 == 6 else 3


def is_transactional(seed: int) -> bool:
    """Whether a seed has transactions: every third."""
    return seed % 3 == 2


def is_secured(seed: int) -> bool:
    """Whether a seed's cluster has an authorizer: every third, half of them with transactions."""
    return seed % 6 >= 4


def is_assigned(seed: int) -> bool:
    """Whether a seed has a group that the broker assigns, where nobody says it: every twelfth,
    without transactions and rights."""
    return seed % 12 == 9


def is_limited(seed: int) -> bool:
    """Whether a seed's cluster has quotas: every seventh, with all else that a seed may have."""
    return seed % 7 == 3


@dataclass(frozen=True, slots=True)
class Plan:
    """See the module."""

    duration_ms: float = 25_000.0
    settle_ms: float = 30_000.0
    think_ms: float = 250.0
    weather: Weather = field(default_factory=Weather)
    faults: FaultRates = field(default_factory=FaultRates)
    trusts_state: bool = True
    log_dirs: str = "/data"
    layout: Layout = field(default_factory=Layout)
    replicas: int = 1
    properties: Mapping[str, str] = field(default_factory=dict)
    """What the nodes are configured with beside what all plans are."""
    restarts: bool = True
    """Whether every broker is stopped cleanly and started at the end."""
    transactional: bool = False
    """Whether there are transactional producers and copiers."""
    secured: bool = False
    """Whether clients have names, and rights that change."""
    everyone: bool = False
    """Whether all may do what no ACL speaks about."""
    limited: bool = False
    """Whether clients have quotas, which come and go."""
    assigned: bool = False
    """Whether there is a group that the broker assigns (KIP-848)."""
    shared: bool = False
    """Whether there are share groups (KIP-932)."""

    def with_groups(self) -> Plan:
        """The same with groups that the broker assigns, and without transactions and rights."""
        return replace(self, assigned=True, transactional=False, secured=False)

    def with_shares(self) -> Plan:
        """Return the plan with share groups, whose coordinator dies, too, and without rights."""
        faults = replace(self.faults, kill_share_coordinator=3.0 if self.is_cluster else 0.0)
        return replace(self, shared=True, faults=faults, assigned=False, secured=False)

    @property
    def is_cluster(self) -> bool:
        return len(self.layout.nodes) > 1

    @staticmethod
    def of(seed: int) -> Plan:
        """What a seed draws for one broker. Every fifth loses power or has failing disks."""
        chance = random.Random(f"{seed}/plan")
        weather = Weather(
            delay_ms=chance.choice([1.0, 5.0, 30.0]),
            slow_chance=chance.choice([0.0, 0.02, 0.1]),
            cut_chance=chance.choice([0.0, 0.01, 0.03]),
            dumb_chance=chance.choice([0.0, 0.0, 0.003, 0.01]),
        )
        kind = seed % 5
        faults = FaultRates(
            mean_interval_ms=chance.choice([2_000.0, 4_000.0, 10_000.0]),
            disk_error=4.0 if kind == 3 else 0.0,
            power_loss=5.0 if kind == 4 else 0.0,
        )
        # With a second folder, one that fails takes part of the partitions, not the process.
        log_dirs = "/data,/more" if kind == 3 and seed % 2 else "/data"
        return Plan(
            weather=weather,
            faults=faults,
            trusts_state=kind != 4,
            log_dirs=log_dirs,
            transactional=kind != 4 and is_transactional(seed),
            assigned=is_assigned(seed),
        )

    @staticmethod
    def cluster(seed: int, brokers: int = 3) -> Plan:
        """The plan that a seed draws for a cluster. One in ten has its controllers apart."""
        chance = random.Random(f"{seed}/cluster")
        weather = Weather(
            delay_ms=chance.choice([1.0, 3.0, 10.0]),
            slow_chance=chance.choice([0.0, 0.01, 0.03]),
            slow_ms=200.0,
            cut_chance=chance.choice([0.0, 0.01, 0.02]),
            dumb_chance=chance.choice([0.0, 0.0, 0.003]),
            late_ms=chance.choice([0.0, 1_500.0, 4_000.0]),
        )
        kind = seed % 5
        faults = FaultRates.cluster(
            mean_interval_ms=chance.choice([800.0, 1_500.0, 3_000.0]),
            destroys=kind == 4,
            breaks_disks=kind == 3,
        )
        nervous = seed % 10 == 2
        if nervous:
            weather = replace(weather, delay_ms=30.0)
            faults = replace(faults, kill_voters=8.0, kill_controller=6.0, isolate_controller=4.0)
        layout = Layout.combined(brokers)
        if seed % 10 == 7:
            layout = Layout.apart(brokers, 3)
        return Plan(
            duration_ms=18_000.0,
            settle_ms=4_000.0,
            think_ms=250.0,
            weather=weather,
            faults=faults,
            log_dirs="/data,/more" if kind == 3 and seed % 2 else "/data",
            layout=layout,
            replicas=3,
            restarts=seed % 4 == 1,
            properties=NERVOUS if nervous else {},
            transactional=is_transactional(seed),
            secured=is_secured(seed),
            everyone=seed % 5 == 0,
            limited=is_limited(seed),
            assigned=is_assigned(seed),
        )

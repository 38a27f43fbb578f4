"""The endpoints of the overview: the health of the cluster, as in `ottla status`, and its rates."""

from __future__ import annotations

from dataclasses import dataclass

from broker.config.start_error import StartError
from client.cluster_status import ClusterStatus, StatusRefused
from client.connection import command_guard
from client.refusals import Refused
from client.status import status_of
from client.status_report import verdict
from console.endpoints import Ask, Console, get
from console.overview.live_rates import LiveOverview
from console.overview.sampler import IdleSampling, Sampler


@dataclass(frozen=True, slots=True)
class BrokerHealth:
    """A broker of the cluster."""

    id: int
    host: str
    port: int
    rack: str | None
    alive: bool
    controller: bool


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """The health of the cluster: its brokers, its controller, and partitions in trouble."""

    healthy: bool
    verdict: str
    cluster_id: str
    brokers: list[BrokerHealth]
    controller: int | None
    epoch: int | None
    topics: int
    partitions: int
    offline: int
    under_min_isr: int
    under_replicated: int


def _health(console: Console, _ask: Ask) -> ClusterHealth:
    """Return the health of the cluster. Raises StartError if no broker answers, and Refused if this
    login may not see it."""
    guard = command_guard(console.options.command_config)
    try:
        return shown(status_of(console.addresses(), guard=guard, advises_start=False))
    except StartError as error:
        if isinstance(error.__cause__, StatusRefused):
            raise Refused(f"the cluster's health is not known: {error.__cause__}") from error
        raise


def shown(status: ClusterStatus) -> ClusterHealth:
    """Return the health that the page shows, from a status."""
    quorum = status.quorum
    return ClusterHealth(
        healthy=status.healthy,
        verdict=verdict(status),
        cluster_id=status.cluster_id,
        brokers=[
            BrokerHealth(
                id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                alive=not broker.fenced and broker.reachable is not False,
                controller=quorum is not None and quorum.leader_id == broker.node_id,
            )
            for broker in status.brokers
        ],
        controller=None if quorum is None else quorum.leader_id,
        epoch=None if quorum is None else quorum.epoch,
        topics=status.topics,
        partitions=status.partitions,
        offline=len(status.offline),
        under_min_isr=len(status.under_min_isr),
        under_replicated=len(status.under_replicated),
    )


def _live(console: Console, _ask: Ask) -> LiveOverview:
    """Return the rates, after a sample if one is due. Raises Refused, StartError."""
    sampler = console.state(Sampler)
    rates = sampler.now()
    return rates.shown(sampler.groups_left_out, hides_groups=sampler.hides_groups)


AT_START = (IdleSampling,)
"""The state that begins with the console, so that charts have no gaps before a visit."""

ENDPOINTS = (get("/api/overview", _health), get("/api/overview/live", _live))

"""A cluster under watch: what breaks an invariant ends as a `Failure`, with how to replay it."""

from __future__ import annotations

import logging

import pytest

from simulation.faults.faults import FaultRates
from simulation.invariants.invariant import Invariant
from simulation.machines.layout import Layout
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Weather
from simulation.sim_trace import Failure
from simulation.simulated_cluster import SimulatedCluster


def cluster(
    seed: int = 1, layout: Layout | None = None, *kinds: type[Invariant]
) -> SimulatedCluster:
    return SimulatedCluster(
        seed, layout or Layout(), {"log.dirs": "/data"}, weather=Weather(), faults=FaultRates(),
        invariants=kinds,
    )  # fmt: skip


def started(one: SimulatedCluster) -> SimulatedCluster:
    one.start_brokers()
    one.run_until(lambda: all(node.serving for node in one.brokers), 20_000)
    return one


def test_a_cluster_starts_and_comes_to_rest_the_same_in_each_run() -> None:
    sums = []
    for _ in range(2):
        one = started(cluster(3, Layout.combined(3)))
        one.converge()
        one.add_disks()
        sums.append(one.trace.checksum())
    assert sums[0] == sums[1]
    assert one.is_cluster and not one.has_waiting_appends() and not one.unsettled()


class NeverServes(Invariant):
    """Made up."""

    name = "I0"

    def node_served(self, broker: SimBroker) -> None:
        raise self.broken(f"{broker.address} serves")


def test_what_breaks_an_invariant_is_a_failure_with_its_name_and_the_trace() -> None:
    one = cluster(1, None, NeverServes)
    with pytest.raises(Failure, match="seed 1: I0: broker-1 serves") as caught:
        one.watched(lambda: started(one) and None)
    assert caught.value.invariant == "I0" and "broker-1 serves, epoch" in str(caught.value)


def test_no_progress_a_crash_and_a_logged_error_are_failures() -> None:
    one = cluster()
    with pytest.raises(Failure, match="I20: no progress within 5 ms"):
        one.watched(lambda: one.run_until(lambda: False, 5))
    with pytest.raises(Failure, match="ZeroDivisionError") as caught:
        one.watched(lambda: print(1 // 0))
    assert caught.value.invariant == "crash"
    with pytest.raises(Failure, match="I19: the broker logged") as caught:
        one.watched(lambda: logging.getLogger("ottla.test").error("oh"))


def test_a_process_that_dies_in_a_write_is_buried() -> None:
    one = started(cluster())
    (broker,) = one.brokers
    broker.disk.die_in(0)
    one.run_until(lambda: not broker.alive, 20_000)
    assert any("ended: died in a write" in line for line in one.trace.last)

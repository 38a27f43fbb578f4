"""The nemesis: whom a fault hits, what it leaves alone, and that what died comes back."""

from __future__ import annotations

import pytest

from simulation.faults.faults import FaultRates, weights
from simulation.users.user_run import UserRun
from tests.unit.simulation.exchanges import result_of, started


def running(brokers: int = 3) -> UserRun:
    run = UserRun(1, brokers=brokers, faults="none")
    run.begin()
    run.take_happened()
    return run


def test_who_is_killed_comes_back_unless_it_is_kept_down() -> None:
    run = running()
    run.nemesis.strike("kill_controller")
    (dead,) = [one for one in run.brokers if not one.alive]
    run.run_for(10_000.0)
    assert dead.serving
    run.nemesis.keep_down(dead)
    dead.kill()
    run.run_for(10_000.0)
    assert not dead.alive
    run.nemesis.allow_start(dead)
    dead.start()
    dead.kill()
    run.run_for(10_000.0)
    assert dead.serving


def test_the_heal_starts_everybody_and_ends_all_faults() -> None:
    run = running()
    run.nemesis.start()
    run.nemesis.strike("kill_all")
    run.nemesis.strike("partial")
    run.nemesis.keep_down(run.brokers[0])
    run.nemesis.heal()
    run.run_until(lambda: all(one.serving for one in run.brokers), 20_000)
    before = dict(run.nemesis.counts)
    run.run_for(30_000.0)
    assert run.nemesis.counts == before == {"kill_all": 3, "partial": 1}


@pytest.mark.parametrize("kind", weights(FaultRates.cluster(1.0, destroys=True, breaks_disks=True)))
def test_each_kind_strikes_and_a_cluster_comes_to_rest_after_it(kind: str) -> None:
    run = started(brokers=5 if kind == "ring" else 3)
    result_of(run, "committed", group="g", topic="t", partition=0)
    run.run_until(lambda: run.view.coordinator() is not None, 5_000)
    run.nemesis.strike(kind)
    assert run.nemesis.counts
    assert kind in "".join(text for _, text in run.take_happened())
    run.run_for(2_000.0)
    run.nemesis.heal()
    run.converge()


def test_nobody_dies_until_a_node_that_lost_its_disk_is_in_sync_again() -> None:
    run = running()
    run.nemesis.strike("wipe")
    assert not run.nemesis.may("kill") and not run.nemesis.may("power_loss")
    assert run.nemesis.may("pause")
    run.run_until(lambda: run.nemesis.may("kill"), 30_000)
    assert all(one.serving for one in run.brokers)

"""One broker in the simulator: its lives, and what each end of one leaves."""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import Died
from ground.sim_scheduler import SimScheduler
from simulation.machines.sim_broker import CONTROLLER_PORT, DATA, SimBroker
from simulation.network.sim_network import CLIENT_PORT, SimNetwork, Weather


class World:
    def __init__(self) -> None:
        self.world = SimScheduler(1)
        network = SimNetwork(self.world, "1", Weather())
        self.broker = SimBroker(self.world, network, "1", 1, {"log.dirs": DATA})
        network.add(self.broker.address, self.broker, clients=True)
        self.told: list[str] = []
        self.broker.tell(
            served=lambda one: self.told.append(f"{one.address} serves"),
            ended=lambda _, why: self.told.append(why),
            ran=lambda _: None,
        )
        self.broker.call_when_made(lambda one: self.told.append(f"life {one.life}"))

    def start(self) -> None:
        self.broker.start()
        self.world.run_until(lambda: self.broker.serving)


def test_a_life_that_is_killed_and_the_next_one() -> None:
    one = World()
    one.start()
    assert one.broker.listens(CLIENT_PORT), "and to nobody else: it is alone"
    assert one.broker.listener_name(CONTROLLER_PORT) == "CONTROLLER"
    one.broker.kill()
    assert not one.broker.alive and not one.broker.listens(CLIENT_PORT)
    one.start()
    assert one.told == ["life 1", "broker-1 serves", "killed", "life 2", "broker-1 serves"]
    assert len(one.broker.epochs) == 2 and one.broker.epochs[0] < one.broker.epochs[1]


def test_a_clean_stop_leaves_nothing_to_recover() -> None:
    one, done = World(), []
    one.start()
    assert not one.broker.clean
    one.broker.stop(lambda: done.append(True))
    one.world.run_until(lambda: bool(done))
    assert one.broker.clean and one.told[-1] == "stopped"


def test_a_pause_holds_and_an_end_in_a_write_is_buried() -> None:
    one = World()
    one.start()
    one.broker.pause()
    assert one.broker.paused
    one.broker.resume(random.Random(1))
    assert not one.broker.paused
    one.broker.disk.die_in(0)
    with pytest.raises(Died):
        one.world.run_for(60_000)
    one.broker.end_if_dead()
    assert one.told[-1] == "died in a write"


def test_power_that_is_lost_leaves_a_dark_machine_until_the_next_start() -> None:
    one = World()
    one.start()
    one.broker.lose_power(random.Random(1))
    assert one.broker.dark and one.told[-1] == "lost power"
    one.start()
    assert not one.broker.dark


def test_the_clock_of_the_day_can_be_set() -> None:
    one = World()
    one.start()
    assert one.broker.node is not None
    scheduler = one.broker.node.shared.ports.scheduler
    one.broker.set_clock(1_000)
    assert scheduler.wall_ms() == one.world.wall_ms() + 1_000

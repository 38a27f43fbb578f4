"""The end of the process before each single change of the disk: first start, start again, stop.

A broker under load is killed; its disk is copied once for each change that its next start, or its
clean stop, makes, and the process dies right before that one: by process death, where everything
must be there afterwards, or by a loss of power, where metadata must be there and each log holds a
prefix of what it held. With `--long` at each change, else at every other one of those of which
there are many.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ground.memory_filesystem import Died, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.record_batch import iterate_batches
from simulation.faults.faults import FaultRates
from simulation.machines.layout import PROPERTIES
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import SimNetwork, Weather
from tests.simulation.simulation import Plan, Simulation

POINTS_MAX = 500
QUIET = Plan(faults=FaultRates(mean_interval_ms=1e9), weather=Weather(), think_ms=100.0)

Contents = dict[tuple[str, int], tuple[int, bytes]]
"""Of each partition: log start and all bytes from there."""


def contents(broker: SimBroker) -> Contents:
    assert broker.node is not None
    found: Contents = {}
    for partition in broker.replicas.partitions():
        log = partition.log
        offset, data = log.log_start_offset, b""
        while offset < log.log_end_offset:
            read = log.read(offset, 1 << 20)
            assert not read.error, f"{partition!r} at {offset}: {read.error!r}"
            records = read.records if isinstance(read.records, bytes) else read.records.read()
            data += records
            offset = _next_offset(records)
        found[(partition.topic, partition.index)] = (log.log_start_offset, data)
    return found


def _next_offset(records: bytes) -> int:
    return [header.next_offset for _, header in iterate_batches(memoryview(records))][-1]


def topics(broker: SimBroker) -> dict[str, tuple[bytes, list[int]]]:
    assert broker.node is not None
    by_name = broker.node.image.topics.by_name
    return {name: (topic.id, sorted(topic.partitions)) for name, topic in by_name.items()}


def new_broker(disk: MemoryFilesystem | None = None) -> SimBroker:
    world = SimScheduler(5)
    broker = SimBroker(world, SimNetwork(world, "5", Weather()), "5", 1, PROPERTIES)
    if disk is not None:
        broker.disk = disk
    return broker


def up(broker: SimBroker) -> None:
    broker.start()
    broker.world.run_until(lambda: broker.serving, 10_000)


@pytest.fixture(scope="module")
def under_load() -> MemoryFilesystem:
    """The disk of a broker that was killed after some seconds of load, with topics deleted."""
    simulation = Simulation(5, QUIET)
    broker = simulation.brokers[0]
    broker.start()
    simulation.start_clients()
    simulation.run_for(6_000)
    disk = broker.disk.clone()
    disk.kill()
    return disk


def each_point(
    disk: MemoryFilesystem | None,
    work: Callable[[SimBroker], None],
    end: Callable[[MemoryFilesystem, int], None],
    check: Callable[[SimBroker], None],
    every: int = 1,
) -> int:
    """Do `work` on a copy of `disk`, dying before its n-th change, for `every` n-th; start again
    and `check`. How many points there are."""
    for point in range(0, POINTS_MAX, every):
        copy = MemoryFilesystem() if disk is None else disk.clone()
        broker = new_broker(copy)
        died = False
        try:
            copy.die_at = copy.changes + point
            copy.torn = point % 3 / 2
            work(broker)
        except Died:
            died = True
        end(copy, point)
        again = new_broker(copy)
        up(again)
        check(again)
        if not died:
            return point
    raise AssertionError("it never ends")


@pytest.fixture(params=[2, pytest.param(1, marks=pytest.mark.long)], ids=["other", "each"])
def every(request: pytest.FixtureRequest) -> int:
    """Return the distance from a crash point to the next."""
    return int(request.param)


def process_death(disk: MemoryFilesystem, _: int) -> None:
    disk.kill()


def power_loss(disk: MemoryFilesystem, point: int) -> None:
    disk.lose_power(random.Random(f"point {point}"))


ENDS = pytest.mark.parametrize("end", [process_death, power_loss])


@ENDS
def test_a_first_start(end: Callable[[MemoryFilesystem, int], None]) -> None:
    assert each_point(None, up, end, lambda again: None) > 15


def holds(
    wanted: Contents, names: dict[str, tuple[bytes, list[int]]], *, whole: bool
) -> Callable[[SimBroker], None]:
    def check(again: SimBroker) -> None:
        assert topics(again) == names
        found = contents(again)
        assert list(found) == list(wanted)
        for place, (start, data) in found.items():
            wanted_start, wanted_data = wanted[place]
            assert start <= wanted_start, place
            if whole:
                assert data.endswith(wanted_data), place
            elif start == wanted_start:
                assert wanted_data.startswith(data), place

    return check


@pytest.mark.slow
@ENDS
def test_a_start_after_a_kill(
    under_load: MemoryFilesystem, end: Callable[[MemoryFilesystem, int], None], every: int
) -> None:
    model = new_broker(under_load.clone())
    up(model)
    check = holds(contents(model), topics(model), whole=end is process_death)
    assert sum(len(data) for _, data in contents(model).values()) > 10_000
    assert each_point(under_load, up, end, check, every) > 20


@pytest.mark.slow
@ENDS
def test_a_clean_stop(
    under_load: MemoryFilesystem, end: Callable[[MemoryFilesystem, int], None], every: int
) -> None:
    model = new_broker(under_load.clone())
    up(model)
    check = holds(contents(model), topics(model), whole=end is process_death)

    def start_and_stop(broker: SimBroker) -> None:
        limit, broker.disk.die_at = broker.disk.die_at, None
        begun = broker.disk.changes
        up(broker)
        assert limit is not None
        broker.disk.die_at = broker.disk.changes + limit - begun
        broker.stop(lambda: None)
        broker.world.run_until(lambda: not broker.alive, 10_000)

    assert each_point(under_load, start_and_stop, end, check, every) > 20

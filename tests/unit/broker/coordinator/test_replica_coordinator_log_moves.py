"""A coordinator on several replicas: what was answered survives whoever coordinates (G2, G6)."""

from __future__ import annotations

import random

import pytest

from broker.coordinator.coordinator_log import LogRecord, TransactionMarker
from broker.coordinator.coordinator_runtime import CoordinatorRuntime, ShardContext
from broker.coordinator.outcome import Outcome, call_reply
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from tests.unit.broker.replication.replica_cluster import Broker, ReplicaCluster

TIMEOUT_MS = 5000


class Offsets:
    """A shard that keeps the latest value of each key."""

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.values: dict[bytes, tuple[int, int]] = {}  # value, and the offset of its record
        self.loads = 0

    def replay(self, record: LogRecord) -> None:
        assert record.key is not None
        assert record.value is not None
        self.values[record.key] = (int(record.value), record.offset)

    def replay_marker(self, marker: TransactionMarker) -> None: ...

    def on_loaded(self) -> None:
        self.loads += 1

    def on_unloaded(self) -> None: ...


class Coordinators:
    """A cluster whose topic `t` is a coordinator's log."""

    def __init__(self, seed: int, min_insync_replicas: str = "1") -> None:
        self.runtimes: dict[int, CoordinatorRuntime[Offsets]] = {}
        self.cluster = ReplicaCluster(
            seed, prepare=self._prepare, min_insync_replicas=min_insync_replicas
        )
        self.cluster.run(600)
        self.acknowledged: dict[bytes, int] = {}
        self.refused: list[ErrorCode] = []
        self._written = 0

    def _prepare(self, broker: Broker) -> None:
        log = ReplicaCoordinatorLog("t", broker.replicas, broker.blocking, 300)
        runtime = CoordinatorRuntime("test", log, broker.life, Offsets, TIMEOUT_MS)
        self.runtimes[broker.node_id] = runtime

        def moved(partition: Partition, leads: bool) -> None:
            if leads:
                runtime.on_elected(0, partition.leader_epoch)
            else:
                runtime.on_resigned(0)

        broker.replicas.on_leadership(moved)

    def shards(self) -> list[Offsets]:
        """The shards that answer: one, or for a moment an old one beside it."""
        found = []
        for node_id, broker in self.cluster.brokers.items():
            shard = self.runtimes[node_id].shard(0)
            if broker.running and isinstance(shard, Offsets):
                found.append(shard)
        return found

    def commit(self, shard: Offsets, key: bytes) -> None:
        """Write the next value of `key`."""
        self._written += 1
        value = self._written

        def done(error: ErrorCode) -> None:
            if error:
                self.refused.append(error)
            else:
                self.acknowledged[key] = max(value, self.acknowledged.get(key, 0))

        shard.context.submit(lambda: Outcome(done, [(key, b"%d" % value)]), call_reply)

    def fetch(self, shard: Offsets, key: bytes) -> list[int]:
        """Read `key`: the list gets its value once that is committed."""
        answer: list[int] = []
        value, offset = shard.values.get(key, (0, -1))

        def done(error: ErrorCode) -> None:
            if not error:
                answer.append(value)

        shard.context.submit(lambda: Outcome(done, after=offset), call_reply)
        return answer

    def one_shard(self) -> Offsets:
        """Wait for the only one that answers."""
        self.cluster.world.run_until(lambda: len(self.shards()) == 1, 30_000)
        return self.shards()[0]


def test_a_commit_is_answered_when_all_in_sync_have_it_and_survives_the_coordinator() -> None:
    """G6: acknowledged, and the coordinator is killed before anything else happens."""
    coordinators = Coordinators(1)
    cluster = coordinators.cluster
    coordinators.commit(coordinators.one_shard(), b"k")
    assert not coordinators.acknowledged
    cluster.world.run_until(lambda: b"k" in coordinators.acknowledged)
    cluster.kill(1)
    cluster.run(1000)
    shard = coordinators.one_shard()
    assert shard.context.leader_epoch == 1
    assert shard.values[b"k"][0] == 1
    answer = coordinators.fetch(shard, b"k")
    cluster.run(1000)
    assert answer == [1]


def test_what_waits_for_a_commit_hears_of_a_lost_leadership() -> None:
    coordinators = Coordinators(2)
    cluster = coordinators.cluster
    cluster.cuts[(3, 1)] = None
    cluster.run(600)
    coordinators.commit(coordinators.one_shard(), b"k")
    cluster.run(200)
    assert not coordinators.refused
    cluster.change(2, None)
    cluster.run(100)
    assert coordinators.refused == [ErrorCode.NOT_COORDINATOR]
    # It is there all the same, for the new one had copied it: its sender does not know.
    assert coordinators.one_shard().values[b"k"][0] == 1


def test_what_cannot_be_committed_in_time_is_said_so_and_too_few_replicas_are_refused() -> None:
    coordinators = Coordinators(3, min_insync_replicas="3")
    cluster = coordinators.cluster
    shard = coordinators.one_shard()
    cluster.cuts[(3, 1)] = None
    cluster.run(600)
    coordinators.commit(shard, b"k")
    cluster.run(TIMEOUT_MS + 1)
    assert coordinators.refused == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    cluster.run(TIMEOUT_MS)
    assert cluster.registration().isr == (1, 2)
    coordinators.commit(shard, b"k")
    assert coordinators.refused == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    cluster.cuts.clear()
    cluster.run(10_000)
    coordinators.commit(shard, b"k")
    cluster.run(1000)
    assert coordinators.acknowledged == {b"k": 3}


def test_a_new_coordinator_does_not_show_what_is_not_committed() -> None:
    """It has a record that its predecessor never acknowledged: shown once it cannot be lost."""
    coordinators = Coordinators(4)
    cluster = coordinators.cluster
    cluster.cuts[(3, 1)] = None  # 3 does not copy, so nothing is committed
    cluster.run(600)
    coordinators.commit(coordinators.one_shard(), b"k")
    cluster.run(600)
    cluster.cuts[(3, 2)] = None
    cluster.kill(1)
    cluster.run(100)
    shard = coordinators.one_shard()
    assert shard.values[b"k"][0] == 1
    answer = coordinators.fetch(shard, b"k")
    cluster.run(100)
    assert answer == []
    cluster.cuts.clear()
    cluster.run(3000)
    assert answer == [1]


@pytest.mark.parametrize("seed", range(12))
def test_whoever_coordinates_nothing_acknowledged_goes_back(seed: int) -> None:
    """G2: kills, cuts and moves in the middle of commits."""
    chance = random.Random(seed)
    coordinators = Coordinators(seed, min_insync_replicas="2")
    cluster = coordinators.cluster
    fetches: list[tuple[bytes, int, list[int]]] = []
    for _ in range(120):
        _one_event(cluster, chance)
        key = chance.choice((b"a", b"b", b"c"))
        for shard in coordinators.shards():
            coordinators.commit(shard, key)
            floor = coordinators.acknowledged.get(key, 0)
            fetches.append((key, floor, coordinators.fetch(shard, key)))
        cluster.run(chance.random() * chance.choice((2, 40, 400)))
    cluster.cuts.clear()
    for node_id, broker in cluster.brokers.items():
        if not broker.running:
            cluster.restart(node_id)
    cluster.run(15_000)
    shard = coordinators.one_shard()
    assert len(coordinators.acknowledged) == 3
    for key, value in coordinators.acknowledged.items():
        assert shard.values[key][0] >= value
    assert sum(len(answer) for _, _, answer in fetches) > 20
    # An answer may come of a coordinator that was replaced already, but never of older commits
    # than those acknowledged when it was asked.
    for key, floor, answer in fetches:
        assert all(value >= floor for value in answer), (key, floor, answer)


def _one_event(cluster: ReplicaCluster, chance: random.Random) -> None:
    now = cluster.registration()
    one = chance.choice(list(cluster.brokers))
    running = [each for each, broker in cluster.brokers.items() if broker.running]
    draw = chance.random()
    if draw < 0.08 and len(running) == 3:
        cluster.kill(chance.choice([one, now.leader]) if now.leader > 0 else one)
    elif draw < 0.25 and one not in running:
        cluster.restart(one)
    elif draw < 0.35 and one in now.isr and one in running:
        cluster.change(one, None)
    elif draw < 0.40:
        cluster.cuts[(one, chance.choice(list(cluster.brokers)))] = None
    elif draw < 0.50:
        cluster.cuts.clear()

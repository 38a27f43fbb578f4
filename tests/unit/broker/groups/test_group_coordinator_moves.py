"""Transactions' offsets on several replicas: whoever coordinates, each transaction has one outcome.

Brokers die, links are cut and leaders move in the middle of commits and of markers. What is told is
what was committed by a marker; nothing that was acknowledged goes back; nothing aborted is told.
"""

from __future__ import annotations

import random

import pytest

from broker.config.parse import single_node_config
from broker.coordinator.coordinator_log import TransactionMarker
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.groups.fetched_offsets import FetchedOffsets
from broker.groups.group_coordinator import GroupCoordinator
from broker.replication.partition import Partition
from broker.replication.transaction_marker import TransactionMarkerRequest
from protocol.errors import ErrorCode
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.messages.txn_offset_commit import TxnOffsetCommitResponseTopic
from protocol.primitives import ZERO_UUID
from tests.clients.transactional_offsets_conversation import committing_in_transaction
from tests.unit.broker.groups.consumer.surroundings import surroundings
from tests.unit.broker.groups.share.fake_ports import FakeShares
from tests.unit.broker.replication.replica_cluster import Broker, ReplicaCluster

GROUP, TOPIC = "g", "in"
TIMEOUT_MS = 5_000
LOAD_BUFFER = 1 << 20


class Copier:
    """One transactional producer; it commits offsets of the partition of its own number."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.value = -1
        self.outcome: bool | None = None
        """Of the transaction that is to be ended; None while it may still commit offsets."""
        self.marked: tuple[Partition, int, int] | None = None
        self.committed = -1
        self.may_show = {-1}
        self.shown = -1


class Cluster:
    """Three brokers' group coordinators, over the replicated topic `t`."""

    def __init__(self, seed: int) -> None:
        self.coordinators: dict[int, GroupCoordinator] = {}
        self.cluster = ReplicaCluster(seed, prepare=self._prepare, min_insync_replicas="2")
        self.cluster.run(600)
        self.copiers = [Copier(number) for number in range(3)]
        self.told = 0

    def _prepare(self, broker: Broker) -> None:
        log = ReplicaCoordinatorLog("t", broker.replicas, broker.blocking, LOAD_BUFFER)
        coordinator = GroupCoordinator(
            single_node_config()._replace(offsets_commit_timeout_ms=TIMEOUT_MS),
            broker.life,
            log,
            broker.cluster.random_bytes,
            lambda: 1,
            surroundings(),
            FakeShares().ports,
        )
        self.coordinators[broker.node_id] = coordinator

        def moved(partition: Partition, leads: bool) -> None:
            if leads:
                coordinator.on_elected(0, partition.leader_epoch)
            else:
                coordinator.on_resigned(0)

        broker.replicas.on_leadership(moved)

    def leader(self) -> Broker | None:
        """The leader that all agree on, where it runs and its coordinator answers."""
        broker = self.cluster.brokers.get(self.cluster.registration().leader)
        if broker is None or not broker.running:
            return None
        alive = self.coordinators[broker.node_id].marker_error(0) is ErrorCode.NONE
        return broker if alive and broker.partition().is_leader else None

    # -- a copier's turn -------------------------------------------------------------------------

    def turn(self, copier: Copier, chance: random.Random) -> None:
        """Commit an offset, or end the transaction, or go on with that."""
        leader = self.leader()
        if copier.marked is not None:
            self._look_for_marker(copier)
        elif leader is None:
            return
        elif copier.outcome is None:
            self._commit_offset(self.coordinators[leader.node_id], copier, chance)
        else:
            self._mark(leader, copier)

    def _commit_offset(
        self, coordinator: GroupCoordinator, copier: Copier, chance: random.Random
    ) -> None:
        copier.value += 1
        copier.outcome = False  # aborted, unless the offset is acknowledged
        wants = chance.random() < 0.7
        request = committing_in_transaction(
            GROUP,
            copier.value,
            topic=TOPIC,
            partitions=[copier.number],
            producer_id=100 + copier.number,
        )
        request.topics[0].partitions[0].committed_offset = value = copier.value

        def done(error: ErrorCode, topics: list[TxnOffsetCommitResponseTopic]) -> None:
            acknowledged = error is ErrorCode.NONE and topics[0].partitions[0].error_code == 0
            if acknowledged and wants and copier.value == value and copier.marked is None:
                copier.outcome = True
                copier.may_show.add(value)

        coordinator.commit_transactional_offsets(request, 3, done)

    def _mark(self, leader: Broker, copier: Copier) -> None:
        assert copier.outcome is not None
        partition = leader.partition()
        producer_id = 100 + copier.number
        marker = TransactionMarkerRequest(producer_id, 0, 0, copier.outcome)
        info = partition.append_end_txn_marker(marker, leader.life.wall_ms())
        if isinstance(info, ErrorCode) or info.error:
            return
        copier.marked = (partition, partition.leader_epoch, info.last_offset)
        self.coordinators[leader.node_id].on_transaction_marker(
            0, TransactionMarker(info.last_offset, producer_id, copier.outcome)
        )
        partition.changed()

    def _look_for_marker(self, copier: Copier) -> None:
        """Acknowledged when it is committed; written again where its leader is no more."""
        assert copier.marked is not None
        partition, leader_epoch, offset = copier.marked
        leader = self.leader()
        if leader is None:
            return
        if leader.partition() is not partition or partition.leader_epoch != leader_epoch:
            copier.marked = None
        elif partition.log.high_watermark > offset:
            if copier.outcome:
                copier.committed = copier.value
            copier.may_show = {copier.committed}
            copier.marked = copier.outcome = None

    # -- readers ---------------------------------------------------------------------------------

    def read(self, copier: Copier, *, stable: bool) -> None:
        """Ask the leader; what it tells must be an outcome, no older than those known before."""
        leader = self.leader()
        if leader is None:
            return
        floor = max(copier.committed, copier.shown)
        number = copier.number

        def done(answer: FetchedOffsets | ErrorCode) -> None:
            if isinstance(answer, ErrorCode) or answer.is_unstable(TOPIC, number):
                return
            committed = answer.find(TOPIC, number, ZERO_UUID)
            offset = -1 if committed is None else committed.offset
            assert floor <= offset, f"{copier.number} goes back to {offset} from {floor}"
            assert offset in copier.may_show or offset <= copier.committed
            copier.shown = max(copier.shown, offset)
            self.told += 1

        group = OffsetFetchRequestGroup(GROUP)
        self.coordinators[leader.node_id].fetch_offsets(group, [(TOPIC, [number])], stable, done)

    # -- faults ----------------------------------------------------------------------------------

    def fault(self, chance: random.Random) -> None:
        cluster, now = self.cluster, self.cluster.registration()
        one = chance.choice(list(cluster.brokers))
        running = [each for each, broker in cluster.brokers.items() if broker.running]
        draw = chance.random()
        if draw < 0.06 and len(running) == 3:
            cluster.kill(chance.choice([one, now.leader]) if now.leader > 0 else one)
        elif draw < 0.25 and one not in running:
            cluster.restart(one)
        elif draw < 0.33 and one in now.isr and one in running:
            cluster.change(one, None)
        elif draw < 0.37:
            cluster.cuts[(one, chance.choice(list(cluster.brokers)))] = None
        elif draw < 0.50:
            cluster.cuts.clear()

    def heal(self) -> None:
        self.cluster.cuts.clear()
        for node_id, broker in self.cluster.brokers.items():
            if not broker.running:
                self.cluster.restart(node_id)
        self.cluster.run(15_000)


@pytest.mark.parametrize("seed", range(12))
def test_each_transaction_has_one_outcome_whoever_coordinates(seed: int) -> None:
    chance = random.Random(seed)
    world = Cluster(seed)
    for _ in range(150):
        world.fault(chance)
        copier = chance.choice(world.copiers)
        world.turn(copier, chance)
        world.cluster.run(chance.random() * chance.choice((2, 40, 400)))
        for _ in range(8):
            world.read(copier, stable=chance.random() < 0.5)
            world.cluster.run(1)
    world.heal()
    for _ in range(200):
        for copier in world.copiers:
            if copier.outcome is not None:
                world.turn(copier, chance)
        world.cluster.run(50)
    assert [copier.outcome for copier in world.copiers] == [None] * 3
    before = world.told
    for copier in world.copiers:
        assert copier.may_show == {copier.committed}
        world.read(copier, stable=True)
        world.read(copier, stable=False)
    world.cluster.run(1_000)
    assert world.told == before + 6, "nothing stays unstable"
    assert before > 20
    assert sum(copier.committed > 0 for copier in world.copiers) >= 2

"""Replicas through changes of leaders, crashes and truncations: what was acknowledged stays."""

from __future__ import annotations

import random

import pytest

from tests.unit.broker.replication.replica_cluster import ReplicaCluster


def test_records_reach_all_replicas_and_the_watermark_follows() -> None:
    cluster = ReplicaCluster(0)
    cluster.run(100)
    for number in range(20):
        assert cluster.append(b"%d" % number) == (number, number + 1)
        cluster.run(5)
    cluster.run(1100)
    cluster.assert_equal_logs()
    assert cluster.registration().isr == (1, 2, 3)
    assert cluster.brokers[2].fetchers.max_lag() == 0


def test_an_idle_partition_costs_no_work_and_stays_in_sync() -> None:
    cluster = ReplicaCluster(0)
    cluster.append(b"a")
    cluster.run(60_000)
    assert cluster.registration().isr == (1, 2, 3)
    before = cluster.world.events_run
    cluster.run(10_000)
    # Four ends of long polls a second and follower, and checkpoints of three brokers.
    assert cluster.world.events_run - before < 10 * (2 * 2 * 4 + 3 * 10)


def test_r3_a_follower_that_restarts_before_it_knows_the_watermark_keeps_what_is_committed() -> (
    None
):
    """KIP-101, case 1: it must not cut its log to its own old high watermark."""
    cluster = ReplicaCluster(0, count=2, min_insync_replicas="1")
    cluster.run(600)
    appended = cluster.append(b"a", 3)
    assert appended == (0, 3)
    leader, follower = cluster.brokers[1], cluster.brokers[2]
    cluster.world.run_until(lambda: leader.partition().log.high_watermark == 3)
    assert follower.partition().log.high_watermark == 0  # acknowledged, and it does not know
    cluster.kill(2)
    cluster.change(None, [1, 2])  # as if the restart were not noticed
    cluster.restart(2)
    assert follower.partition().log.log_end_offset == 3
    cluster.kill(1)
    cluster.run(100)
    assert follower.partition().is_leader
    assert follower.partition().log.high_watermark == 3
    cluster.restart(1)
    cluster.run(5000)
    cluster.assert_equal_logs()


@pytest.mark.parametrize("epochs", ["12", "1212", "12321", "1223311", "132132132"])
def test_r4_fast_failovers_with_epochs_that_wrote_nothing(epochs: str) -> None:
    """KIP-279, KAFKA-7415, KAFKA-10706: each leads in turn, cut off, and only some write."""
    cluster = ReplicaCluster(1)
    cluster.run(600)
    cluster.append(b"committed")
    cluster.run(600)
    for source in cluster.brokers:
        for target in cluster.brokers:
            cluster.cuts[(source, target)] = None
    for turn, leader in enumerate(epochs):
        cluster.change(int(leader), None)
        cluster.run(50)
        if turn % 3 != 1:
            assert cluster.append(b"lost %d" % turn, acks=1) is not None
    cluster.cuts.clear()
    cluster.change(int(epochs[-1]), None)
    cluster.run(20_000)
    assert cluster.append(b"after") is not None
    cluster.run(3000)
    cluster.assert_equal_logs()
    assert b"committed" in cluster.bytes_of(1, 0, 1)


def test_r6_a_log_start_inside_a_batch_while_a_follower_is_down() -> None:
    """KAFKA-6975, KAFKA-9491: it comes back behind the log start, catches up, and leads."""
    cluster = ReplicaCluster(2)
    cluster.run(600)
    for _ in range(3):
        cluster.append(b"x" * 10, 10)
    cluster.run(1100)
    cluster.kill(3)
    for _ in range(3):
        cluster.append(b"y" * 10, 10)
        cluster.run(50)
    cluster.run(5000)  # the ISR shrinks to the two that are left, and all is committed
    leader = cluster.leader()
    assert leader is not None
    assert leader.partition().delete_records(45) == (0, 45)
    cluster.run(600)
    assert cluster.brokers[2].partition().log.log_start_offset == 45
    cluster.restart(3)
    cluster.run(3000)
    log = cluster.brokers[3].partition().log
    assert (log.log_start_offset, log.log_end_offset) == (45, 60)
    assert 3 in cluster.registration().isr
    cluster.change(3, None)
    cluster.run(600)
    assert cluster.append(b"z") == (60, 61)
    cluster.run(3000)
    cluster.assert_equal_logs()


def test_r5_after_an_unclean_election_the_old_leader_is_cut_below_its_watermark() -> None:
    """Chosen by unclean.leader.election.enable: what only the lost leader had is gone everywhere,
    and what it had before the election's point is not copied again."""
    cluster = ReplicaCluster(5, min_insync_replicas="1")
    cluster.run(600)
    cluster.append(b"common", 4)
    cluster.run(600)
    cluster.kill(2)
    cluster.kill(3)
    cluster.run(100)
    for _ in range(3):
        cluster.append(b"gone", 2)
    assert cluster.brokers[1].partition().log.high_watermark == 10
    cluster.run(600)
    cluster.kill(1)
    cluster.restart(2)
    cluster.change(2, [2])
    cluster.run(100)
    assert cluster.append(b"new") == (4, 5)
    for node_id in (1, 3):
        cluster.restart(node_id)
    cluster.run(5000)
    assert cluster.brokers[1].partition().log.leader_epochs.entries[0] == (0, 0)
    cluster.assert_equal_logs()
    assert b"gone" not in cluster.bytes_of(1, 0, 5)


@pytest.mark.parametrize("seed", range(4))
def test_whoever_is_elected_the_logs_agree_in_the_end(seed: int) -> None:
    """Unclean elections too: I7 alone. Small segments, so that truncations go over several."""
    chance = random.Random(seed)
    cluster = ReplicaCluster(seed, min_insync_replicas="1", segment_bytes="1048576")
    cluster.run(600)
    for _ in range(60):
        _one_event(cluster, chance)
        running = [one for one, broker in cluster.brokers.items() if broker.running]
        if chance.random() < 0.15:
            leader = chance.choice(running)
            cluster.change(leader, [leader])
        cluster.append(chance.randbytes(300_000), chance.randint(1, 3))
        cluster.run(chance.random() * chance.choice((5, 50, 500)))
    cluster.change(running[0], [running[0]])
    _heal(cluster)
    cluster.assert_equal_logs()


def test_a_follower_far_behind_the_log_start_begins_anew() -> None:
    cluster = ReplicaCluster(3)
    cluster.run(600)
    cluster.append(b"old", 5)
    cluster.run(600)
    cluster.kill(2)
    for _ in range(4):
        cluster.append(b"new", 10)
        cluster.run(20)
    cluster.run(600)
    leader = cluster.leader()
    assert leader is not None
    assert leader.partition().delete_records(25)[0] == 0
    cluster.restart(2)
    cluster.run(4000)
    assert cluster.brokers[2].partition().log.segments.base_offsets == [25]
    cluster.assert_equal_logs()


def test_r12_everyone_dies_and_one_disk_is_wiped() -> None:
    cluster = ReplicaCluster(4)
    cluster.run(600)
    for number in range(10):
        cluster.append(b"%d" % number)
        cluster.run(20)
    cluster.run(600)
    cluster.kill(3)
    cluster.kill(2)
    cluster.kill(1)
    cluster.brokers[2].filesystem = type(cluster.brokers[2].filesystem)()
    for node_id in (2, 3, 1):
        cluster.restart(node_id)
        cluster.run(200)
    assert cluster.registration().leader == 1
    cluster.run(5000)
    assert sorted(cluster.registration().isr) == [1, 2, 3]
    assert cluster.brokers[2].partition().log.log_end_offset == 10
    cluster.assert_equal_logs()


@pytest.mark.parametrize("seed", range(25))
def test_whatever_happens_what_was_acknowledged_stays_and_the_logs_agree(seed: int) -> None:
    """I1, I2, I7: kills and cuts of all but one in-sync replica, changes of leaders, deletions."""
    chance = random.Random(seed)
    cluster = ReplicaCluster(seed, min_insync_replicas="2", delay_ms=chance.choice((1.0, 30.0)))
    acknowledged: dict[int, bytes] = {}
    waiting: list[tuple[int, int, bytes, int]] = []  # offset, end, value, leader epoch
    deleted = 0
    cluster.run(600)
    for step in range(150):
        _one_event(cluster, chance)
        value = b"%d/%d" % (seed, step)
        count = chance.randint(1, 4)
        appended = cluster.append(value, count)
        if appended is not None:
            epoch = cluster.registration().leader_epoch
            waiting.append((*appended, value, epoch))
        cluster.run(chance.random() * chance.choice((5, 50, 500)))
        leader = cluster.leader()
        if leader is None:
            continue
        partition = leader.partition()
        for one in list(waiting):
            offset, end, value, epoch = one
            if epoch != partition.leader_epoch:
                waiting.remove(one)
            elif partition.log.high_watermark >= end:
                waiting.remove(one)
                acknowledged[offset] = value
        if chance.random() < 0.03:
            deleted = max(deleted, chance.randint(0, partition.log.high_watermark))
            partition.delete_records(deleted)
    _heal(cluster)
    cluster.assert_equal_logs()
    leader = cluster.leader()
    assert leader is not None
    log = leader.partition().log
    assert len(acknowledged) > 10
    for offset, value in acknowledged.items():
        if offset >= log.log_start_offset:
            assert value in cluster.bytes_of(leader.node_id, offset, offset + 1 + 4), (
                offset,
                value,
            )


def _one_event(cluster: ReplicaCluster, chance: random.Random) -> None:
    now = cluster.registration()
    running = [one for one, broker in cluster.brokers.items() if broker.running]
    draw = chance.random()
    one = chance.choice(list(cluster.brokers))
    if draw < 0.06 and len(running) > 1 and one in running:
        cluster.kill(one)
    elif draw < 0.16 and one not in running:
        cluster.restart(one)
    elif draw < 0.28:
        candidates = [each for each in now.isr if each in running]
        if candidates:
            cluster.change(chance.choice(candidates), None)
    elif draw < 0.34:
        cluster.cuts[(one, chance.choice(list(cluster.brokers)))] = None
    elif draw < 0.44:
        cluster.cuts.clear()


def _heal(cluster: ReplicaCluster) -> None:
    cluster.cuts.clear()
    for node_id, broker in cluster.brokers.items():
        if not broker.running:
            cluster.restart(node_id)
            cluster.run(100)
    cluster.run(15_000)
    assert sorted(cluster.registration().isr) == sorted(cluster.brokers)
    assert cluster.append(b"last") is not None
    cluster.run(3000)

"""Named scenarios of the quorum over the real log, network and APIs, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from controller.raft.quorum_state import QuorumStateError, Role
from controller.raft.raft_log import RaftLog
from tests.quorum.crash_points import crash_at, crash_points
from tests.quorum.quorum_world import QuorumNode, QuorumWorld

SEEDS = range(8)


def quorum(seed: int, voters: int = 3, observers: int = 1, **settings: Any) -> QuorumWorld:
    world = QuorumWorld(seed, voters, observers, **settings)
    world.links.slow_chance = 0.0
    return world


def elected(seed: int, voters: int = 3, observers: int = 1, **settings: Any) -> QuorumWorld:
    world = quorum(seed, voters, observers, **settings).start()
    world.wait_for_leader()
    return world


def commit(world: QuorumWorld, records: int) -> int:
    """Commit records; the offset after the last one."""
    for _ in range(records):
        world.propose()
        world.world.run_for(10)
    world.wait_until_equal()
    leader = world.leader
    assert leader is not None and leader.raft.high_watermark is not None
    return leader.raft.high_watermark


def follower(world: QuorumWorld) -> QuorumNode:
    leader = world.leader
    return next(n for n in world.nodes.values() if n.is_voter and n.alive and n is not leader)


# --- elections are quick -------------------------------------------------------------------------


@pytest.mark.parametrize("voters", [3, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_voters_that_start_together_elect_within_a_second(seed: int, voters: int) -> None:
    world = quorum(seed, voters).start()
    world.wait_for_leader(limit_ms=1_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_majority_elects_when_it_is_there(seed: int) -> None:
    """The second of three voters comes late, the third never."""
    world = quorum(seed)
    world.nodes[1].start()
    world.world.run_for(4_000)
    assert world.nodes[1].raft.leader_id is None
    world.nodes[2].start()
    world.wait_for_leader(limit_ms=1_000)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_whose_process_died_is_replaced_at_once(seed: int) -> None:
    """Its address refuses connections: nobody waits for the fetch time-out of 2 s."""
    world = elected(seed)
    commit(world, 5)
    leader = world.leader
    assert leader is not None
    leader.stop()
    world.wait_for_leader(limit_ms=600, beside=leader.id)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_restarts_is_found_out(seed: int) -> None:
    """It answers, but leads no more: that counts as gone as well."""
    world = elected(seed)
    commit(world, 5)
    leader = world.leader
    assert leader is not None
    epoch = leader.raft.epoch
    leader.stop()
    leader.start()
    assert world.wait_for_leader(limit_ms=1_000).raft.epoch > epoch


@pytest.mark.parametrize("seed", SEEDS)
def test_handed_over_on_a_controlled_stop(seed: int) -> None:
    world = elected(seed)
    commit(world, 5)
    leader = world.leader
    assert leader is not None
    told: list[float] = []
    leader.raft.hand_over(lambda: told.append(world.world.now_ms), 1_000)
    began = world.world.now_ms
    world.wait_for_leader(limit_ms=700, beside=leader.id)
    world.world.run_for(100)
    assert told and told[0] - began < 100
    world.world.run_for(10_000)
    assert not leader.raft.is_leader, "who leaves does not come back to lead"


def test_handing_over_waits_no_longer_than_told() -> None:
    world = elected(1)
    leader = world.leader
    assert leader is not None
    world.isolate(leader.id)
    told: list[float] = []
    began = world.world.now_ms
    leader.raft.hand_over(lambda: told.append(world.world.now_ms), 500)
    world.world.run_for(5_000)
    assert told == [began + 500]


def test_a_refused_leader_that_others_hear_stays() -> None:
    """One follower cannot reach the leader's address; its pre-votes change nothing."""
    world = elected(3)
    commit(world, 3)
    leader, lonely = world.leader, follower(world)
    assert leader is not None
    epoch = leader.raft.epoch
    world.links.refuse.add((lonely.id, leader.id))
    world.world.run_for(20_000)
    assert world.leader is leader and leader.raft.epoch == epoch
    world.links.refuse.clear()
    world.world.run_for(2_000)
    commit(world, 3)
    assert lonely.raft.leader_id == leader.id


# --- C2: an isolated leader ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_an_isolated_leader_resigns_and_commits_nothing(seed: int) -> None:
    """KAFKA-15489: it hears of no majority, so it gives up, 1.5 fetch time-outs later at most."""
    world = elected(seed)
    before = commit(world, 5)
    leader = world.leader
    assert leader is not None
    world.isolate(leader.id)
    leader.propose("never committed")
    world.world.run_for(3_100)
    assert not leader.raft.is_leader
    assert leader.raft.high_watermark == before
    successor = world.wait_for_leader(limit_ms=4_000, beside=leader.id)
    for _ in range(5):
        successor.propose("committed")
        world.world.run_for(20)
    world.heal()
    world.wait_for_leader()
    world.wait_until_equal()
    world.check.at_the_end()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_link_cut_one_way_costs_no_committed_record(seed: int) -> None:
    """The leader hears its followers, they do not hear it."""
    world = elected(seed)
    commit(world, 5)
    leader = world.leader
    assert leader is not None
    for node_id in world.nodes:
        if node_id != leader.id:
            world.links.cut.add((leader.id, node_id))
    world.wait_for_leader(limit_ms=8_000, beside=leader.id)
    world.heal()
    world.world.run_for(3_000)
    commit(world, 3)
    world.check.at_the_end()


# --- C4: amnesia ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_voter_that_lost_its_log_gets_it_back(seed: int) -> None:
    """One voter's log is deleted. The others have all that is committed, so nothing is lost, and
    none of them can be led by the one that has nothing."""
    world = elected(seed)
    commit(world, 20)
    forgetful = follower(world)
    forgetful.stop()
    forgetful.filesystem.remove_tree("/d/__cluster_metadata-0")
    world.check.told_epochs.pop(forgetful.key, None)
    leader = world.leader
    assert leader is not None
    leader.stop()  # now it takes the forgetful one to elect
    forgetful.start()
    successor = world.wait_for_leader()
    assert successor is not forgetful
    leader.start()
    commit(world, 5)
    world.check.at_the_end()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_lost_its_log_gets_it_back(seed: int) -> None:
    world = elected(seed)
    commit(world, 20)
    leader = world.leader
    assert leader is not None
    leader.stop()
    leader.filesystem.remove_tree("/d/__cluster_metadata-0")
    world.check.told_epochs.pop(leader.key, None)
    leader.start()
    assert world.wait_for_leader() is not leader
    commit(world, 5)
    world.check.at_the_end()


# --- snapshots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_far_behind_goes_on_from_a_snapshot(seed: int) -> None:
    """The log before the snapshot is gone: a voter and an observer that slept fetch it in parts."""
    world = elected(seed, snapshot_bytes=500)
    commit(world, 5)
    leader, lazy = world.leader, follower(world)
    observer = world.nodes[4]
    assert leader is not None
    lazy.stop()
    observer.stop()
    for _ in range(120):
        world.propose()
        world.world.run_for(15)
    assert leader.log.start_offset > lazy.log.end_offset
    lazy.start()
    observer.start()
    world.wait_until_equal()
    assert lazy.loads == observer.loads == 1
    assert lazy.log.start_offset > 0
    commit(world, 5)
    world.check.at_the_end()


def test_a_damaged_snapshot_is_asked_for_again() -> None:
    world = elected(1, snapshot_bytes=500)
    leader, lazy = world.leader, follower(world)
    assert leader is not None
    lazy.stop()
    for _ in range(120):
        world.propose()
        world.world.run_for(15)
    world.world.run_for(500)
    latest = leader.log.snapshots[-1]
    path = f"{leader.log.directory}/{latest.file_name}"
    good = leader.filesystem.read(path)
    leader.filesystem.replace_atomically(path, good[:100] + b"\xff" + good[101:])
    lazy.start()
    world.world.run_for(900)
    assert lazy.loads == 0 and not lazy.failures
    leader.filesystem.replace_atomically(path, good)
    world.world.run_for(5_000)
    assert lazy.loads == 1
    assert not [
        name for name in lazy.filesystem.list_dir(lazy.log.directory) if name.endswith(".part")
    ]


def test_an_observer_finds_the_leader_and_votes_for_nobody() -> None:
    world = elected(2, observers=2)
    commit(world, 5)
    for observer in (world.nodes[4], world.nodes[5]):
        leader = world.leader
        assert leader is not None and observer.raft.leader_id == leader.id
        assert observer.raft._raft.role is Role.FOLLOWER
    leader = world.leader
    assert leader is not None
    leader.stop()
    world.wait_for_leader(beside=leader.id)
    commit(world, 3)


# --- C5: the vote file ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"leaderId":1}', b'{"leaderEpoch":3,"leaderId":-1,"votedId":2,"data_version":9}'],
)
def test_a_vote_file_that_cannot_be_read_is_refused(content: bytes) -> None:
    """KAFKA-15412: a node that forgot its vote must not take part."""
    world = elected(1)
    node = follower(world)
    node.stop()
    node.filesystem.replace_atomically("/d/__cluster_metadata-0/quorum-state", content)
    with pytest.raises(QuorumStateError, match="quorum-state"):
        node.start()
    node.alive = False


@pytest.mark.parametrize("power", [False, True], ids=["process", "power"])
def test_a_crash_at_each_write_loses_no_vote_and_no_committed_record(power: bool) -> None:
    """A voter dies in place of its n-th change to the disk, vote file and snapshots included. Here
    every 25th; `python -m tests.quorum --crash-points` tries all."""
    points = crash_points()
    assert len(points) > 200
    for point in points[power::25]:
        crash_at(point, power)


@pytest.mark.parametrize("power", [False, True], ids=["process", "power"])
def test_a_crash_at_each_write_while_voters_change(power: bool) -> None:
    """A voter dies at every 120th change to its disk, while an administrator adds and removes
    voters; `--crash-points --changes` tries all."""
    points = crash_points(changing=True)
    assert len(points) > 400
    for point in points[60 * power :: 120]:
        crash_at(point, power, changing=True)


def test_a_snapshot_that_was_renamed_before_the_log_was_cut() -> None:
    """The crash comes between the two: at the start the log begins anew at the snapshot's end, also
    where it is longer but of an earlier epoch."""
    world = elected(4, snapshot_bytes=500)
    for _ in range(60):
        world.propose()
        world.world.run_for(15)
    world.wait_until_equal()
    node, leader = follower(world), world.leader
    assert leader is not None
    latest = leader.log.snapshots[-1]
    content = leader.filesystem.read(f"{leader.log.directory}/{latest.file_name}")
    node.stop()
    folder = "/d/__cluster_metadata-0"
    for name in node.filesystem.list_dir(folder):
        if ".checkpoint" in name:
            node.filesystem.remove(f"{folder}/{name}")
    later = latest._replace(epoch=latest.epoch + 1)
    node.filesystem.replace_atomically(f"{folder}/{later.file_name}", content)
    log = RaftLog(node.settings(), node.log._environment)
    assert (log.start_offset, log.end_offset) == (later.end_offset, later.end_offset)
    assert log.epoch_index().last_epoch == later.epoch

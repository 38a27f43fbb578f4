"""`controller.raft.raft`, elections: how long a voter waits, and what makes it wait less."""

from __future__ import annotations

import pytest

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.log_view import LogView
from controller.raft.quorum_state import ElectionState, Role
from controller.raft.quorum_voters import QuorumVoters
from controller.raft.raft import FIRST_TRY_MS, Raft
from controller.raft.raft_config import RaftConfig
from controller.voter_set import ReplicaKey, VoterSet


def raft(
    election: ElectionState | None = None, node_id: int = 1, log: EpochIndex | None = None
) -> Raft:
    """A voter of three whose draws are the longest."""
    config = RaftConfig(ReplicaKey(node_id))
    view = LogView(log or EpochIndex(), QuorumVoters(VoterSet.of_ids(1, 2, 3)))
    return Raft(config, election or ElectionState(), view, lambda bound: bound - 1)


def following(leader_id: int = 2) -> Raft:
    """A follower that has heard from its leader."""
    node = raft(ElectionState(5, leader_id))
    node.start(0)
    node.step(m.Received(leader_id, m.FetchReply(5, leader_id, 0, (0, 0), 0)), 100)
    assert node.step(m.Tick(), 101).deadline_ms == 2_100
    return node


def asked(ready: m.Ready) -> list[tuple[int, str]]:
    return [(s.to, type(s.message).__name__) for s in ready.send if isinstance(s, m.Send)]


@pytest.mark.parametrize("election", [ElectionState(), ElectionState(4), ElectionState(4, 1)])
def test_without_a_leader_the_first_try_comes_soon(election: ElectionState) -> None:
    node = raft(election)
    deadline = node.start(1_000).deadline_ms
    assert deadline is not None and deadline < 1_000 + FIRST_TRY_MS
    ready = node.step(m.Tick(), deadline)
    assert node.role is Role.PROSPECTIVE and node.epoch == election.epoch
    assert asked(ready) == [(2, "Vote"), (3, "Vote")]


def test_a_known_leader_is_asked_first() -> None:
    node = raft(ElectionState(5, 2))
    ready = node.start(0)
    assert node.role is Role.FOLLOWER and asked(ready) == [(2, "Fetch")]
    assert ready.deadline_ms == 2_000
    ready = node.step(m.Unreachable(2), 10)
    assert ready.deadline_ms == 10 + FIRST_TRY_MS - 1, "it was never heard of: no need to wait"


def test_a_leader_that_was_heard_of_is_missed_only_when_it_refuses() -> None:
    node = following()
    assert node.step(m.Unreachable(2), 200).deadline_ms == 2_100
    vote = m.Received(3, m.Vote(5, ReplicaKey(3), 0, 0, True), "c")
    (refusal,) = node.step(vote, 210).send
    assert isinstance(refusal.message, m.VoteReply) and not refusal.message.granted
    ready = node.step(m.Unreachable(2, refused=True), 220)
    assert ready.deadline_ms == 220 + FIRST_TRY_MS - 1
    assert asked(ready) == [(2, "Fetch")], "it may come back"
    (grant,) = node.step(vote, 230).send
    assert isinstance(grant.message, m.VoteReply) and grant.message.granted


def test_a_leader_that_says_that_it_does_not_lead_is_missed() -> None:
    node = following()
    ready = node.step(m.Received(2, m.EpochReply(5, None)), 200)
    assert ready.deadline_ms == 200 + FIRST_TRY_MS - 1


def test_an_answer_ends_the_wait() -> None:
    node = following()
    node.step(m.Unreachable(2, refused=True), 200)
    ready = node.step(m.Received(2, m.FetchReply(5, 2, 0, (0, 0), 0)), 210)
    assert ready.deadline_ms == 2_210
    (refusal,) = node.step(m.Received(3, m.Vote(5, ReplicaKey(3), 0, 0, True), "c"), 220).send
    assert isinstance(refusal.message, m.VoteReply) and not refusal.message.granted


def test_the_wait_grows_while_it_is_in_vain() -> None:
    """The others hear from the leader: what looks like its end is a fault of this node."""
    node, now, waits = following(), 200.0, []
    for _ in range(6):
        deadline = node.step(m.Unreachable(2, refused=True), now).deadline_ms
        assert deadline is not None
        waits.append(deadline - now)
        now = deadline
        node.step(m.Tick(), now)
        assert node.role is Role.PROSPECTIVE
        for voter in (2, 3):
            node.step(m.Received(voter, m.VoteReply(5, 2, False, True)), now)
        assert node.role is Role.FOLLOWER and node.epoch == 5
    assert waits == sorted(waits) and waits[0] == 149 and waits[-1] == 999


def test_who_was_unreachable_is_asked_for_its_vote_again() -> None:
    node = raft()
    node.start(0)
    node.step(m.Tick(), 149)
    assert asked(node.step(m.Unreachable(3, refused=True), 150)) == [(3, "Vote")]
    node.step(m.Received(2, m.VoteReply(0, None, True, True)), 160)
    assert node.role is Role.CANDIDATE
    ready = node.step(m.Unreachable(3, refused=True), 170)
    (again,) = ready.send
    assert again.message == m.Vote(1, ReplicaKey(1), 0, 0, False)
    node.step(m.Received(2, m.VoteReply(1, None, True, False)), 180)
    assert asked(node.step(m.Unreachable(3), 190)) == [(3, "BeginQuorumEpoch")]


def test_the_wait_after_a_lost_election_grows_up_to_the_limit() -> None:
    node, now, waits = raft(), 0.0, []
    node.start(now)
    now = 149.0
    for _ in range(6):
        node.step(m.Tick(), now)
        for voter in (2, 3):
            ready = node.step(m.Received(voter, m.VoteReply(0, None, False, True)), now)
        assert ready.deadline_ms is not None
        waits.append(ready.deadline_ms - now)
        now = ready.deadline_ms
    assert waits == [249, 449, 849, 1_049, 1_049, 1_049]


def test_a_leader_with_a_snapshot_of_what_is_missing_is_followed_there() -> None:
    node = following()
    ready = node.step(m.Received(2, m.FetchReply(5, 2, 50, (0, 0), snapshot=(40, 4))), 200)
    (fetch,) = ready.send
    assert fetch == m.Send(2, m.FetchSnapshot(5, ReplicaKey(1), (40, 4), 0))
    part = m.SnapshotReply(5, 2, (40, 4), 0, 300, b"x" * 200)
    ready = node.step(m.Received(2, part), 210)
    assert ready.snapshot_part == m.SnapshotPart((40, 4), 0, 300, b"x" * 200)
    assert ready.deadline_ms == 2_210, "a leader that sends parts is alive"
    (fetch,) = node.step(m.SnapshotWritten((40, 4), 200), 220).send
    assert fetch == m.Send(2, m.FetchSnapshot(5, ReplicaKey(1), (40, 4), 200))
    ready = node.step(m.SnapshotStored((40, 4)), 230)
    assert (ready.load_snapshot, ready.high_watermark) == ((40, 4), 40)
    assert ready.send == [m.Send(2, m.Fetch(5, ReplicaKey(1), 40, 4))]
    assert (node.log.epochs.start_offset, node.log.end_offset, node.log.last_epoch) == (40, 40, 4)


def test_a_snapshot_that_is_gone_or_damaged_is_asked_for_anew() -> None:
    for event in (
        m.Received(2, m.SnapshotReply(5, 2, (40, 4), 0)),
        m.SnapshotUnusable((40, 4)),
    ):
        node = following()
        node.step(m.Received(2, m.FetchReply(5, 2, 50, (0, 0), snapshot=(40, 4))), 200)
        ready = node.step(event, 210)
        assert ready.send == [m.Send(2, m.Fetch(5, ReplicaKey(1), 0, 0))]
        assert ready.load_snapshot is None


def test_a_snapshot_that_comes_too_late_changes_nothing() -> None:
    node = raft(ElectionState(5, 2), log=EpochIndex(0, 60, [(4, 0)]))
    node.start(0)
    ready = node.step(m.SnapshotStored((40, 4)), 10)
    assert ready.load_snapshot is None and node.log.end_offset == 60


def test_a_snapshot_replaces_a_shorter_log_of_a_later_epoch() -> None:
    """The leader of epoch 4 never committed a record; that of epoch 5 has gone on from epoch 3."""
    node = raft(ElectionState(5, 2), log=EpochIndex(0, 30, [(3, 0), (4, 20)]))
    node.start(0)
    ready = node.step(m.SnapshotStored((40, 3)), 10)
    assert (ready.load_snapshot, node.log.end_offset, node.log.last_epoch) == ((40, 3), 40, 3)

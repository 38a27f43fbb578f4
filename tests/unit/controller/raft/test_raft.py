"""`controller.raft.raft`: single steps; whole stories are in `tests/quorum`."""

from __future__ import annotations

import pytest

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.log_view import LogView
from controller.raft.quorum_state import ElectionState, Role
from controller.raft.quorum_voters import QuorumVoters
from controller.raft.raft import Raft
from controller.raft.raft_config import RaftConfig
from controller.voter_set import ReplicaKey, VoterSet


def raft(
    *voters: int, election: ElectionState | None = None, log: EpochIndex | None = None
) -> Raft:
    config = RaftConfig(ReplicaKey(1))
    view = LogView(log or EpochIndex(), QuorumVoters(VoterSet.of_ids(*voters)))
    return Raft(config, election or ElectionState(), view, lambda _bound: 0)


def test_the_only_voter_leads_at_once_and_commits_with_its_fsync() -> None:
    node = raft(1)
    ready = node.start(0)
    assert ready.persist == ElectionState(1, 1)
    assert ready.append == [m.Append(1, 0, 1, m.LeaderChange(1, (1,), (1,)))]
    assert (ready.send, ready.high_watermark, ready.deadline_ms) == ([], None, None)
    assert ready.leader == m.Leader(1, 1)
    assert node.step(m.Flushed(1), 1).high_watermark == 1


def test_a_proposal_follows_the_log() -> None:
    node = raft(1)
    node.start(0)
    ready = node.step(m.Propose(1, 3, "payload"), 1)
    assert ready.append == [m.Append(1, 1, 4, "payload")]
    assert node.step(m.Flushed(1), 2).high_watermark == 1
    assert node.step(m.Flushed(4), 3).high_watermark == 4
    assert node.step(m.Flushed(4), 4).high_watermark is None


def test_what_a_leader_says_is_committed_can_be_more_than_is_here() -> None:
    node = raft(1, 2, 3, election=ElectionState(1, 2))
    node.start(0)
    batch = m.AppendedBatch(1, 0, 3)
    assert node.announced_high_watermark is None
    node.step(m.Received(2, m.FetchReply(1, 2, None, (0, 0), 0)), 1)
    assert node.announced_high_watermark is None
    reply = m.FetchReply(1, 2, 7, (0, 0), 0, batches=(batch,), records=b"x")
    assert node.step(m.Received(2, reply), 2).high_watermark == 3
    assert (node.high_watermark, node.announced_high_watermark) == (3, 7)


def test_a_leader_knows_what_is_committed_with_the_first_record_of_its_epoch() -> None:
    node = raft(1)
    node.start(0)
    assert node.announced_high_watermark is None
    node.step(m.Flushed(1), 1)
    assert node.announced_high_watermark == 1


def test_only_a_leader_proposes() -> None:
    node = raft(1, 2)
    node.start(0)
    with pytest.raises(AssertionError, match="only a leader"):
        node.step(m.Propose(0, 1, None), 0)


def test_the_last_life_s_leader_must_be_elected_anew() -> None:
    node = raft(1, 2, 3, election=ElectionState(4, 1))
    ready = node.start(0)
    assert node.role is Role.RESIGNED
    assert node.leader_id is None
    assert ready.deadline_ms == 0  # the draw: at most FIRST_TRY_MS, for a pre-vote disturbs nobody
    assert raft(1, election=ElectionState(4, 1)).start(0).persist == ElectionState(5, 1)


def test_a_vote_is_persisted_before_it_is_answered() -> None:
    node = raft(1, 2, 3)
    node.start(0)
    vote = m.Vote(1, ReplicaKey(2), 0, 0, False)
    ready = node.step(m.Received(2, vote, "c"), 1)
    assert ready.persist == ElectionState(1, None, 2)
    assert ready.send == [m.SendReply(2, m.VoteReply(1, None, True, False), "c")]
    again = node.step(m.Received(3, vote._replace(candidate=ReplicaKey(3)), "d"), 2)
    assert again.persist is None
    assert again.send == [m.SendReply(3, m.VoteReply(1, None, False, False), "d")]


def test_a_pre_vote_changes_nothing() -> None:
    node = raft(1, 2, 3)
    node.start(0)
    ready = node.step(m.Received(2, m.Vote(0, ReplicaKey(2), 0, 0, True), "c"), 1)
    assert ready.persist is None
    assert node.election == ElectionState()


def test_an_observer_votes_for_nobody_and_is_no_candidate() -> None:
    node = raft(2, 3)
    ready = node.start(0)
    assert [type(s.message).__name__ for s in ready.send] == ["Fetch"]
    node.step(m.Tick(), 60_000)
    assert node.role is Role.UNATTACHED


def test_two_leaders_of_one_epoch_stop_the_process() -> None:
    node = raft(1, 2, 3)
    node.start(0)
    node.step(m.Received(2, m.BeginQuorumEpoch(1, 2)), 1)
    with pytest.raises(AssertionError, match="two leaders in epoch 1"):
        single = raft(1, 2, 3, election=ElectionState(1, 2))
        single.role = Role.UNATTACHED
        single.step(m.Received(3, m.BeginQuorumEpoch(1, 3)), 1)


def test_what_is_committed_is_never_cut() -> None:
    node = raft(1, 2, 3, log=EpochIndex(0, 5, [(1, 0)]))
    node.start(0)
    node.step(m.Received(2, m.BeginQuorumEpoch(2, 2)), 1)
    node.step(m.Flushed(5), 2)
    node.step(m.Received(2, m.FetchReply(2, 2, 5, (5, 1), read_from=5)), 3)
    with pytest.raises(AssertionError, match="would lose what is committed"):
        node.step(m.Received(2, m.FetchReply(2, 2, 5, (5, 1), diverging=(1, 3))), 4)


def test_a_late_answer_says_nothing() -> None:
    node = raft(1, 2, 3)
    node.start(0)
    node.step(m.Received(2, m.BeginQuorumEpoch(1, 2)), 1)
    batch = m.AppendedBatch(1, 0, 1)
    reply = m.FetchReply(1, 2, 1, (0, 0), 0, batches=(batch,), records=b"x")
    assert node.step(m.Received(2, reply), 2).append
    assert not node.step(m.Received(2, reply), 3).append


def test_a_fetch_waits_for_the_fsync() -> None:
    node = raft(1, 2, 3)
    node.start(0)
    node.step(m.Received(2, m.BeginQuorumEpoch(1, 2)), 1)
    batch = m.AppendedBatch(1, 0, 1)
    reply = m.FetchReply(1, 2, 1, (0, 0), 0, batches=(batch,), records=b"x")
    assert node.step(m.Received(2, reply), 2).send == []
    assert node.step(m.Flushed(1), 3).send == [m.Send(2, m.Fetch(1, ReplicaKey(1), 1, 1))]

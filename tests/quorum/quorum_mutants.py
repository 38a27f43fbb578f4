"""Faults put into the quorum on purpose: the simulation has to find each of them.

votes_twice        forgets that it has voted in this epoch
unsynced_vote      does not fsync the vote before it is sent
unsynced_log       a follower fetches on before what it has is durable
keeps_its_log      a follower does not cut its log where it diverges
counts_late        a leader counts by a set of voters only after its commit
counts_itself      a leader that is no voter counts its own log
two_at_once        a leader changes the voters before the change before is committed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.leader_state import LeaderState, ReplicaProgress
from controller.raft.quorum_state import Role
from controller.raft.raft import Raft
from controller.raft.raft_log import RaftLog
from controller.raft.voter_changes import VoterChanges


def _grants_always(self: Any, vote: m.Vote) -> bool:
    if not self.log.epochs.is_up_to_date(vote.last_epoch, vote.end_offset):
        return False
    if vote.pre_vote:
        return self.role is not Role.LEADER and not self._heard_from_leader
    return self.role in (Role.UNATTACHED, Role.PROSPECTIVE)


def _persist_unsynced(self: Any, election: Any, done: Callable[[Exception | None], None]) -> None:
    data = self.voters.encode_election(election)
    path = f"{self.directory}/quorum-state"
    self._environment.blocking.submit(
        lambda: self._filesystem.replace_atomically(path, data, sync=False),
        lambda _, error: done(error),
    )


def _flush_nothing(self: Any, done: Callable[[Exception | None], None]) -> None:
    self._environment.scheduler.call_soon(lambda: done(None))


def _never_diverges(self: Any, offset: int, last_epoch: int) -> None:
    return None


def _change_nothing(self: Any, voters: Any, now_ms: float) -> bool:
    if not self.voters:
        self.voters = {voter.key: ReplicaProgress() for voter in voters.voters}
        self.voters[self.me] = self._own
    return False


def _advance_with_itself(self: Any) -> bool:
    progresses = {**self.voters, self.me: self._own}.values()
    ends = sorted((progress.end_offset for progress in progresses), reverse=True)
    candidate = ends[self.majority - 1]
    if candidate <= self.epoch_start or candidate <= (self.high_watermark or 0):
        return False
    self.high_watermark = candidate
    return True


def _always_now(self: Any, doing: str) -> None:
    return None


MUTANTS: dict[str, tuple[type, str, Any]] = {
    "votes_twice": (Raft, "_would_grant", _grants_always),
    "unsynced_vote": (RaftLog, "persist_election", _persist_unsynced),
    "unsynced_log": (RaftLog, "flush", _flush_nothing),
    "keeps_its_log": (EpochIndex, "diverging", _never_diverges),
    "counts_late": (LeaderState, "change_voters", _change_nothing),
    "counts_itself": (LeaderState, "_advance", _advance_with_itself),
    "two_at_once": (VoterChanges, "_not_now", _always_now),
}


OF_CHANGES = ("counts_late", "counts_itself", "two_at_once")
"""Those that show only where voters change."""


@contextmanager
def mutant(name: str) -> Iterator[None]:
    """The quorum with that fault."""
    owner, attribute, value = MUTANTS[name]
    with mock.patch.object(owner, attribute, value):
        yield

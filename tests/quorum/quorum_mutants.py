"""Faults put into the quorum on purpose: the simulation has to find each of them.

votes_twice        forgets that it has voted in this epoch
unsynced_vote      does not fsync the vote before it is sent
unsynced_log       a follower fetches on before what it has is durable
keeps_its_log      a follower does not cut its log where it diverges
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.quorum_state import Role, encode_quorum_state
from controller.raft.raft import Raft
from controller.raft.raft_log import RaftLog


def _grants_always(self: Any, vote: m.Vote) -> bool:
    if not self.log.is_up_to_date(vote.last_epoch, vote.end_offset):
        return False
    if vote.pre_vote:
        return self.role is not Role.LEADER and not self._heard_from_leader
    return self.role in (Role.UNATTACHED, Role.PROSPECTIVE)


def _persist_unsynced(self: Any, election: Any, done: Callable[[Exception | None], None]) -> None:
    data = encode_quorum_state(election, self._voters)
    path = f"{self.directory}/quorum-state"
    self._environment.blocking.submit(
        lambda: self._filesystem.replace_atomically(path, data, sync=False),
        lambda _, error: done(error),
    )


def _flush_nothing(self: Any, done: Callable[[Exception | None], None]) -> None:
    self._environment.scheduler.call_soon(lambda: done(None))


def _never_diverges(self: Any, offset: int, last_epoch: int) -> None:
    return None


MUTANTS: dict[str, tuple[type, str, Any]] = {
    "votes_twice": (Raft, "_would_grant", _grants_always),
    "unsynced_vote": (RaftLog, "persist_election", _persist_unsynced),
    "unsynced_log": (RaftLog, "flush", _flush_nothing),
    "keeps_its_log": (EpochIndex, "diverging", _never_diverges),
}


@contextmanager
def mutant(name: str) -> Iterator[None]:
    """The quorum with that fault."""
    owner, attribute, value = MUTANTS[name]
    with mock.patch.object(owner, attribute, value):
        yield

"""The roles of a node of the quorum, carried out: elections, votes, and whom it fetches from.

`controller.raft.raft` says which event leads where; here is what a node does when it becomes
something: what it persists, whom it asks, how long it waits.

Owns: the role, the epoch and its leader, the votes it was given, the log's ends, the high
watermark, and the `Ready` that is being made. Never: reads a message (`controller.raft.raft`).

How long a voter waits before it asks others is where this differs from Kafka: the first try comes
within `FIRST_TRY_MS` where no leader is known, or where the known one is found to be gone. That is
a pre-vote: it changes nothing on any node, and nobody who hears from a leader grants it.

Follows KIP-595, KIP-996 (pre-vote) and Kafka's `QuorumState` and `EpochElection`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.leader_state import LeaderState
from controller.raft.quorum_state import ElectionState, Role, check_transition

Draw = Callable[[int], int]

FIRST_TRY_MS = 150
"""A voter that knows of no living leader asks for pre-votes within this time."""
BACKOFF_MIN_MS = 50
BACKOFF_BASE_MS = 100
"""After the n-th lost election in a row the wait is up to this times 2^n."""


class RaftConfig(NamedTuple):
    """Who is in the quorum, and its time-outs in milliseconds."""

    node_id: int
    voters: tuple[int, ...]
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000


class RaftRoles:
    """What one node is, and how it becomes something else."""

    def __init__(
        self, config: RaftConfig, election: ElectionState, log: EpochIndex, draw: Draw
    ) -> None:
        """`election` and `log` as they were found on disk; `draw(n)` gives 0 to n-1."""
        self.config = config
        self.log = log
        self.election = election
        self.role = Role.UNATTACHED
        self.high_watermark: int | None = None
        self.leading: LeaderState | None = None
        self._draw = draw
        self._deadline_ms: float | None = None
        self._granted: dict[int, bool] = {}
        self._heard_from_leader = False
        self._tries = 0
        """Elections lost, and leaders found gone, since one was last heard of."""
        self._missing = False
        """The leader is gone, and the wait before the pre-vote runs."""
        self._durable = 0
        self._fetch_held: bool | None = None
        self._fetching: tuple[int, int] | None = None
        """The snapshot that is being fetched."""
        self._ready = m.Ready()

    @property
    def is_voter(self) -> bool:
        """Whether this node has a vote."""
        return self.config.node_id in self.config.voters

    @property
    def epoch(self) -> int:
        """The latest epoch this node knows."""
        return self.election.epoch

    @property
    def leader_id(self) -> int | None:
        """Who leads this epoch, as far as this node knows."""
        leader_id = self.election.leader_id
        has_resigned = leader_id == self.config.node_id and self.role is not Role.LEADER
        return None if has_resigned else leader_id

    def _finish(self) -> m.Ready:
        ready, self._ready = self._ready, m.Ready()
        ready.deadline_ms = self._next_deadline()
        return ready

    def _next_deadline(self) -> float | None:
        if self.leading is not None:
            return self.leading.majority_lost_ms(self.config.fetch_timeout_ms)
        return self._deadline_ms

    # --- roles ---------------------------------------------------------------------------------

    def _become(self, role: Role) -> None:
        check_transition(self.role, role, self.is_voter)
        self.role = role
        self.leading = None
        self._granted = {}
        self._heard_from_leader = False
        self._missing = False
        self._fetch_held = None
        self._fetching = None

    def _persist(self, election: ElectionState) -> None:
        assert election.epoch >= self.election.epoch, "an epoch never goes back"
        if election != self.election:
            self.election = election
            self._ready.persist = election

    def _tell_leader(self) -> None:
        self._ready.leader = m.Leader(self.leader_id, self.epoch)

    def _arm_election(self, now_ms: float) -> None:
        """Voters try after a time that differs between them; observers then look for a leader."""
        timeout = self.config.election_timeout_ms
        self._deadline_ms = now_ms + timeout + (self._draw(timeout) if self.is_voter else 0)

    def _arm_first_try(self, now_ms: float) -> None:
        """Nobody leads, as far as this voter can know: ask others soon, but not all at once."""
        limit = min(FIRST_TRY_MS << min(self._tries, 8), self.config.election_timeout_ms)
        deadline = now_ms + self._draw(limit)
        self._deadline_ms = (
            deadline if self._deadline_ms is None else min(self._deadline_ms, deadline)
        )

    def _miss_leader(self, now_ms: float) -> None:
        """The leader of this epoch is found gone: let others try (KIP-996), and try soon. In vain
        where others hear from it; then the next wait is longer."""
        self._heard_from_leader = False
        if not self._missing:
            self._missing = True
            self._arm_first_try(now_ms)
            self._tries += 1

    def _hear_leader(self, now_ms: float) -> None:
        """The leader answered."""
        self._deadline_ms = now_ms + self.config.fetch_timeout_ms
        self._heard_from_leader = True
        self._missing = False
        self._tries = 0

    def _become_unattached(self, epoch: int, now_ms: float) -> None:
        """A later epoch is known, but nobody who leads it."""
        told = self.election.leader_id is not None or self.role is Role.LEADER
        self._become(Role.UNATTACHED)
        self._persist(ElectionState(epoch))
        self._arm_election(now_ms)
        if told:
            self._tell_leader()
        if not self.is_voter:
            self._fetch()

    def _become_follower(self, epoch: int, leader_id: int, now_ms: float) -> None:
        self._become(Role.FOLLOWER)
        voted = self.election if self.election.epoch == epoch else ElectionState(epoch)
        self._persist(voted._replace(leader_id=leader_id))
        self._deadline_ms = now_ms + self.config.fetch_timeout_ms
        self._tell_leader()
        self._fetch()

    def _become_prospective(self, now_ms: float) -> None:
        self._become(Role.PROSPECTIVE)
        self._arm_election(now_ms)
        self._ask_for_votes(pre_vote=True, now_ms=now_ms)

    def _become_candidate(self, now_ms: float) -> None:
        self._become(Role.CANDIDATE)
        node_id = self.config.node_id
        self._persist(ElectionState(self.epoch + 1, None, node_id))
        self._arm_election(now_ms)
        self._ask_for_votes(pre_vote=False, now_ms=now_ms)

    def _ask_for_votes(self, pre_vote: bool, now_ms: float) -> None:
        node_id = self.config.node_id
        for voter in self.config.voters:
            if voter != node_id:
                self._ask_for_vote(voter, pre_vote)
        self._count_vote(node_id, True, now_ms)

    def _ask_for_vote(self, voter: int, pre_vote: bool) -> None:
        log = self.log
        vote = m.Vote(self.epoch, self.config.node_id, log.last_epoch, log.end_offset, pre_vote)
        self._ready.send.append(m.Send(voter, vote))

    def _count_vote(self, voter: int, granted: bool, now_ms: float) -> None:
        self._granted[voter] = granted
        majority = len(self.config.voters) // 2 + 1
        granting = [v for v, yes in self._granted.items() if yes]
        if len(granting) >= majority:
            if self.role is Role.PROSPECTIVE:
                self._become_candidate(now_ms)
            else:
                self._become_leader(tuple(sorted(granting)), now_ms)
        elif len(self._granted) - len(granting) > len(self.config.voters) - majority:
            self._lost_election(now_ms)

    def _lost_election(self, now_ms: float) -> None:
        """A majority said no. Wait before the next try: less than a time-out, and not all alike."""
        self._tries += 1
        if self.role is Role.PROSPECTIVE:
            if self._misses_leader():
                self._become_follower(self.epoch, self.election.leader_id or 0, now_ms)
                return
            self._become(Role.UNATTACHED)
        backoff = min(BACKOFF_BASE_MS << min(self._tries, 8), self.config.election_backoff_max_ms)
        self._deadline_ms = now_ms + BACKOFF_MIN_MS + self._draw(max(backoff, 1))

    def _misses_leader(self) -> bool:
        """Whether somebody else leads this epoch, as far as is known."""
        return self.election.leader_id not in (None, self.config.node_id)

    def _become_leader(self, granting: tuple[int, ...], now_ms: float) -> None:
        self._become(Role.LEADER)
        self._tries = 0
        node_id, epoch = self.config.node_id, self.epoch
        # The vote was for ourselves and the epoch cannot be led by another: the file needs the
        # leader only, as Kafka writes it.
        self._persist(ElectionState(epoch, node_id))
        start = self.log.end_offset
        self.leading = LeaderState(node_id, epoch, start, self.config.voters, now_ms)
        change = m.LeaderChange(node_id, tuple(sorted(self.config.voters)), granting)
        self._append(m.Append(epoch, start, start + 1, change))
        self._tell_leader()
        for voter in self.leading.unacknowledged():
            self._ready.send.append(m.Send(voter, m.BeginQuorumEpoch(epoch, node_id)))

    def _append(self, append: m.Append) -> None:
        self.log.append(append.epoch, append.base_offset, append.next_offset)
        self._ready.append.append(append)

    def _commit(self, high_watermark: int | None) -> None:
        if high_watermark is None:
            return
        if self.high_watermark is None or high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self._ready.high_watermark = high_watermark

    def _fetch(self, anybody: bool = False) -> None:
        """Ask for what follows. The offset asked for tells the leader what is durable here, so this
        waits for the fsync of what there is."""
        self._fetch_held = None
        if self._durable < self.log.end_offset:
            self._fetch_held = anybody
            return
        node_id = self.config.node_id
        target = self.election.leader_id
        if target is None or anybody:
            others = [voter for voter in self.config.voters if voter != node_id]
            if not others:
                return
            target = others[self._draw(len(others))]
        fetch = m.Fetch(self.epoch, node_id, self.log.end_offset, self.log.last_epoch)
        self._ready.send.append(m.Send(target, fetch))

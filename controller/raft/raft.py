"""Raft as Kafka does it: leaders are elected by votes, followers fetch. No I/O, no clock.

`step(event, now_ms)` returns a `Ready`, the caller's work. The duties of the caller are in
`controller.raft.raft_messages`, the roles and their transitions in `controller.raft.quorum_state`.

Owns: the effects of each event and message: the state that the node persists, its requests, its
waits. Never: reads or writes the log (`controller.raft.epoch_index` has what Raft needs of it).

Unlike in Kafka, a voter's first attempt follows within `FIRST_TRY_MS` if no leader is known, or if
the leader is gone. It is a pre-vote, which no node grants while it gets responses from a leader.

Follows KIP-595 (Raft by Fetch), KIP-630 (snapshots), KIP-996 (pre-vote), KAFKA-15489
(check-quorum), and Kafka's `KafkaRaftClient`, `QuorumState` and `EpochElection`. Raft: Ongaro and
Ousterhout, "In Search of an Understandable Consensus Algorithm".
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
"""The time within which a voter that knows no live leader asks for pre-votes."""
BACKOFF_MIN_MS = 50
BACKOFF_BASE_MS = 100
"""The wait after the n-th lost election in a row is up to this times 2^n."""


class RaftConfig(NamedTuple):
    """The members of the quorum, and its time-outs in milliseconds."""

    node_id: int
    voters: tuple[int, ...]
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000


class Raft:
    """The state machine of a voter or an observer of the quorum."""

    def __init__(
        self, config: RaftConfig, election: ElectionState, log: EpochIndex, draw: Draw
    ) -> None:
        """Start with `election` and `log` as read from disk; `draw(n)` returns 0 to n-1."""
        self.config = config
        self.log = log
        self.election = election
        self.role = Role.UNATTACHED
        self.high_watermark: int | None = None
        self.announced_high_watermark: int | None = None
        """The high watermark of the leader, which may be beyond this node's log."""
        self.leading: LeaderState | None = None
        self._draw = draw
        self._deadline_ms: float | None = None
        self._granted: dict[int, bool] = {}
        self._heard_from_leader = False
        self._tries = 0
        """The number of lost elections and failed leaders since the latest reply of a leader."""
        self._leader_is_gone = False
        """Whether the leader is gone, so that the wait before a pre-vote runs."""
        self._durable = 0
        self._fetch_held: bool | None = None
        self._fetching: tuple[int, int] | None = None
        """The snapshot that this node fetches, as (end offset, epoch)."""
        self._ready = m.Ready()
        self._handlers: dict[type, Callable[..., None]] = {
            m.Vote: self._on_vote,
            m.VoteReply: self._on_vote_reply,
            m.BeginQuorumEpoch: self._on_begin_epoch,
            m.EndQuorumEpoch: self._on_end_epoch,
            m.EpochReply: self._on_epoch_reply,
            m.Fetch: self._on_fetch,
            m.FetchReply: self._on_fetch_reply,
            m.FetchSnapshot: self._on_fetch_snapshot,
            m.SnapshotReply: self._on_snapshot_reply,
        }

    @property
    def is_voter(self) -> bool:
        """Whether this node is a voter."""
        return self.config.node_id in self.config.voters

    @property
    def epoch(self) -> int:
        """The latest epoch that this node knows."""
        return self.election.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader of this epoch as far as this node knows; None: not known, or it resigned."""
        leader_id = self.election.leader_id
        has_resigned = leader_id == self.config.node_id and self.role is not Role.LEADER
        return None if has_resigned else leader_id

    def start(self, now_ms: float) -> m.Ready:
        """Begin with the state on disk; return the caller's work. A sole voter elects itself."""
        leader_id = self.election.leader_id
        if leader_id == self.config.node_id:
            # No node leads an epoch twice: it has to be elected again, in a later epoch.
            self.role = Role.RESIGNED
        if self.config.voters == (self.config.node_id,):
            self._become_prospective(now_ms)
        elif leader_id is not None and self.role is not Role.RESIGNED:
            self.role = Role.FOLLOWER
            self._deadline_ms = now_ms + self.config.fetch_timeout_ms
            self._fetch()
        elif self.is_voter:
            self._arm_first_try(now_ms)
        else:
            self._deadline_ms = now_ms + self.config.fetch_timeout_ms
            self._fetch()
        return self._finish()

    def step(self, event: m.Event, now_ms: float) -> m.Ready:
        """Process `event`, and return the work of the caller."""
        if isinstance(event, m.Received):
            self._handlers[type(event.message)](event, event.message, now_ms)
        elif isinstance(event, m.Flushed):
            self._on_flushed(event.end_offset)
        elif isinstance(event, m.Propose):
            self._on_propose(event)
        elif isinstance(event, m.Tick):
            self._on_tick(now_ms)
        elif isinstance(event, m.Resign):
            self._on_resign(event, now_ms)
        elif isinstance(event, m.Unreachable):
            self._on_unreachable(event, now_ms)
        else:
            self._on_snapshot_event(event)
        return self._finish()

    def _finish(self) -> m.Ready:
        """Return the work collected since the last call, with the next deadline."""
        ready, self._ready = self._ready, m.Ready()
        ready.deadline_ms = self._next_deadline()
        return ready

    def _next_deadline(self) -> float | None:
        """Return when a Tick is due in monotonic ms, for a leader when it resigns; None: never."""
        if self.leading is not None:
            return self.leading.majority_lost_ms(self.config.fetch_timeout_ms)
        return self._deadline_ms

    def _on_tick(self, now_ms: float) -> None:
        """Resign, begin an election, or fetch again: a voter from a leader that other voters still
        reach, an observer from a random voter. Do nothing before the deadline."""
        deadline = self._next_deadline()
        if deadline is None or now_ms < deadline:
            return
        if self.role is Role.LEADER:
            self._step_down(now_ms)
        elif self.role is Role.PROSPECTIVE and self._has_other_leader():
            self._become_follower(self.epoch, self.election.leader_id or 0, now_ms)
        elif self.is_voter:
            self._become_prospective(now_ms)
        else:
            self._deadline_ms = now_ms + self.config.fetch_timeout_ms
            self._fetch(any_voter=True)

    def _on_propose(self, event: m.Propose) -> None:
        """Append the records that the leader proposes at the end of the log."""
        assert self.role is Role.LEADER and event.epoch == self.epoch, "only a leader proposes"
        start = self.log.end_offset
        self._append(m.Append(event.epoch, start, start + event.record_count, event.payload))

    def _on_flushed(self, end_offset: int) -> None:
        """Commit the records that a majority now has, and send a Fetch that waited for this."""
        if self.leading is not None and self.leading.flushed(end_offset):
            self._commit(self.leading.high_watermark)
        self._durable = max(self._durable, min(end_offset, self.log.end_offset))
        if self._fetch_held is not None:
            self._fetch(any_voter=self._fetch_held)

    def _on_resign(self, event: m.Resign, now_ms: float) -> None:
        """Resign if this node still leads that epoch."""
        if self.role is Role.LEADER and event.epoch == self.epoch:
            self._step_down(now_ms)

    def _step_down(self, now_ms: float) -> None:
        """Resign, and send EndQuorumEpoch to the other voters."""
        assert self.leading is not None
        successors = self.leading.successors()
        self._become(Role.RESIGNED)
        end = m.EndQuorumEpoch(self.epoch, self.config.node_id, successors)
        for voter in successors:
            self._ready.send.append(m.Send(voter, end))
        self._arm_election(now_ms)
        self._announce_leader()

    def _on_unreachable(self, event: m.Unreachable, now_ms: float) -> None:
        """Repeat the request, which the caller delays. Without its leader, a voter soon elects."""
        node = event.node
        if self.role is Role.FOLLOWER and node == self.election.leader_id:
            if self.is_voter and (event.refused or not self._heard_from_leader):
                self._note_leader_gone(now_ms)
            self._fetching = None
            self._fetch(any_voter=not self.is_voter)
        elif self.leading is not None:
            if node in self.leading.unacknowledged():
                begin = m.BeginQuorumEpoch(self.epoch, self.config.node_id)
                self._ready.send.append(m.Send(node, begin))
        elif self.role in (Role.PROSPECTIVE, Role.CANDIDATE):
            if node in self.config.voters and node not in self._granted:
                self._ask_for_vote(node, self.role is Role.PROSPECTIVE)
        elif not self.is_voter:
            self._fetch(any_voter=True)

    def _answer(self, event: m.Received, message: m.Message) -> None:
        """Add the reply to a request to the messages that the caller sends."""
        self._ready.send.append(m.SendReply(event.source, message, event.correlation))

    def _learn(
        self, epoch: int, leader_id: int | None, now_ms: float, from_leader: bool = False
    ) -> None:
        """Adopt a later epoch, or this epoch's leader; assert that there are not two. A prospective
        node follows the leader it knows again only if that leader sent the message."""
        if epoch < self.epoch or leader_id == self.config.node_id:
            return
        if epoch > self.epoch:
            if leader_id is None:
                self._become_unattached(epoch, now_ms)
            else:
                self._become_follower(epoch, leader_id, now_ms)
        elif leader_id is not None and self.role is not Role.FOLLOWER:
            known_leader = self.election.leader_id
            assert self.role is not Role.LEADER, f"two leaders in epoch {epoch}"
            assert known_leader in (None, leader_id), f"two leaders in epoch {epoch}"
            if known_leader is None or from_leader:
                self._become_follower(epoch, leader_id, now_ms)

    def _on_vote(self, event: m.Received, vote: m.Vote, now_ms: float) -> None:
        """Enter a later epoch; reply with this node's vote, which is persisted if no pre-vote."""
        if vote.epoch > self.epoch:
            self._become_unattached(vote.epoch, now_ms)
        granted = vote.epoch == self.epoch and self._would_grant(vote)
        if granted and not vote.pre_vote:
            self._give_vote(vote, now_ms)
        self._answer(event, m.VoteReply(self.epoch, self.leader_id, granted, vote.pre_vote))

    def _would_grant(self, vote: m.Vote) -> bool:
        """Return whether this node may vote for the candidate in the present epoch."""
        if not self.log.is_up_to_date(vote.last_epoch, vote.end_offset):
            return False
        if self.role is Role.FOLLOWER:
            # KIP-996: a follower grants a pre-vote only if this epoch's leader has not responded.
            return vote.pre_vote and not self._heard_from_leader
        if vote.pre_vote:
            return self.role in (Role.UNATTACHED, Role.PROSPECTIVE, Role.CANDIDATE, Role.RESIGNED)
        if self.role not in (Role.UNATTACHED, Role.PROSPECTIVE):
            return False
        if self.election.leader_id is not None:
            return False
        return self.election.voted_id in (None, vote.candidate_id)

    def _give_vote(self, vote: m.Vote, now_ms: float) -> None:
        """Persist the vote for the candidate, and restart the wait before an election."""
        if self.election.voted_id is None:
            self._become(Role.UNATTACHED)
            self._persist(ElectionState(self.epoch, None, vote.candidate_id))
        self._arm_election(now_ms)

    def _on_vote_reply(self, event: m.Received, reply: m.VoteReply, now_ms: float) -> None:
        """Adopt a later epoch, and count the vote if this node still asks for it."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        voting_role = Role.PROSPECTIVE if reply.pre_vote else Role.CANDIDATE
        if self.role is voting_role and reply.epoch == self.epoch:
            self._count_vote(event.source, reply.granted, now_ms)

    def _on_begin_epoch(self, event: m.Received, begin: m.BeginQuorumEpoch, now_ms: float) -> None:
        """Follow the leader of this or a later epoch; reply with this node's epoch and leader."""
        self._learn(begin.epoch, begin.leader_id, now_ms, from_leader=True)
        self._answer(event, m.EpochReply(self.epoch, self.leader_id))

    def _on_end_epoch(self, event: m.Received, end: m.EndQuorumEpoch, now_ms: float) -> None:
        """Set the next election, because the leader has resigned, and grant pre-votes (KIP-996).
        The wait grows with this node's place among the successors. Reply with epoch and leader."""
        self._learn(end.epoch, end.leader_id, now_ms)
        if self.role is Role.FOLLOWER and end.epoch == self.epoch and self.is_voter:
            self._heard_from_leader = False
            successors = (*end.successors, self.config.node_id)
            place = successors.index(self.config.node_id)
            self._deadline_ms = now_ms + place * self.config.election_backoff_max_ms // 2
        self._answer(event, m.EpochReply(self.epoch, self.leader_id))

    def _on_epoch_reply(self, event: m.Received, reply: m.EpochReply, now_ms: float) -> None:
        """Adopt the epoch and leader; mark the voter as reached if this node leads, else fetch."""
        was_following = self.role is Role.FOLLOWER
        self._learn(reply.epoch, reply.leader_id, now_ms)
        if self.leading is not None and reply.epoch == self.epoch:
            self.leading.acknowledged(event.source)
        elif was_following and self.role is Role.FOLLOWER and not self._ready.send:
            resigned = event.source == self.election.leader_id and reply.leader_id is None
            if self.is_voter and resigned and reply.epoch == self.epoch:
                self._note_leader_gone(now_ms)
            self._fetching = None
            self._fetch(any_voter=not self.is_voter)
        elif not self.is_voter and self.role is Role.UNATTACHED:
            self._fetch(any_voter=True)

    def _on_fetch(self, event: m.Received, fetch: m.Fetch, now_ms: float) -> None:
        """Reply with the offset to read from, the point of divergence or a snapshot to fetch. As in
        Kafka, a Fetch does not make this node follow a later epoch: any node may fetch."""
        if self.leading is None or fetch.epoch != self.epoch:
            self._answer(event, m.EpochReply(self.epoch, self.leader_id))
            return
        position = (fetch.offset, fetch.last_fetched_epoch)
        reply = m.FetchReply(self.epoch, self.config.node_id, self.high_watermark, position)
        if self.log.needs_snapshot(fetch.offset, fetch.last_fetched_epoch):
            reply = reply._replace(snapshot=self.log.snapshot)
        elif diverging := self.log.diverging(fetch.offset, fetch.last_fetched_epoch):
            reply = reply._replace(diverging=diverging)
        else:
            end = self.log.end_offset
            is_replica = fetch.replica_id >= 0
            if is_replica and self.leading.fetched(fetch.replica_id, fetch.offset, end, now_ms):
                self._commit(self.leading.high_watermark)
            reply = reply._replace(high_watermark=self.high_watermark, read_from=fetch.offset)
        self._answer(event, reply)

    def _on_fetch_reply(self, event: m.Received, reply: m.FetchReply, now_ms: float) -> None:
        """Append the batches and commit, truncate, or fetch a snapshot; then fetch again."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        if self.role is not Role.FOLLOWER or reply.epoch != self.epoch:
            return
        if reply.fetch_position != (self.log.end_offset, self.log.last_epoch):
            return
        self._note_leader_reply(now_ms)
        if reply.diverging is not None:
            cut = self.log.truncation_for(reply.diverging)
            committed = self.high_watermark or 0
            assert cut >= committed, f"cutting at {cut} would lose what is committed: {committed}"
            self.log.truncate(cut)
            self._durable = min(self._durable, cut)
            self._ready.truncate_to = cut
            self._fetch()
            return
        if reply.snapshot is not None:
            self._fetching = reply.snapshot
            self._fetch_part(reply.snapshot, 0)
            return
        for batch in reply.batches:
            self.log.append(batch.epoch, batch.base_offset, batch.next_offset)
        if reply.batches:
            first, last = reply.batches[0], reply.batches[-1]
            self._ready.append.append(
                m.Append(last.epoch, first.base_offset, last.next_offset, reply.records, True)
            )
        if reply.high_watermark is not None:
            self.announced_high_watermark = max(
                reply.high_watermark, self.announced_high_watermark or 0
            )
            self._commit(min(reply.high_watermark, self.log.end_offset))
        self._fetch()

    def _on_fetch_snapshot(self, event: m.Received, fetch: m.FetchSnapshot, now_ms: float) -> None:
        """Reply to a replica's FetchSnapshot; the caller adds the data if this node leads."""
        if self.leading is None or fetch.epoch != self.epoch:
            self._answer(event, m.EpochReply(self.epoch, self.leader_id))
            return
        self.leading.fetched_snapshot(fetch.replica_id, now_ms)
        node_id = self.config.node_id
        self._answer(event, m.SnapshotReply(self.epoch, node_id, fetch.snapshot, fetch.position))

    def _fetch_part(self, snapshot: tuple[int, int], position: int) -> None:
        """Request the part of `snapshot` at `position` from the leader."""
        leader_id = self.election.leader_id
        assert leader_id is not None, "a snapshot comes from a leader"
        fetch = m.FetchSnapshot(self.epoch, self.config.node_id, snapshot, position)
        self._ready.send.append(m.Send(leader_id, fetch))

    def _on_snapshot_reply(self, event: m.Received, reply: m.SnapshotReply, now_ms: float) -> None:
        """Pass the part to the caller, which writes it; fetch again if the snapshot is gone."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        if self.role is not Role.FOLLOWER or reply.epoch != self.epoch:
            return
        if reply.snapshot != self._fetching:
            return
        self._note_leader_reply(now_ms)
        if reply.data is None:
            self._fetching = None
            self._fetch()
            return
        self._ready.snapshot_part = m.SnapshotPart(
            reply.snapshot, reply.position, reply.size, reply.data
        )

    def _on_snapshot_event(
        self,
        event: m.SnapshotTaken | m.SnapshotWritten | m.SnapshotStored | m.SnapshotUnusable,
    ) -> None:
        """Request the next part of a fetched snapshot, load the stored snapshot, or fetch again
        after a failure. A snapshot that this node wrote moves the log's start."""
        if isinstance(event, m.SnapshotTaken):
            self.log.snapshot_taken(event.snapshot, event.start_offset)
            return
        if isinstance(event, m.SnapshotStored):
            self._load(event.snapshot)
        if event.snapshot != self._fetching:
            return
        if isinstance(event, m.SnapshotWritten):
            self._fetch_part(event.snapshot, event.position)
        else:
            self._fetching = None
            self._fetch()

    def _load(self, snapshot: tuple[int, int]) -> None:
        """Replace the log by a fetched snapshot, which is committed, even if another node leads
        now, unless the log has more. In a shorter log, a later epoch has committed nothing."""
        end_offset, epoch = snapshot
        is_ahead = self.log.end_offset >= end_offset and self.log.last_epoch >= epoch
        if is_ahead or end_offset <= (self.high_watermark or 0):
            return
        assert self.leading is None, "a leader has all that is committed"
        self.log.snapshot_loaded(snapshot)
        self._durable = end_offset
        self._fetch_held = None
        self._ready.load_snapshot = snapshot
        self._commit(end_offset)

    def _become(self, role: Role) -> None:
        """Change the role, and clear the state that belonged to the former role."""
        check_transition(self.role, role, self.is_voter)
        self.role = role
        self.leading = None
        self._granted = {}
        self._heard_from_leader = False
        self._leader_is_gone = False
        self._fetch_held = None
        self._fetching = None

    def _persist(self, election: ElectionState) -> None:
        """Set the election state. The caller persists a changed state before it sends anything."""
        assert election.epoch >= self.election.epoch, "an epoch never goes back"
        if election != self.election:
            self.election = election
            self._ready.persist = election

    def _announce_leader(self) -> None:
        """Add the present leader and epoch to the work of the caller, which passes them on."""
        self._ready.leader = m.Leader(self.leader_id, self.epoch)

    def _arm_election(self, now_ms: float) -> None:
        """Set the deadline after the election time-out and a random part, which observers omit."""
        timeout = self.config.election_timeout_ms
        self._deadline_ms = now_ms + timeout + (self._draw(timeout) if self.is_voter else 0)

    def _arm_first_try(self, now_ms: float) -> None:
        """Set the first election soon, at a random time, because no leader is known."""
        limit = min(FIRST_TRY_MS << min(self._tries, 8), self.config.election_timeout_ms)
        deadline = now_ms + self._draw(limit)
        self._deadline_ms = (
            deadline if self._deadline_ms is None else min(self._deadline_ms, deadline)
        )

    def _note_leader_gone(self, now_ms: float) -> None:
        """Grant pre-votes (KIP-996), and set an election soon, because the leader is gone. If other
        voters still reach the leader, the attempt fails and the next wait is longer."""
        self._heard_from_leader = False
        if not self._leader_is_gone:
            self._leader_is_gone = True
            self._arm_first_try(now_ms)
            self._tries += 1

    def _note_leader_reply(self, now_ms: float) -> None:
        """Restart the fetch time-out, and grant no pre-votes, because the leader replied."""
        self._deadline_ms = now_ms + self.config.fetch_timeout_ms
        self._heard_from_leader = True
        self._leader_is_gone = False
        self._tries = 0

    def _become_unattached(self, epoch: int, now_ms: float) -> None:
        """Enter a later epoch, of which no leader is known."""
        had_leader = self.election.leader_id is not None or self.role is Role.LEADER
        self._become(Role.UNATTACHED)
        self._persist(ElectionState(epoch))
        self._arm_election(now_ms)
        if had_leader:
            self._announce_leader()
        if not self.is_voter:
            self._fetch()

    def _become_follower(self, epoch: int, leader_id: int, now_ms: float) -> None:
        """Persist and announce the leader of `epoch`, and begin to fetch from it."""
        self._become(Role.FOLLOWER)
        voted = self.election if self.election.epoch == epoch else ElectionState(epoch)
        self._persist(voted._replace(leader_id=leader_id))
        self._deadline_ms = now_ms + self.config.fetch_timeout_ms
        self._announce_leader()
        self._fetch()

    def _become_prospective(self, now_ms: float) -> None:
        """Request pre-votes from the other voters, in the present epoch."""
        self._become(Role.PROSPECTIVE)
        self._arm_election(now_ms)
        self._ask_for_votes(pre_vote=True, now_ms=now_ms)

    def _become_candidate(self, now_ms: float) -> None:
        """Enter the next epoch, persist the vote for this node, and request the others' votes."""
        self._become(Role.CANDIDATE)
        node_id = self.config.node_id
        self._persist(ElectionState(self.epoch + 1, None, node_id))
        self._arm_election(now_ms)
        self._ask_for_votes(pre_vote=False, now_ms=now_ms)

    def _ask_for_votes(self, pre_vote: bool, now_ms: float) -> None:
        """Request a vote or pre-vote from each other voter, and count this node's own."""
        node_id = self.config.node_id
        for voter in self.config.voters:
            if voter != node_id:
                self._ask_for_vote(voter, pre_vote)
        self._count_vote(node_id, True, now_ms)

    def _ask_for_vote(self, voter: int, pre_vote: bool) -> None:
        """Request a vote or pre-vote from `voter`, with the end of this node's log."""
        log = self.log
        vote = m.Vote(self.epoch, self.config.node_id, log.last_epoch, log.end_offset, pre_vote)
        self._ready.send.append(m.Send(voter, vote))

    def _count_vote(self, voter: int, granted: bool, now_ms: float) -> None:
        """Count a vote. Enter the next role with a majority; without the chance of it, back off."""
        self._granted[voter] = granted
        majority = len(self.config.voters) // 2 + 1
        granting = [v for v, is_granted in self._granted.items() if is_granted]
        if len(granting) >= majority:
            if self.role is Role.PROSPECTIVE:
                self._become_candidate(now_ms)
            else:
                self._become_leader(tuple(sorted(granting)), now_ms)
        elif len(self._granted) - len(granting) > len(self.config.voters) - majority:
            self._lost_election(now_ms)

    def _lost_election(self, now_ms: float) -> None:
        """Set the next attempt after a random time that grows, or follow the known leader."""
        self._tries += 1
        if self.role is Role.PROSPECTIVE:
            if self._has_other_leader():
                self._become_follower(self.epoch, self.election.leader_id or 0, now_ms)
                return
            self._become(Role.UNATTACHED)
        backoff = min(BACKOFF_BASE_MS << min(self._tries, 8), self.config.election_backoff_max_ms)
        self._deadline_ms = now_ms + BACKOFF_MIN_MS + self._draw(max(backoff, 1))

    def _has_other_leader(self) -> bool:
        """Return whether another node leads this epoch, as far as this node knows."""
        return self.election.leader_id not in (None, self.config.node_id)

    def _become_leader(self, granting: tuple[int, ...], now_ms: float) -> None:
        """Persist the leadership, append LeaderChange, and announce it to listeners and voters."""
        self._become(Role.LEADER)
        self._tries = 0
        node_id, epoch = self.config.node_id, self.epoch
        # No other node can lead the epoch, so the file needs only the leader, as Kafka writes it.
        self._persist(ElectionState(epoch, node_id))
        start = self.log.end_offset
        self.leading = LeaderState(node_id, epoch, start, self.config.voters, now_ms)
        change = m.LeaderChange(node_id, tuple(sorted(self.config.voters)), granting)
        self._append(m.Append(epoch, start, start + 1, change))
        self._announce_leader()
        for voter in self.leading.unacknowledged():
            self._ready.send.append(m.Send(voter, m.BeginQuorumEpoch(epoch, node_id)))

    def _append(self, append: m.Append) -> None:
        self.log.append(append.epoch, append.base_offset, append.next_offset)
        self._ready.append.append(append)

    def _commit(self, high_watermark: int | None) -> None:
        """Raise the high watermark, and that of the Ready; a lower value or None does nothing."""
        if high_watermark is None:
            return
        if self.leading is not None:
            self.announced_high_watermark = high_watermark
        if self.high_watermark is None or high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self._ready.high_watermark = high_watermark

    def _fetch(self, any_voter: bool = False) -> None:
        """Request the next records from the leader, or with `any_voter` from a random voter. The
        offset shows how much is durable on this node, so a Fetch waits until the present log is
        fsynced."""
        self._fetch_held = None
        if self._durable < self.log.end_offset:
            self._fetch_held = any_voter
            return
        node_id = self.config.node_id
        target = self.election.leader_id
        if target is None or any_voter:
            others = [voter for voter in self.config.voters if voter != node_id]
            if not others:
                return
            target = others[self._draw(len(others))]
        fetch = m.Fetch(self.epoch, node_id, self.log.end_offset, self.log.last_epoch)
        self._ready.send.append(m.Send(target, fetch))

"""Raft as Kafka does it: leaders are elected by votes, followers fetch. No I/O, no clock.

`step(event, now_ms)` returns a `Ready`, the caller's work. The duties of the caller are in
`controller.raft.raft_messages`, the roles and their transitions in `controller.raft.quorum_state`.

Owns: the effects of each event and message: the state that the node persists, its requests, its
waits. What a leader does is in `controller.raft.leading`. Never: reads or writes the log
(`controller.raft.log_view` has what Raft needs of it).

The voters may change (KIP-853), and a node counts by the latest set in its log. So a node grants
its vote to any candidate, and follows any leader: they may be voters that it does not know of yet.

Unlike in Kafka, a voter's first attempt follows within `FIRST_TRY_MS` if no leader is known, or if
the leader is gone. It is a pre-vote, which no node grants while it gets responses from a leader.

Follows KIP-595 (Raft by Fetch), KIP-630 (snapshots), KIP-853 (voters in the log), KIP-996
(pre-vote), KAFKA-15489 (check-quorum), and Kafka's `KafkaRaftClient`, `QuorumState` and
`EpochElection`. Raft: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm".
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from controller.raft import raft_messages as m
from controller.raft.election import Election, lost_wait_ms, may_vote
from controller.raft.leading import Leading, Outbox
from controller.raft.log_view import LogView
from controller.raft.quorum_state import ElectionState, Role, check_transition
from controller.raft.raft_config import RaftConfig
from controller.raft.voter_changes import requested_epoch_fault
from controller.raft.voter_updates import VoterUpdates
from protocol.errors import ApiError, ErrorCode

Draw = Callable[[int], int]
SNAPSHOT_EVENTS = (m.SnapshotWritten, m.SnapshotStored, m.SnapshotUnusable)

FIRST_TRY_MS = 150
"""The time within which a voter that knows no live leader asks for pre-votes."""


class Raft:
    """The state machine of a voter or an observer of the quorum."""

    def __init__(
        self, config: RaftConfig, election: ElectionState, log: LogView, draw: Draw
    ) -> None:
        """Start with `election` and `log` as read from disk; `draw(n)` returns 0 to n-1."""
        self.config = config
        self.log, self.voters = log, log.voters
        self.election = election
        self.role = Role.UNATTACHED
        self.high_watermark: int | None = None
        self.announced_high_watermark: int | None = None
        """The high watermark of the leader, which may be beyond this node's log."""
        self.leading: Leading | None = None
        self._draw = draw
        self._deadline_ms: float | None = None
        self._attempt = Election()
        self._updates = VoterUpdates(config.key, config.own, config.joins, log.voters)
        self._heard_from_leader = False
        self._tries = 0
        """The number of lost elections and failed leaders since the latest reply of a leader."""
        self._leader_is_gone = False
        """Whether the leader is gone, so that the wait before a pre-vote runs."""
        self._fetch_held: bool | None = None
        self._fetching: tuple[int, int] | None = None
        """The snapshot that this node fetches, as (end offset, epoch)."""
        self._outbox = Outbox()
        self._handlers: dict[type, Callable[..., None]] = {
            m.Vote: self._on_vote,
            m.VoteReply: self._on_vote_reply,
            m.BeginQuorumEpoch: self._on_begin_epoch,
            m.EndQuorumEpoch: self._on_end_epoch,
            m.EpochReply: self._on_epoch_reply,
            m.FetchReply: self._on_fetch_reply,
            **dict.fromkeys((m.Fetch, m.FetchSnapshot), self._on_replica_request),
            m.SnapshotReply: self._on_snapshot_reply,
            **dict.fromkeys((m.AddVoter, m.RemoveVoter, m.UpdateVoter), self._on_voter_request),
            m.VoterReply: self._on_voter_reply,
            m.Versions: self._on_versions,
        }
        self._happenings: dict[type, Callable[..., None]] = {
            m.Flushed: self._on_flushed,
            m.Propose: self._on_propose,
            m.Tick: self._on_tick,
            m.Resign: self._on_resign,
            m.Unreachable: self._on_unreachable,
            m.UpgradeKraftVersion: self._on_upgrade,
            m.SnapshotTaken: self._on_snapshot_taken,
            **dict.fromkeys(SNAPSHOT_EVENTS, self._on_snapshot_event),
        }

    @property
    def is_voter(self) -> bool:
        """Whether this node is a voter, or may have to lead although it is none any more."""
        return self.voters.may_stand(self.config.key, self.high_watermark)

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

    @property
    def known_leader_id(self) -> int:
        """The leader that this follower has."""
        assert self.election.leader_id is not None, "a follower has a leader"
        return self.election.leader_id

    def start(self, now_ms: float) -> m.Ready:
        """Begin with the state on disk; return the caller's work. A sole voter elects itself."""
        leader_id = self.election.leader_id
        if leader_id == self.config.node_id:
            # No node leads an epoch twice: it has to be elected again, in a later epoch.
            self.role = Role.RESIGNED
        if self.voters.latest.is_only(self.config.key):
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
        else:
            self._happenings[type(event)](event, now_ms)
        if self.leading is not None:
            self._commit(self.leading.high_watermark)
            if self.leading.resigns:
                self._step_down(now_ms)
        return self._finish()

    def _finish(self) -> m.Ready:
        """Return the work collected since the last call, with the next deadline."""
        ready = self._outbox.take()
        ready.deadline_ms = self._next_deadline()
        return ready

    def _next_deadline(self) -> float | None:
        """Return when a Tick is due in monotonic ms; None: never."""
        if self.leading is not None:
            return self.leading.deadline_ms
        update_ms = self._updates.deadline_ms if self.role is Role.FOLLOWER else None
        times = (self._deadline_ms, update_ms)
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def _on_tick(self, _event: m.Tick, now_ms: float) -> None:
        """Resign, begin an election, or fetch again: a voter from a leader that other voters still
        reach, an observer from a random voter. Do nothing before the deadline."""
        if self.leading is not None:
            self.leading.tick(now_ms)
            return
        if self.role is Role.FOLLOWER:
            self._update_voters(now_ms)
        if self._deadline_ms is None or now_ms < self._deadline_ms:
            return
        if self.role is Role.PROSPECTIVE and self._has_other_leader():
            self._become_follower(self.epoch, self.election.leader_id or 0, now_ms)
        elif self.is_voter:
            self._become_prospective(now_ms)
        else:
            self._deadline_ms = now_ms + self.config.fetch_timeout_ms
            self._fetch(any_voter=True)

    def _on_propose(self, event: m.Propose, _now_ms: float) -> None:
        """Append the records that the leader proposes at the end of the log."""
        assert self.leading is not None and event.epoch == self.epoch, "only a leader proposes"
        self.leading.propose(event)

    def _on_flushed(self, event: m.Flushed, now_ms: float) -> None:
        """Commit the records that a majority now has, and send a Fetch that waited for this."""
        if self.leading is not None:
            self.leading.flushed(event.end_offset, now_ms)
        self.log.flushed(event.end_offset)
        if self._fetch_held is not None:
            self._fetch(any_voter=self._fetch_held)

    def _on_resign(self, event: m.Resign, now_ms: float) -> None:
        """Resign if this node still leads that epoch."""
        if self.role is Role.LEADER and event.epoch == self.epoch:
            self._step_down(now_ms)

    def _step_down(self, now_ms: float) -> None:
        """Resign, and send EndQuorumEpoch to the other voters."""
        assert self.leading is not None
        self.leading.ended(now_ms)
        successors = self.leading.state.successors()
        self._become(Role.RESIGNED)
        end = m.EndQuorumEpoch(self.epoch, self.config.node_id, successors)
        for voter in successors:
            self._outbox.send(voter, end)
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
            self.leading.unreachable(event, now_ms)
        elif self.role in (Role.PROSPECTIVE, Role.CANDIDATE):
            if node in self.voters.latest.ids and not self._attempt.has_answer_of(node):
                self._ask_for_vote(node, self.role is Role.PROSPECTIVE)
        elif not self.is_voter:
            self._fetch(any_voter=True)

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
        self._outbox.answer(event, m.VoteReply(self.epoch, self.leader_id, granted, vote.pre_vote))

    def _would_grant(self, vote: m.Vote) -> bool:
        """Return whether this node may vote for the candidate in the present epoch."""
        is_recent = self.log.epochs.is_up_to_date(vote.last_epoch, vote.end_offset)
        return is_recent and may_vote(self.role, self.election, vote, self._heard_from_leader)

    def _give_vote(self, vote: m.Vote, now_ms: float) -> None:
        """Persist the vote for the candidate, and restart the wait before an election."""
        if self.election.voted_id is None:
            self._become(Role.UNATTACHED)
            self._persist(ElectionState(self.epoch, None, *vote.candidate))
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
        self._outbox.answer(event, m.EpochReply(self.epoch, self.leader_id))

    def _on_end_epoch(self, event: m.Received, end: m.EndQuorumEpoch, now_ms: float) -> None:
        """Set the next election, because the leader has resigned, and grant pre-votes (KIP-996).
        The wait grows with this node's place among the successors. Reply with epoch and leader."""
        self._learn(end.epoch, end.leader_id, now_ms)
        if self.role is Role.FOLLOWER and end.epoch == self.epoch and self.is_voter:
            self._heard_from_leader = False
            successors = (*end.successors, self.config.node_id)
            place = successors.index(self.config.node_id)
            self._deadline_ms = now_ms + place * self.config.election_backoff_max_ms // 2
        self._outbox.answer(event, m.EpochReply(self.epoch, self.leader_id))

    def _on_epoch_reply(self, event: m.Received, reply: m.EpochReply, now_ms: float) -> None:
        """Adopt the epoch and leader; mark the voter as reached if this node leads, else fetch."""
        was_following = self.role is Role.FOLLOWER
        self._learn(reply.epoch, reply.leader_id, now_ms)
        if self.leading is not None and reply.epoch == self.epoch:
            self.leading.state.acknowledged(event.source)
        elif was_following and self.role is Role.FOLLOWER and not self._outbox.ready.send:
            resigned = event.source == self.election.leader_id and reply.leader_id is None
            if self.is_voter and resigned and reply.epoch == self.epoch:
                self._note_leader_gone(now_ms)
            self._fetching = None
            self._fetch(any_voter=not self.is_voter)
        elif not self.is_voter and self.role in (Role.UNATTACHED, Role.RESIGNED):
            self._fetch(any_voter=True)

    def _on_replica_request(
        self, event: m.Received, message: m.Fetch | m.FetchSnapshot, now_ms: float
    ) -> None:
        """Let a leader reply to a Fetch or FetchSnapshot. As in Kafka, a Fetch does not make this
        node follow a later epoch: any node may fetch."""
        if self.leading is None or message.epoch != self.epoch:
            self._outbox.answer(event, m.EpochReply(self.epoch, self.leader_id))
        elif isinstance(message, m.Fetch):
            self.leading.fetch(event, message, self.high_watermark, now_ms)
        else:
            self.leading.fetch_snapshot(event, message, now_ms)

    def _on_fetch_reply(self, event: m.Received, reply: m.FetchReply, now_ms: float) -> None:
        """Append the batches and commit, truncate, or fetch a snapshot; then fetch again."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        if self.role is not Role.FOLLOWER or reply.epoch != self.epoch:
            return
        if reply.fetch_position != (self.log.end_offset, self.log.last_epoch):
            return
        self._note_leader_reply(now_ms)
        if reply.diverging is not None:
            self._outbox.ready.truncate_to = self.log.cut(reply.diverging, self.high_watermark)
            self._fetch()
            return
        if reply.snapshot is not None:
            self._fetching = reply.snapshot
            self._fetch_part(reply.snapshot, 0)
            return
        if reply.batches:
            self._outbox.ready.append.append(self.log.append_fetched(reply))
        if reply.high_watermark is not None:
            self.announced_high_watermark = max(
                reply.high_watermark, self.announced_high_watermark or 0
            )
            self._commit(min(reply.high_watermark, self.log.end_offset))
        self._fetch()

    def _fetch_part(self, snapshot: tuple[int, int], position: int) -> None:
        """Request the part of `snapshot` at `position` from the leader."""
        fetch = m.FetchSnapshot(self.epoch, self.config.key, snapshot, position)
        self._outbox.send(self.known_leader_id, fetch)

    def _on_snapshot_reply(self, event: m.Received, reply: m.SnapshotReply, now_ms: float) -> None:
        """Pass the part to the caller, which writes it; fetch again if the snapshot is gone."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        is_follower = self.role is Role.FOLLOWER and reply.epoch == self.epoch
        if not is_follower or reply.snapshot != self._fetching:
            return
        self._note_leader_reply(now_ms)
        if reply.data is None:
            self._fetching = None
            self._fetch()
            return
        self._outbox.ready.snapshot_part = m.SnapshotPart(
            reply.snapshot, reply.position, reply.size, reply.data
        )

    def _on_snapshot_taken(self, event: m.SnapshotTaken, _now_ms: float) -> None:
        """Move the log's start to that of a snapshot that this node wrote."""
        self.log.snapshot_taken(event.snapshot, event.start_offset)

    def _on_snapshot_event(
        self, event: m.SnapshotWritten | m.SnapshotStored | m.SnapshotUnusable, now_ms: float
    ) -> None:
        """Request the next part of a fetched snapshot, load the stored snapshot, or fetch again
        after a failure."""
        if isinstance(event, m.SnapshotStored):
            self._load(event, now_ms)
        if event.snapshot != self._fetching:
            return
        if isinstance(event, m.SnapshotWritten):
            self._fetch_part(event.snapshot, event.position)
        else:
            self._fetching = None
            self._fetch()

    def _load(self, stored: m.SnapshotStored, now_ms: float) -> None:
        """Replace the log by a fetched snapshot, which is committed, even if another node leads
        now, unless the log has more. In a shorter log, a later epoch has committed nothing."""
        end_offset = stored.snapshot[0]
        if self.log.is_ahead_of(stored.snapshot) or end_offset <= (self.high_watermark or 0):
            return
        assert self.leading is None, "a leader has all that is committed"
        self.log.snapshot_loaded(stored.snapshot, stored.control)
        self._fetch_held = None
        self._outbox.ready.load_snapshot = stored.snapshot
        self._commit(end_offset)
        if self.role in (Role.PROSPECTIVE, Role.CANDIDATE) and not self.is_voter:
            self._become(Role.UNATTACHED)
            self._arm_election(now_ms)
            self._fetch(any_voter=True)

    def _on_voter_request(
        self, event: m.Received, message: m.AddVoter | m.RemoveVoter | m.UpdateVoter, now_ms: float
    ) -> None:
        """Let a leader change the voters; reply with an error if this node does not lead."""
        code = requested_epoch_fault(message, self.epoch)
        if code is ErrorCode.NONE and self.leading is not None:
            self.leading.change_voters(event, message, now_ms)
            return
        error = code or ErrorCode.NOT_LEADER_OR_FOLLOWER
        self._outbox.answer(event, m.VoterReply(error, None, self.epoch, self.leader_id))

    def _on_versions(self, event: m.Received, message: m.Versions, now_ms: float) -> None:
        """Let a leader go on to add the voter that has told its levels of `kraft.version`."""
        if self.leading is not None:
            self.leading.versions(event, message, now_ms)

    def _on_upgrade(self, event: m.UpgradeKraftVersion, now_ms: float) -> None:
        """Raise `kraft.version`, if this node still leads the epoch."""
        if self.leading is not None and event.epoch == self.epoch:
            self.leading.upgrade(event.level, now_ms)

    def upgrade_fault(self, level: int) -> ApiError | None:
        """Return why this node cannot raise `kraft.version` to `level`; None if it can."""
        if self.leading is None:
            return ApiError(ErrorCode.NOT_CONTROLLER)
        return self.leading.changes.upgrade_fault(level)

    def _update_voters(self, now_ms: float) -> None:
        """Ask the leader to add or update this node among the voters, if that is due."""
        if self._updates.deadline_ms is None or now_ms < self._updates.deadline_ms:
            return
        message = self._updates.needed(self.epoch)
        if message is not None:
            self._outbox.send(self.known_leader_id, message)
        self._updates.restart(now_ms + self.config.fetch_timeout_ms)

    def _on_voter_reply(self, event: m.Received, reply: m.VoterReply, now_ms: float) -> None:
        """Adopt a later epoch, and note whether the leader knows this voter now."""
        self._learn(reply.epoch, reply.leader_id, now_ms)
        self._updates.answered(reply.error)

    def _become(self, role: Role) -> None:
        """Change the role, and clear the state that belonged to the former role."""
        check_transition(self.role, role, self.is_voter)
        self.role = role
        self.leading = None
        self._attempt = Election()
        self._heard_from_leader = False
        self._leader_is_gone = False
        self._fetch_held = None
        self._fetching = None

    def _persist(self, election: ElectionState) -> None:
        """Set the election state. The caller persists a changed state before it sends anything."""
        assert election.epoch >= self.election.epoch, "an epoch never goes back"
        if election != self.election:
            self.election = election
            self._outbox.ready.persist = election

    def _announce_leader(self) -> None:
        """Add the present leader and epoch to the work of the caller, which passes them on."""
        self._outbox.ready.leader = m.Leader(self.leader_id, self.epoch)

    def _arm_election(self, now_ms: float) -> None:
        """Set the deadline after the election time-out and a random part, which observers omit."""
        timeout = self.config.election_timeout_ms
        self._deadline_ms = now_ms + timeout + (self._draw(timeout) if self.is_voter else 0)

    def _arm_first_try(self, now_ms: float) -> None:
        """Set the first election soon, at a random time, because no leader is known."""
        limit = min(FIRST_TRY_MS << min(self._tries, 8), self.config.election_timeout_ms)
        self._deadline_ms = min(now_ms + self._draw(limit), self._deadline_ms or inf)

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
        self._updates.leader_changed(now_ms + self.config.fetch_timeout_ms)
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
        self._persist(ElectionState(self.epoch + 1, None, *self.config.key))
        self._arm_election(now_ms)
        self._ask_for_votes(pre_vote=False, now_ms=now_ms)

    def _ask_for_votes(self, pre_vote: bool, now_ms: float) -> None:
        """Request a vote or pre-vote from each other voter, and count this node's own."""
        node_id = self.config.node_id
        for voter in self.voters.latest.ids:
            if voter != node_id:
                self._ask_for_vote(voter, pre_vote)
        self._count_vote(node_id, True, now_ms)

    def _ask_for_vote(self, voter: int, pre_vote: bool) -> None:
        """Request a vote or pre-vote from `voter`, with the end of this node's log."""
        log = self.log
        vote = m.Vote(self.epoch, self.config.key, log.last_epoch, log.end_offset, pre_vote)
        self._outbox.send(voter, vote)

    def _count_vote(self, voter: int, granted: bool, now_ms: float) -> None:
        """Count a vote. Enter the next role with a majority; without the chance of it, back off."""
        self._attempt.answered(voter, granted)
        if self._attempt.is_won(self.voters.latest):
            if self.role is Role.PROSPECTIVE:
                self._become_candidate(now_ms)
            else:
                self._become_leader(self._attempt.granting(self.voters.latest), now_ms)
        elif self._attempt.is_lost(self.voters.latest):
            self._lost_election(now_ms)

    def _lost_election(self, now_ms: float) -> None:
        """Set the next attempt after a random time that grows, or follow the known leader."""
        self._tries += 1
        if self.role is Role.PROSPECTIVE:
            if self._has_other_leader():
                self._become_follower(self.epoch, self.election.leader_id or 0, now_ms)
                return
            self._become(Role.UNATTACHED)
            if self.voters.is_dynamic:
                self._fetch(any_voter=True)  # the voters may have changed, and elected a leader
        backoff_ms = lost_wait_ms(self._tries, self.config.election_backoff_max_ms, self._draw)
        self._deadline_ms = now_ms + backoff_ms

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
        self.leading = Leading(self.config, epoch, self.log, self._outbox, granting, now_ms)
        self._announce_leader()
        self.leading.announce()

    def _commit(self, high_watermark: int | None) -> None:
        """Raise the high watermark, and that of the Ready; a lower value or None does nothing."""
        if high_watermark is None:
            return
        if self.leading is not None:
            self.announced_high_watermark = high_watermark
        if self.high_watermark is None or high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self._outbox.ready.high_watermark = high_watermark

    def _fetch(self, any_voter: bool = False) -> None:
        """Request the next records from the leader, or with `any_voter` from a random voter. The
        offset shows how much is durable on this node, so a Fetch waits until the present log is
        fsynced."""
        self._fetch_held = None
        if not self.log.is_durable:
            self._fetch_held = any_voter
            return
        node_id = self.config.node_id
        target = self.election.leader_id
        if target in (None, node_id) or any_voter:
            others = [voter for voter in self.voters.latest.ids if voter != node_id]
            others += self.config.bootstrap
            if not others:
                return
            target = others[self._draw(len(others))]
        fetch = m.Fetch(self.epoch, self.config.key, self.log.end_offset, self.log.last_epoch)
        self._outbox.send(target, fetch)

"""The leader of the quorum: it appends, answers fetches, commits, and changes the voters.

Owns: the state of the other nodes (`leader_state`) and the change of the voters that waits
(`voter_changes`), for one epoch. What it sends and appends goes into the Ready of the present step.
Never: becomes leader, and never ceases to be (`controller.raft.raft`).

Follows Kafka's `LeaderState` and `KafkaRaftClient`.
"""

from __future__ import annotations

from controller.raft import raft_messages as m
from controller.raft.leader_state import LeaderState
from controller.raft.log_view import LogView
from controller.raft.quorum_voters import BEFORE_THE_LOG, VoterRecord
from controller.raft.raft_config import RaftConfig
from controller.raft.voter_changes import Change, VoterChanges


class Outbox:
    """The Ready of the present step, which all parts of a Raft fill."""

    def __init__(self) -> None:
        self.ready = m.Ready()

    def take(self) -> m.Ready:
        """Return the Ready, and begin another."""
        ready, self.ready = self.ready, m.Ready()
        return ready

    def send(self, to: int, message: m.Message) -> None:
        """Add a request to another node."""
        self.ready.send.append(m.Send(to, message))

    def answer(self, event: m.Received, message: m.Message) -> None:
        """Add the reply to a request."""
        self.ready.send.append(m.SendReply(event.source, message, event.correlation))


class Leading:
    """The leadership of one epoch. After each step, `high_watermark` and `resigns` say what became
    of it."""

    def __init__(
        self,
        config: RaftConfig,
        epoch: int,
        log: LogView,
        outbox: Outbox,
        granting: tuple[int, ...],
        now_ms: float,
    ) -> None:
        """Append the LeaderChange record, and announce the leadership to the voters. `granting` has
        the voters that voted for this node."""
        self.epoch = epoch
        self.resigns = False
        """Whether this node has to resign now."""
        self._config = config
        self._log = log
        self._outbox = outbox
        voters = log.voters.latest
        self.state = LeaderState(config.key, epoch, log.end_offset, voters, now_ms)
        self.changes = VoterChanges(self.state, log.voters, config.own, config.request_timeout_ms)
        self._append_leader_change(granting, now_ms)

    def announce(self) -> None:
        """Send BeginQuorumEpoch to the voters that may not know of this leader."""
        for voter in self.state.unacknowledged():
            self._outbox.send(voter, m.BeginQuorumEpoch(self.epoch, self._config.node_id))

    @property
    def high_watermark(self) -> int | None:
        """The offset before which all is committed; None until a record of this epoch is."""
        return self.state.high_watermark

    @property
    def deadline_ms(self) -> float | None:
        """When `tick` is due, in monotonic milliseconds; None: never."""
        majority_lost_ms = self.state.majority_lost_ms(self._config.fetch_timeout_ms)
        times = (majority_lost_ms, self.changes.deadline_ms)
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def tick(self, now_ms: float) -> None:
        """Give up a change of the voters whose time is over. Resign without a majority."""
        self._do(self.changes.expired(now_ms), now_ms)
        majority_lost_ms = self.state.majority_lost_ms(self._config.fetch_timeout_ms)
        if majority_lost_ms is not None and now_ms >= majority_lost_ms:
            self.resigns = True

    def ended(self, now_ms: float) -> None:
        """Answer the request for a change that waits, because this node leads no more."""
        self._do(self.changes.leadership_ended(), now_ms)

    # --- the log -------------------------------------------------------------------------------

    def _append_leader_change(self, granting: tuple[int, ...], now_ms: float) -> None:
        """Append the first record of an epoch. In a dynamic quorum, the voters follow if the log
        has none yet, or has other endpoints of this node."""
        voters, own = self._log.voters, self._config.own
        change: m.VotersChange | None = None
        if voters.is_dynamic:
            described = voters.latest
            if own is not None and own.key in described:
                described = described.with_voter(own)
            if described != voters.latest or voters.latest_offset == BEFORE_THE_LOG:
                change = m.VotersChange(described, voters.kraft_version)
        start = self._log.end_offset
        records = () if change is None else voter_records(start + 1, change)
        payload = m.LeaderChange(self._config.node_id, voters.latest.ids, granting, change)
        self._append(m.Append(self.epoch, start, start + 1 + len(records), payload), records)
        if change is not None:
            self.state.change_voters(change.voters, now_ms)

    def _append(self, append: m.Append, records: tuple[VoterRecord, ...] = ()) -> None:
        """Append records of this leader; `records` are those that change the voters."""
        self._log.append(append.epoch, append.base_offset, append.next_offset, records)
        self._outbox.ready.append.append(append)

    def propose(self, event: m.Propose) -> None:
        """Append the records that the leader proposes at the end of the log."""
        start = self._log.end_offset
        self._append(m.Append(event.epoch, start, start + event.record_count, event.payload))

    def flushed(self, end_offset: int, now_ms: float) -> None:
        """Count the records that are durable on this node."""
        if self.state.flushed(end_offset):
            self._committed(now_ms)

    def _committed(self, now_ms: float) -> None:
        """End the change of the voters that is committed now."""
        assert self.state.high_watermark is not None
        self._do(self.changes.committed(self.state.high_watermark), now_ms)

    # --- replicas ------------------------------------------------------------------------------

    def fetch(
        self, event: m.Received, fetch: m.Fetch, high_watermark: int | None, now_ms: float
    ) -> None:
        """Reply with the offset to read from, the point of divergence or a snapshot to fetch."""
        epochs = self._log.epochs
        position = (fetch.offset, fetch.last_fetched_epoch)
        reply = m.FetchReply(self.epoch, self._config.node_id, high_watermark, position)
        if epochs.needs_snapshot(*position):
            reply = reply._replace(snapshot=epochs.snapshot)
        elif diverging := epochs.diverging(*position):
            reply = reply._replace(diverging=diverging)
        else:
            end = self._log.end_offset
            is_replica = fetch.replica.id >= 0
            if is_replica and self.state.fetched(fetch.replica, fetch.offset, end, now_ms):
                self._committed(now_ms)
                high_watermark = max(high_watermark or 0, self.state.high_watermark or 0)
            reply = reply._replace(high_watermark=high_watermark, read_from=fetch.offset)
        self._outbox.answer(event, reply)

    def fetch_snapshot(self, event: m.Received, fetch: m.FetchSnapshot, now_ms: float) -> None:
        """Reply to a FetchSnapshot; the caller adds the data."""
        self.state.fetched_snapshot(fetch.replica, now_ms)
        reply = m.SnapshotReply(self.epoch, self._config.node_id, fetch.snapshot, fetch.position)
        self._outbox.answer(event, reply)

    def unreachable(self, event: m.Unreachable, now_ms: float) -> None:
        """Repeat BeginQuorumEpoch, or give up adding a voter."""
        if event.asked is not None:
            self._do(self.changes.versions_received(event.node, None, now_ms), now_ms)
        elif event.node in self.state.unacknowledged():
            self._outbox.send(event.node, m.BeginQuorumEpoch(self.epoch, self._config.node_id))

    # --- changes of the voters -----------------------------------------------------------------

    def change_voters(
        self, event: m.Received, message: m.AddVoter | m.RemoveVoter | m.UpdateVoter, now_ms: float
    ) -> None:
        """Begin a change of the voters."""
        if isinstance(message, m.AddVoter):
            change = self.changes.add(event, message, now_ms)
        elif isinstance(message, m.RemoveVoter):
            change = self.changes.remove(event, message, now_ms)
        else:
            change = self.changes.update(event, message, now_ms)
        self._do(change, now_ms)

    def versions(self, event: m.Received, message: m.Versions, now_ms: float) -> None:
        """Go on to add the voter that has told its levels of `kraft.version`."""
        levels = message.kraft_versions
        self._do(self.changes.versions_received(event.source, levels, now_ms), now_ms)

    def upgrade(self, level: int, now_ms: float) -> None:
        """Raise `kraft.version`, unless a voter is against it."""
        if self.changes.upgrade_fault(level) is None:
            self._do(self.changes.upgrade(level), now_ms)

    def _do(self, change: Change, now_ms: float) -> None:
        """Do what a change of the voters needs next: ask, append, reply, resign."""
        for request, reply in change.replies:
            of_leader = reply._replace(epoch=self.epoch, leader_id=self._config.node_id)
            self._outbox.answer(request, of_leader)
        if change.ask is not None:
            self._outbox.send(change.ask.key.id, m.AskVersions(change.ask))
        if change.resigns:
            self.resigns = True
        if change.voters is not None:
            voters = m.VotersChange(change.voters, change.level)
            start = self._log.end_offset
            records = voter_records(start, voters)
            self._append(m.Append(self.epoch, start, start + len(records), voters), records)
            self.changes.appended(start + len(records) - 1)
            if self.state.change_voters(change.voters, now_ms):
                self._committed(now_ms)


def voter_records(offset: int, change: m.VotersChange) -> tuple[VoterRecord, ...]:
    """Return the records of a change, the first of which has `offset`."""
    if change.level is None:
        return (VoterRecord(offset, voters=change.voters),)
    return (
        VoterRecord(offset, level=change.level),
        VoterRecord(offset + 1, voters=change.voters),
    )

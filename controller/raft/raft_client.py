"""The execution of Raft's decisions: disk, network, timers, and listeners of committed records.

Readys are executed in order; one that persists a vote delays the later ones until it is on stable
storage. Committed batches reach the listener once, in order; on the leader they come from memory.

Owns: the order of these effects, and the records that are appended but not committed yet. Never:
decides which node leads or which records are committed (`controller.raft.raft`).

Follows Kafka's `KafkaRaftClient` and `KafkaRaftClientDriver`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch
from controller.metadata.records import MetadataRecord, MetadataRecordError
from controller.metadata.snapshot import SnapshotId
from controller.raft import raft_messages as m
from controller.raft.committed_batches import CommittedBatches
from controller.raft.leader_batches import ProposedRecords, leader_batch, proposal
from controller.raft.leader_state import LeaderState
from controller.raft.log_view import LogView
from controller.raft.quorum_addresses import bootstrap_ids
from controller.raft.quorum_state import Role
from controller.raft.raft import Raft
from controller.raft.raft_config import RaftConfig
from controller.raft.raft_log import MetadataLogFailure, RaftLog
from controller.raft.snapshot_download import SnapshotDownload
from controller.settings import ControllerSettings
from ground.ports import Scheduler, Timer
from ground.sliced_work import Steps, in_one_go
from protocol.errors import ApiError
from protocol.record_batch import CorruptBatch
from storage.log.log_dir_failure import LogDirFailure, is_lack_of_descriptors

LACK_RETRY_MS = 100  # the wait before a file that must be durable is opened again


class NotLeader(Exception):
    """An append to a node that does not lead the epoch, or no longer does."""


class RaftListener(Protocol):
    """The listener on this node that receives committed records and changes of the leader."""

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Process committed records, each once, in the order of their offsets."""

    def handle_load_snapshot(self, image: MetadataImage) -> None:
        """Continue from `image`, which replaces all that is committed before its end."""

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Process a new leader; None: no leader is known. For this node itself, this is called
        after the commit of the first record of its epoch."""


class RaftNetwork(Protocol):
    """The requests to other nodes of the quorum; a quorum of one has no network."""

    def send(self, message: m.Send) -> None:
        """Queue a message to a voter. Raft later receives the reply as Received, or an Unreachable
        if there is no valid response."""

    def when_resignation_acknowledged(self, done: Callable[[], None]) -> None:
        """Call `done()` once, now or later, when no EndQuorumEpoch waits or is in flight: each has
        its response or has failed."""

    def close(self) -> None:
        """Close all connections."""


class RaftClient:
    """A node's part in the quorum: its Raft, its log and its network."""

    def __init__(
        self,
        settings: ControllerSettings,
        log: RaftLog,
        scheduler: Scheduler,
        draw: Callable[[int], int],
        on_failure: Callable[[Exception], None],
        network: RaftNetwork | None = None,
    ) -> None:
        """Read the election state and the epochs of `log`; `start` begins to take part. `draw(n)`
        returns a random number from 0 to n-1. `network` is None for a quorum of this node alone.

        `on_failure(error)` runs once if the metadata log fails; the process has to end then.

        Raises OSError and QuorumStateError.
        """
        config = RaftConfig(
            key=settings.replica_key,
            own=settings.own_voter,
            bootstrap=bootstrap_ids(settings.bootstrap_servers),
            joins=settings.auto_join,
            election_timeout_ms=settings.quorum_election_timeout_ms,
            fetch_timeout_ms=settings.quorum_fetch_timeout_ms,
            election_backoff_max_ms=settings.quorum_election_backoff_max_ms,
            request_timeout_ms=settings.quorum_request_timeout_ms,
        )
        self._log = log
        self._scheduler = scheduler
        self._network = network
        self._on_failure = on_failure
        self._durable = log.read_election()
        view = LogView(log.epoch_index(), log.voters)
        self._raft = Raft(config, self._durable, view, draw)
        self._listener: RaftListener | None = None
        self._readys: deque[m.Ready] = deque()
        self._persisting = False
        self._executing = False
        self._flushing = False
        self._flushed_to = 0
        self._batches: CommittedBatches | None = None
        self._download = SnapshotDownload(log, scheduler, self._step, self.fail)
        self._watchers: list[Callable[[], None]] = []
        self._claimed_epoch = -1
        self._timer: Timer | None = None
        self._leaving = False
        self._stopped = False

    # --- the public state ----------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this node leads; its first record may not be committed yet."""
        return self._raft.role is Role.LEADER and not self._stopped

    @property
    def is_running(self) -> bool:
        """Whether this node takes part: not closed, not failed, not shutting down."""
        return not self._stopped and not self._leaving

    @property
    def durable_leader_and_epoch(self) -> m.EpochReply:
        """The durable epoch and its leader, which responses to other nodes may contain. The leader
        is None if it is not known, or if it was this node and has resigned."""
        epoch, leader_id, *_ = self._durable
        is_me = leader_id == self._raft.config.node_id
        return m.EpochReply(epoch, None if is_me and not self._leads(epoch) else leader_id)

    def _leads(self, epoch: int) -> bool:
        """Return whether this node leads `epoch` now."""
        return self.is_leader and self._raft.epoch == epoch

    @property
    def elected_id(self) -> int | None:
        """The node that was elected for this epoch, even if it has resigned; None: not known."""
        return self._raft.election.leader_id

    @property
    def voted_id(self) -> int | None:
        """The node that this node has voted for in this epoch; None: it has not voted."""
        return self._raft.election.voted_id

    @property
    def role(self) -> Role:
        """The role of this node in this epoch."""
        return self._raft.role

    def can_lead(self, leader_id: int, epoch: int) -> bool:
        """Return whether `leader_id` may be the leader of `epoch`: this node knows no other leader
        of that epoch, and no static voters without it. A peer's message that contradicts this is
        ignored, because it must not stop this node."""
        if not self.may_be_voter(leader_id):
            return False
        return epoch != self._raft.epoch or self.elected_id in (None, leader_id)

    def may_be_voter(self, node_id: int) -> bool:
        """Return whether a node may be a voter. In a dynamic quorum any may be one that this node's
        log does not have yet, and so it is before the log has any voters."""
        voters = self._raft.voters
        return voters.is_dynamic or not len(voters.latest) or node_id in voters.latest.ids

    @property
    def leader_id(self) -> int | None:
        """The leader as far as this node knows; None: not known."""
        return self._raft.leader_id

    @property
    def epoch(self) -> int:
        """The latest epoch that this node knows."""
        return self._raft.epoch

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._raft.log.end_offset

    @property
    def high_watermark(self) -> int | None:
        """The offset below which records are committed; None while it is not known."""
        return self._raft.high_watermark

    @property
    def announced_high_watermark(self) -> int | None:
        """The high watermark that a leader announced; this node may lack records below it."""
        return self._raft.announced_high_watermark

    @property
    def leading(self) -> LeaderState | None:
        """The leader's state of the other nodes; None if this node does not lead."""
        leading = self._raft.leading
        return leading.state if leading is not None and self.is_leader else None

    @property
    def is_followed(self) -> bool:
        """Whether this node leads and has other voters, or observers that fetch."""
        leading = self.leading
        return leading is not None and leading.is_followed(self._scheduler.monotonic_ms())

    def start(self, listener: RaftListener, from_offset: int) -> None:
        """Take part in the quorum from now on. `listener` already has everything before
        `from_offset`, and gets each later record after its commit."""
        self._listener = listener
        self._batches = CommittedBatches(self._log, from_offset, listener.handle_commit)
        self._take(self._raft.start(self._scheduler.monotonic_ms()))
        if self._log.end_offset and not self.is_leader:
            self._flush()  # on a leader, the first append does this fsync

    def append(self, epoch: int, records: Sequence[MetadataRecord], level: int) -> int:
        """Append `records` as a single batch, and return the offset of the last record.

        They are committed when the listener gets them. Raises NotLeader, and StringTooLong if they
        cannot be written; then nothing was appended.
        """
        return self.propose(epoch, in_one_go(self.prepare(records, level)))

    def prepare(self, records: Sequence[MetadataRecord], level: int) -> Steps[ProposedRecords]:
        """Return `records` encoded for `propose`, in the versions of the metadata level `level`.
        Raises StringTooLong."""
        return proposal(records, level, self._scheduler.wall_ms())

    def propose(self, epoch: int, proposed: ProposedRecords) -> int:
        """Append prepared records as a single batch, and return the offset of the last record.
        Raises NotLeader if this node does not lead `epoch`; then nothing was appended."""
        if not self.is_leader or epoch != self._raft.epoch:
            raise NotLeader
        assert proposed.records, "an empty batch has no offset"
        self._step(m.Propose(epoch, len(proposed.records), proposed))
        return self._raft.log.end_offset - 1

    @property
    def kraft_version(self) -> int:
        """The level of `kraft.version` in this node's log."""
        return self._raft.voters.kraft_version

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """The node ids of the voters in this node's log."""
        return self._raft.voters.latest.ids

    def upgrade_fault(self, level: int) -> ApiError | None:
        """Return why this node cannot raise `kraft.version` to `level`; None if it can."""
        return self._raft.upgrade_fault(level)

    def upgrade_kraft_version(self, epoch: int, level: int) -> None:
        """Append `kraft.version` and the voters to the log, if this node leads `epoch`, and
        `upgrade_fault` has no reason against it."""
        self._step(m.UpgradeKraftVersion(epoch, level))

    def resign(self, epoch: int) -> None:
        """Resign as the leader of `epoch`, so that another voter is elected. Do nothing if this
        node does not lead it."""
        self._step(m.Resign(epoch))

    def hand_over(self, done: Callable[[], None], limit_ms: float) -> None:
        """Stop taking part, and stop the timer. If this node leads, resign and announce that to the
        other voters, so that they elect at once.

        Call `done()` when they have answered, or `limit_ms` milliseconds later; soon if this node
        does not lead. Call this once, before `close`.
        """
        self._leaving = True
        self._arm(None)
        if self._network is None or not self.is_leader:
            self._scheduler.call_soon(done)
            return
        callbacks = [done]

        def announced() -> None:
            """Cancel the time-out and call `done`; do nothing at a second call."""
            if callbacks:
                timer.cancel()
                callbacks.pop()()

        timer = self._scheduler.call_later(limit_ms, announced)
        self.resign(self.epoch)
        self._network.when_resignation_acknowledged(announced)

    def receive(self, event: m.Received | m.Unreachable) -> None:
        """Pass another node's message, or an Unreachable, to Raft. If the message is a request, its
        `correlation(reply)` is called, now or later."""
        self._step(event)

    def snapshot_taken(self, snapshot: tuple[int, int], start_offset: int) -> None:
        """Pass to Raft a newer snapshot (end offset, epoch) that this node wrote, and the offset at
        which the log now begins."""
        self._step(m.SnapshotTaken(snapshot, start_offset))

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed()` when the log grows, more is committed, or the leader changes."""
        self._watchers.append(changed)

    def close(self) -> None:
        """Stop for good: cancel the timer, and close the network and the log. Raises
        LogDirFailure."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        if self._network is not None:
            self._network.close()
        self._log.close()

    # --- execution -----------------------------------------------------------------------------

    def _step(self, event: m.Event) -> None:
        """Pass an event to Raft, and execute its work. Fail if it has voters of a level that this
        release does not know. Do nothing after a stop."""
        if self._stopped:
            return
        try:
            ready = self._raft.step(event, self._scheduler.monotonic_ms())
        except MetadataRecordError as error:
            self.fail(error)
        else:
            self._take(ready)

    def _take(self, ready: m.Ready) -> None:
        """Queue the work of Raft, set its timer, and execute it unless a caller does that
        already."""
        self._readys.append(ready)
        self._arm(ready.deadline_ms)
        if not self._executing:
            self._execute_all()

    def _execute_all(self) -> None:
        """Execute the queued Readys in order, up to a Ready whose election state must be persisted
        first. A Ready that is added meanwhile, because a listener appends, is executed after the
        present Ready. An error of the log or of a record calls `fail`."""
        self._executing = True
        try:
            while self._readys and not self._persisting and not self._stopped:
                ready = self._readys[0]
                if ready.persist is not None and ready.persist is not self._durable:
                    self._persisting = True
                    self._log.persist_election(ready.persist, self._persisted)
                    return
                self._readys.popleft()
                self._execute(ready)
        except (MetadataLogFailure, LogDirFailure, MetadataRecordError, CorruptBatch) as error:
            # A committed record that cannot be read cannot be skipped either (KAFKA-14644).
            self.fail(error)
        finally:
            self._executing = False

    def _persisted(self, error: Exception | None) -> None:
        """Execute the work that waited for the election state. Retry after a lack of descriptors;
        fail after another error."""
        self._persisting = False
        if self._stopped:
            return
        if is_lack_of_descriptors(error):
            self._scheduler.call_later(LACK_RETRY_MS, self._execute_all)
            return
        if error is not None:
            self.fail(error)
            return
        persisted = self._readys[0].persist
        assert persisted is not None
        self._durable = persisted
        self._execute_all()

    def _execute(self, ready: m.Ready) -> None:
        """Do the work of a Ready in its order: the log, messages, snapshot part, commits, leader
        change. Then call the watchers."""
        self._change_log(ready)
        for message in ready.send:
            self._send(message)
        if ready.snapshot_part is not None:
            self._download.write(ready.snapshot_part)
        if ready.high_watermark is not None:
            self._committed(ready.high_watermark)
        if ready.leader is not None:
            self._leader_changed(ready.leader)
        if ready.append or ready.high_watermark is not None or ready.leader is not None:
            for watcher in self._watchers:
                watcher()

    def _change_log(self, ready: m.Ready) -> None:
        """Do what the Ready asks of the log: load a snapshot, truncate, append. Begin a flush after
        an append."""
        if ready.load_snapshot is not None:
            self._load_snapshot(ready.load_snapshot)
        if ready.truncate_to is not None:
            assert self._batches is not None
            self._log.truncate_to(ready.truncate_to)
            self._flushed_to = min(self._flushed_to, ready.truncate_to)
            self._batches.truncated(ready.truncate_to)
        for append in ready.append:
            self._append(append)
        if ready.append:
            self._flush()

    def _send(self, message: m.Send | m.SendReply) -> None:
        """Pass a message to the network, or a reply to the callback of its request. Without a
        network, drop messages."""
        if isinstance(message, m.SendReply):
            assert callable(message.correlation)
            message.correlation(message.message)
        elif self._network is not None:
            self._network.send(message)

    def _append(self, append: m.Append) -> None:
        """Append batches that were fetched from the leader. As the leader, append a new batch of
        this node, and keep it in memory until its commit."""
        payload = append.payload
        if append.fetched:
            assert isinstance(payload, bytes | bytearray | memoryview)
            self._log.append(memoryview(payload), append.epoch)
            return
        data, batch = leader_batch(append, self._scheduler.wall_ms())
        self._log.append(data, append.epoch)
        assert self._batches is not None
        self._batches.appended(batch)

    def _flush(self) -> None:
        """Fsync the log, one fsync at a time; records that are appended meanwhile share the next
        one."""
        if self._flushing:
            return
        self._flushing = True
        end = self._log.end_offset
        self._log.flush(lambda error: self._flush_done(end, error))

    def _flush_done(self, end_offset: int, error: Exception | None) -> None:
        """Pass the durable end of the log to Raft, and flush what was appended since. Retry after a
        lack of descriptors; fail after another error."""
        self._flushing = False
        if self._stopped:
            return
        if is_lack_of_descriptors(error):
            self._scheduler.call_later(LACK_RETRY_MS, self._flush)
            return
        if error is not None:
            self.fail(error)
            return
        end_offset = min(end_offset, self._log.end_offset)
        self._flushed_to = max(self._flushed_to, end_offset)
        if self._flushed_to < self._log.end_offset:
            self._flush()
        self._step(m.Flushed(end_offset))

    def fail(self, error: Exception) -> None:
        """Stop taking part, because the log cannot be written or read, and call
        `on_failure(error)`. Do nothing after a stop."""
        if self._stopped:
            return
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._on_failure(error)

    # --- timers --------------------------------------------------------------------------------

    def _arm(self, deadline_ms: float | None) -> None:
        """Set the timer for Raft's deadline in monotonic ms; None: no timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None and not self._leaving:
            delay = max(0.0, deadline_ms - self._scheduler.monotonic_ms())
            self._timer = self._scheduler.call_later(delay, self._tick)

    def _tick(self) -> None:
        """Pass a Tick to Raft, because its deadline has come."""
        self._timer = None
        self._step(m.Tick())

    # --- listeners -----------------------------------------------------------------------------

    def _committed(self, high_watermark: int) -> None:
        """Set the log's high watermark, and deliver the batches before it to the listener. At the
        first commit of its own epoch, the leader calls the listener's `handle_leader_change`."""
        assert self._batches is not None and self._listener is not None
        self._log.set_high_watermark(high_watermark)
        self._batches.deliver(high_watermark)
        if self.is_leader and self._claimed_epoch != self._raft.epoch:
            # A leader may act after it has committed a record of its own epoch.
            self._claimed_epoch = self._raft.epoch
            self._listener.handle_leader_change(self._raft.config.node_id, self._raft.epoch)

    def _load_snapshot(self, snapshot: tuple[int, int]) -> None:
        """Restart the log at the end of a fetched snapshot, and pass its image to the listener."""
        assert self._batches is not None and self._listener is not None
        self._log.load_snapshot(SnapshotId(*snapshot))
        self._flushed_to = snapshot[0]
        self._batches.snapshot_loaded(snapshot[0])
        self._listener.handle_load_snapshot(self._download.image(snapshot))

    def _leader_changed(self, leader: m.Leader) -> None:
        """Call the listener's `handle_leader_change` if another node leads or no leader is known.
        The leadership of this node begins in `_committed`."""
        assert self._listener is not None
        if leader.leader_id != self._raft.config.node_id:
            self._listener.handle_leader_change(leader.leader_id, leader.epoch)

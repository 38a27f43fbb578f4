"""Carries out what Raft decides: disk, network, timers, and the listeners of committed records.

Readys are carried out in their order; one that persists a vote holds back all that follows until
the file is on stable storage. Committed batches reach the listener once and in order: on the leader
out of memory, else out of the log.

Owns: the order of these effects, and the records that are appended and not committed yet. Never:
decides who leads or what is committed (`controller.raft`).

Follows Kafka's `KafkaRaftClient` and `KafkaRaftClientDriver`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from controller import raft_messages as m
from controller.control_records import control_batch, leader_change
from controller.metadata_loader import CommittedBatch
from controller.metadata_records import MetadataRecord, decode_record, encode_record
from controller.metadata_version import record_version
from controller.quorum_state import Role
from controller.raft import Raft, RaftConfig
from controller.raft_log import MetadataLogFailure, RaftLog, RawBatch
from controller.settings import ControllerSettings
from protocol.control_records import ControlRecordType
from protocol.records import RecordBatchBuilder, iterate_records
from storage.log_dir_failure import LogDirFailure
from storage.ports import Scheduler, Timer


class NotLeader(Exception):
    """An append came to a node that does not lead that epoch (any more)."""


class RaftListener(Protocol):
    """Who follows the quorum on this node."""

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Committed records, each once, in the order of their offsets."""

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Another leader, or none. For this node itself: after the commit of its first record."""


class RaftNetwork(Protocol):
    """Messages to other nodes of the quorum. A quorum of one has none."""

    def send(self, message: m.Send | m.SendReply) -> None:
        """Send; what never arrives comes back as Unreachable."""


class _Proposal(NamedTuple):
    """Records of the leader, with the versions and the time they are written with."""

    records: tuple[MetadataRecord, ...]
    level: int
    now_ms: int


class RaftClient:
    """One node's part in the quorum."""

    def __init__(
        self,
        settings: ControllerSettings,
        log: RaftLog,
        scheduler: Scheduler,
        draw: Callable[[int], int],
        on_failure: Callable[[Exception], None],
        network: RaftNetwork | None = None,
    ) -> None:
        """`on_failure(error)` runs once when the metadata log fails: the process is to end.

        Raises OSError and QuorumStateError.
        """
        config = RaftConfig(
            node_id=settings.node_id,
            voters=settings.voters,
            election_timeout_ms=settings.quorum_election_timeout_ms,
            fetch_timeout_ms=settings.quorum_fetch_timeout_ms,
            election_backoff_max_ms=settings.quorum_election_backoff_max_ms,
        )
        self._log = log
        self._scheduler = scheduler
        self._network = network
        self._on_failure = on_failure
        self._raft = Raft(config, log.read_election(), log.epoch_index(), draw)
        self._listener: RaftListener | None = None
        self._readys: deque[m.Ready] = deque()
        self._persisting = False
        self._carrying_out = False
        self._flushing = False
        self._flushed_to = 0
        self._in_memory: deque[CommittedBatch] = deque()
        self._delivered = 0
        self._claimed_epoch = -1
        self._timer: Timer | None = None
        self._stopped = False

    # --- what others see -----------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        """Whether this node leads, though its first record may not be committed yet."""
        return self._raft.role is Role.LEADER and not self._stopped

    @property
    def leader_id(self) -> int | None:
        """Who leads, as far as this node knows."""
        return self._raft.leader_id

    @property
    def epoch(self) -> int:
        """The latest epoch this node knows."""
        return self._raft.epoch

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._raft.log.end_offset

    @property
    def high_watermark(self) -> int | None:
        """Records below it are committed; None while that is not known."""
        return self._raft.high_watermark

    def start(self, listener: RaftListener, from_offset: int) -> None:
        """Take part from now on; `listener` has everything before `from_offset` already."""
        self._listener = listener
        self._delivered = from_offset
        self._take(self._raft.start(self._scheduler.monotonic_ms()))
        if self._log.end_offset and not self.is_leader:
            self._flush()  # a leader's first append brings the fsync of all before it

    def append(self, epoch: int, records: Sequence[MetadataRecord], level: int) -> int:
        """Append `records` as one batch; the offset of the last one. Raises NotLeader.

        They are committed when the listener gets them, and only then.
        """
        if not self.is_leader or epoch != self._raft.epoch:
            raise NotLeader
        assert records, "an empty batch has no offset"
        proposal = _Proposal(tuple(records), level, self._scheduler.wall_ms())
        self._step(m.Propose(epoch, len(records), proposal))
        return self._raft.log.end_offset - 1

    def resign(self, epoch: int) -> None:
        """Give up the leadership of `epoch`."""
        self._step(m.Resign(epoch))

    def receive(self, event: m.Received | m.Unreachable) -> None:
        """A message of another node, or the lack of one."""
        self._step(event)

    def close(self) -> None:
        """Stop for good. Raises LogDirFailure."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._log.close()

    # --- carrying out --------------------------------------------------------------------------

    def _step(self, event: m.Event) -> None:
        if not self._stopped:
            self._take(self._raft.step(event, self._scheduler.monotonic_ms()))

    def _take(self, ready: m.Ready) -> None:
        self._readys.append(ready)
        self._arm(ready.deadline_ms)
        if not self._carrying_out:
            self._carry_out_all()

    def _carry_out_all(self) -> None:
        """All Readys up to one that has to be persisted first. A Ready that is added meanwhile, by
        a listener that appends, is carried out after the present one."""
        self._carrying_out = True
        try:
            while self._readys and not self._persisting and not self._stopped:
                ready = self._readys[0]
                if ready.persist is not None:
                    self._persisting = True
                    self._log.persist_election(ready.persist, self._persisted)
                    return
                self._readys.popleft()
                self._carry_out(ready)
        except (MetadataLogFailure, LogDirFailure) as error:
            self.fail(error)
        finally:
            self._carrying_out = False

    def _persisted(self, error: Exception | None) -> None:
        self._persisting = False
        if self._stopped:
            return
        if error is not None:
            self.fail(error)
            return
        self._readys[0].persist = None
        self._carry_out_all()

    def _carry_out(self, ready: m.Ready) -> None:
        if ready.truncate_to is not None:
            self._log.truncate_to(ready.truncate_to)
            self._flushed_to = min(self._flushed_to, ready.truncate_to)
            self._forget_from(ready.truncate_to)
        for append in ready.append:
            self._append(append)
        if ready.append:
            self._flush()
        if self._network is not None:
            for message in ready.send:
                self._network.send(message)
        if ready.high_watermark is not None:
            self._log.committed(ready.high_watermark)
            self._deliver(ready.high_watermark)
        if ready.leader is not None:
            self._leader_changed(ready.leader)

    def _append(self, append: m.Append) -> None:
        payload = append.payload
        if append.fetched:
            assert isinstance(payload, bytes | bytearray | memoryview)
            self._log.append(memoryview(payload), append.epoch)
            return
        base, records = append.base_offset, ()
        if isinstance(payload, m.LeaderChange):
            change = leader_change(payload.leader_id, payload.voters, payload.granting)
            now_ms = self._scheduler.wall_ms()
            kind = ControlRecordType.LEADER_CHANGE
            batch = control_batch([(kind, change)], base, append.epoch, now_ms)
        else:
            assert isinstance(payload, _Proposal)
            now_ms, records = payload.now_ms, payload.records
            batch = _data_batch(payload, base, append.epoch)
        self._log.append(batch, append.epoch)
        self._in_memory.append(
            CommittedBatch(base, append.next_offset - 1, append.epoch, now_ms, records)
        )

    def _flush(self) -> None:
        """One fsync at a time; what is appended meanwhile shares the next one."""
        if self._flushing:
            return
        self._flushing = True
        end = self._log.end_offset
        self._log.flush(lambda error: self._flush_done(end, error))

    def _flush_done(self, end_offset: int, error: Exception | None) -> None:
        self._flushing = False
        if self._stopped:
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
        """Take no further part: the log, or what is in it, cannot be worked with."""
        if self._stopped:
            return
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self._on_failure(error)

    # --- timers --------------------------------------------------------------------------------

    def _arm(self, deadline_ms: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline_ms is not None:
            delay = max(0.0, deadline_ms - self._scheduler.monotonic_ms())
            self._timer = self._scheduler.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._step(m.Tick())

    # --- listeners -----------------------------------------------------------------------------

    def _forget_from(self, offset: int) -> None:
        while self._in_memory and self._in_memory[-1].last_offset >= offset:
            self._in_memory.pop()

    def _deliver(self, high_watermark: int) -> None:
        """Hand over what is committed and was not handed over yet."""
        assert self._listener is not None
        memory = self._in_memory
        while self._delivered < high_watermark:
            if memory and memory[0].base_offset == self._delivered:
                self._hand_over(memory.popleft())
                continue
            on_disk_end = min(high_watermark, memory[0].base_offset) if memory else high_watermark
            for raw in self._log.read(self._delivered, on_disk_end):
                self._hand_over(_decoded(raw))
        if self.is_leader and self._claimed_epoch != self._raft.epoch:
            # Committing anything in its own epoch is the proof that a leader needs.
            self._claimed_epoch = self._raft.epoch
            self._listener.handle_leader_change(self._raft.config.node_id, self._raft.epoch)

    def _hand_over(self, batch: CommittedBatch) -> None:
        assert self._listener is not None
        self._delivered = batch.last_offset + 1
        self._listener.handle_commit(batch)

    def _leader_changed(self, leader: m.Leader) -> None:
        assert self._listener is not None
        if leader.leader_id != self._raft.config.node_id:
            self._listener.handle_leader_change(leader.leader_id, leader.epoch)


def _data_batch(proposal: _Proposal, base_offset: int, epoch: int) -> bytearray:
    builder = RecordBatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for record in proposal.records:
        version = record_version(record, proposal.level)
        builder.append(None, encode_record(record, version), proposal.now_ms)
    return builder.build()


def _decoded(raw: RawBatch) -> CommittedBatch:
    header = raw.header
    records: list[MetadataRecord] = []
    if not header.is_control:
        records = [decode_record(record.value or b"") for record in iterate_records(raw.data)]
    return CommittedBatch(
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        header.max_timestamp,
        records,
    )

"""One replica of one partition on this broker: its log, its leader, its in-sync replicas.

Owns the leader's rules: who may append (the leader, with acks=all only while enough replicas are
in sync, and to an internal topic its coordinator and Kafka's admin client alone), what an append
counts as and when it is acknowledged, which leader epoch a request must carry (KIP-320). Changes of
leadership come from the metadata image only. Never says who is proposed for the ISR
(`isr_proposals`), or does I/O itself; the log does. Follows Kafka's `Partition`, and
`ReplicaManager` for internal topics.

Fetch sessions and parked operations hear of every change through `on_change`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from broker.metrics import TopicMetrics
from broker.replication.followers import Followers, LeaderView
from broker.replication.isr_proposals import IsrProposals
from broker.replication.partition_reads import (
    NO_EPOCH,
    NO_OFFSET,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    PartitionRead,
    read_log,
    with_aborted,
)
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.requests.request_trace import RequestTrace
from broker.requests.traced_appends import PartitionWatch
from controller.metadata.image import PartitionRegistration
from controller.metadata.topic_names import is_internal
from protocol.errors import ErrorCode
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_validator import Look, LookedAt, look_before_append
from storage.log.plain_append import append_plain
from storage.log.unified_log import UnifiedLog
from storage.log.verification_state import VerificationGuard


class PartitionListener(Protocol):
    """Something that keeps what it knows of many partitions up to date (a fetch session)."""

    def partition_changed(self, partition: Partition) -> None:
        """Data, watermarks, leadership or existence of `partition` changed."""


class Partition:
    """A partition that this broker hosts a replica of. Identity is the object: it is a dict key."""

    __slots__ = (
        "_alone",
        "_on_change",
        "_proposals",
        "_view",
        "adding_replicas",
        "counts",
        "deleted",
        "followers",
        "index",
        "is_internal",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "listeners",
        "log",
        "node_id",
        "partition_epoch",
        "removing_replicas",
        "replicas",
        "topic",
        "topic_id",
        "watch",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: UnifiedLog,
        node_id: int,
        counts: TopicMetrics,
        on_change: Callable[[Partition], None],
        view: LeaderView,
    ) -> None:
        self.counts = counts
        self.topic = topic
        self.is_internal = is_internal(topic)
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.node_id = node_id
        self.leader_id = NO_EPOCH
        self.is_leader = False  # this broker, that is, and the partition is not deleted
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = NO_EPOCH
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()  # as committed
        self.followers: Followers | None = None  # while it leads, and is not the only replica
        self._proposals: IsrProposals | None = None  # beside the followers
        self._alone = False  # whether it leads, and is the only replica
        self.deleted = False
        self.listeners: dict[PartitionListener, None] = {}
        self.watch: PartitionWatch | None = None  # while an append of a traced request is followed
        self._on_change = on_change
        self._view = view

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    # --- leadership ----------------------------------------------------------------------------

    def apply(self, registration: PartitionRegistration) -> bool:
        """Take what the metadata says; whether a leader epoch begins, ours or another's.

        A new epoch of ours starts at the log's end (KIP-101). The metadata may be behind an answer
        to AlterPartition, which told the same before: what is older by its partition epoch is
        left out.
        """
        if registration.partition_epoch < self.partition_epoch:
            return False
        assert registration.leader_epoch >= self.leader_epoch, f"{self!r}: leader epoch goes back"
        begins = registration.leader_epoch > self.leader_epoch
        is_old = registration.partition_epoch == self.partition_epoch
        self.leader_id = registration.leader
        self.is_leader = self.leader_id == self.node_id and not self.deleted
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.replicas = registration.replicas
        self.log.is_replicated = len(self.replicas) > 1
        self.adding_replicas = registration.adding_replicas
        self.removing_replicas = registration.removing_replicas
        if self.is_leader:
            self._lead(registration, begins=begins, is_old=is_old)
        else:
            self.isr = registration.isr
            self._forget_followers()
        self._on_change(self)
        return begins

    def _lead(self, registration: PartitionRegistration, *, begins: bool, is_old: bool) -> None:
        if begins:
            self._open(registration.leader_epoch)
        if registration.replicas == (self.node_id,):
            self._forget_followers()
            self._alone = True
        else:
            self._alone = False
            if self.followers is None:
                self.followers = Followers(self.log, self._view)
                self._proposals = IsrProposals(self, self.followers, self._view)
            self.followers.assign(registration)
            if begins:
                self.followers.begin_epoch(registration)
        # What an answer told before stands: a proposal made since then is still under way.
        if begins or not is_old:
            self._commit_isr(registration.isr)
        self._advance_high_watermark()

    def _forget_followers(self) -> None:
        if self._proposals is not None:
            self._proposals.end()
        self.followers, self._proposals, self._alone = None, None, False

    def _commit_isr(self, isr: tuple[int, ...]) -> None:
        self.isr = isr
        if self._proposals is not None:
            self._proposals.commit(isr)

    def _open(self, leader_epoch: int) -> None:
        # A failed write took the log's directory offline; the metadata moves on all the same, and
        # every use of this log says KAFKA_STORAGE_ERROR.
        with suppress(LogDirFailure):
            self.log.assign_epoch_start(leader_epoch, self.log.log_end_offset)

    def replace_log(self, log: UnifiedLog) -> None:
        """The same log lies in another directory now."""
        log.is_replicated = self.log.is_replicated
        self.log = log
        if self.followers is not None:
            self.followers.replace_log(log)
        self._on_change(self)

    def mark_deleted(self) -> None:
        """The log is gone: whoever still holds this partition learns it here."""
        self.deleted = True
        self.is_leader = False
        self._forget_followers()
        self._on_change(self)

    # --- the ISR -------------------------------------------------------------------------------

    def shrink_isr(self) -> None:
        """Propose an ISR without those that lag for longer than `replica.lag.time.max.ms`."""
        if self._proposals is not None:
            self._proposals.shrink()

    def brokers_changed(self) -> None:
        """The metadata says otherwise of brokers: one that was refused may come in sync now."""
        if self._proposals is not None:
            self._proposals.expand()

    def take_isr(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """Take the ISR by which the controller has answered a proposal, as of that epoch."""
        self.partition_epoch = partition_epoch
        self._commit_isr(isr)
        if self._advance_high_watermark():
            self._on_change(self)

    def watch_by(self, watch: PartitionWatch | None) -> None:
        """Who hears of followers' fetches and of the high watermark; None: nobody does."""
        self.watch = watch

    def changed(self) -> None:
        """Wake what waits for this partition: after an append, once its answer is on its way."""
        self._on_change(self)

    def is_replicated_to(self, required_offset: int) -> ErrorCode | None:
        """For acks=all: None while replicas miss data below `required_offset`, else the verdict."""
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        followers = self.followers
        if followers is not None and len(followers.maximal_isr) < followers.min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def _advance_high_watermark(self) -> bool:
        if self.followers is None:
            self.log.update_high_watermark(self.log.log_end_offset)
        elif not self.followers.advance_high_watermark():
            return False
        if self.watch is not None:
            self.watch.high_watermark(self.log.high_watermark)
        return True

    # --- what is written -------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: memoryview,
        required_acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        internal_allowed: bool = False,
        looked_at: LookedAt | None = None,
        trace: RequestTrace | None = None,
    ) -> LogAppendInfo | ErrorCode:
        """Append batches, which are patched in place, with acks -1 (all), 0 or 1; the first of a
        transaction with the guard of its verification. `internal_allowed`: the coordinator that
        keeps its state here, or a client that may write between its records.

        The error of the append is in the returned info; an ErrorCode alone where it was not tried.
        """
        if not -1 <= required_acks <= 1:
            return ErrorCode.INVALID_REQUIRED_ACKS
        if self.is_internal and not internal_allowed:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if not self.is_leader:
            return self.check_leader_epoch(NO_EPOCH)
        if required_acks == -1 and not self._has_enough_isr():
            return ErrorCode.NOT_ENOUGH_REPLICAS
        info = self.log.append_as_leader(
            records,
            self.leader_epoch,
            now_ms,
            origin=origin,
            guard=verification_guard,
            looked_at=looked_at,
        )
        if info.error:
            self.counts.produce_failed(len(records))
            return info
        self.counts.produced(info.last_offset - info.first_offset + 1, info.size)
        if trace is not None:
            trace.appended(self, info)
        self._advance_high_watermark()
        return info

    def look_before_append(
        self, records: memoryview, now_ms: int, internal_allowed: bool = False
    ) -> Look | None:
        """The look that a client's batch needs before `append_as_leader`, which is to be given what
        came of it; None where it needs none, or will not be appended."""
        if not self.is_leader or (self.is_internal and not internal_allowed):
            return None
        log = self.log
        if not log.looks_at_records:
            return None
        allocate = log.environment.allocate
        return look_before_append(records, log.config, now_ms, str(log.partition), allocate)

    def append_plain(self, records: memoryview, required_acks: int) -> int:
        """Append a plain batch: its first offset; -1, nothing done: `append_as_leader` tells."""
        if (
            self.is_internal
            or not self.is_leader
            or (required_acks == -1 and not self._has_enough_isr())
        ):
            return -1
        log = self.log
        first = append_plain(log, records, self.leader_epoch)
        if first >= 0:
            end = log.log_end_offset
            if self._alone:  # inside the log by itself: no need to be fitted into it every time
                log.high_watermark = end
            elif self.followers is not None:
                self.followers.appended(first, records)
            self.counts.produced(end - first, len(records))
        return first

    def append_end_txn_marker(
        self, marker: TransactionMarkerRequest, now_ms: int
    ) -> LogAppendInfo | ErrorCode:
        """End a producer's transaction here; acknowledged as acks=all is. Errors as above."""
        if not self.is_leader:
            return self.check_leader_epoch(NO_EPOCH)
        if not self._has_enough_isr():
            return ErrorCode.NOT_ENOUGH_REPLICAS
        info = append_end_txn_marker(
            self.log,
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.committed,
            self.leader_epoch,
            now_ms,
            marker.transaction_version,
        )
        if not info.error:
            self._advance_high_watermark()
        return info

    def maybe_start_transaction_verification(
        self, producer_id: int, sequence: int, producer_epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard | None | ErrorCode:
        """The guard for the append, once the coordinator was asked; None where nobody has to be,
        for the transaction has begun here. An ErrorCode where this is not the leader."""
        if not self.is_leader:
            return self.check_leader_epoch(NO_EPOCH)
        return self.log.start_verification(
            producer_id, sequence, producer_epoch, supports_epoch_bump
        )

    def _has_enough_isr(self) -> bool:
        return self.followers is None or len(self.isr) >= self.followers.min_isr

    def delete_records(self, offset: int) -> tuple[ErrorCode, int]:
        """Move the log start to `offset` (-1: the high watermark). The error, and the new start."""
        if not self.is_leader:
            return self.check_leader_epoch(NO_EPOCH), NO_OFFSET
        if offset == NO_OFFSET:
            offset = self.log.high_watermark
        if not 0 <= offset <= self.log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, NO_OFFSET
        error = self.log.increment_log_start_offset(offset)
        if error:
            return error, NO_OFFSET
        self._on_change(self)
        return ErrorCode.NONE, self.log.log_start_offset

    @property
    def low_watermark(self) -> int:
        """Where the log starts at the latest of all live replicas."""
        start = self.log.log_start_offset
        return start if self.followers is None else self.followers.low_watermark(start)

    def is_deleted_to(self, required_offset: int) -> ErrorCode | None:
        """For DeleteRecords: None while live replicas have records below `required_offset`."""
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return None if self.low_watermark < required_offset else ErrorCode.NONE

    # --- what is read ----------------------------------------------------------------------------

    def check_leader_epoch(self, current_leader_epoch: int, only_leader: bool = True) -> ErrorCode:
        """Fence a client whose metadata is older, or newer, than ours (KIP-320), and one that
        takes us for the leader."""
        if self.deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if only_leader and self.leader_id != self.node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    @property
    def high_watermark_lags(self) -> bool:
        """Whether this leader does not know yet what was committed before it led."""
        followers = self.followers
        return followers is not None and self.log.high_watermark < followers.epoch_start_offset

    def read(
        self,
        fetch_offset: int,
        max_bytes: int,
        isolation: int,
        min_one_message: bool,
        current_leader_epoch: int = NO_EPOCH,
        last_fetched_epoch: int = NO_EPOCH,
        only_leader: bool = True,
    ) -> PartitionRead:
        """Records from `fetch_offset` for a consumer, at most `max_bytes`.

        A first batch over `max_bytes` is given whole all the same with `min_one_message`, and not
        at all without it. `isolation` is READ_UNCOMMITTED or READ_COMMITTED. Without `only_leader`
        a follower answers, too, up to its own high watermark (KIP-392).
        """
        log, epoch = self.log, self.leader_epoch
        if (
            self.deleted
            or (current_leader_epoch != NO_EPOCH and current_leader_epoch != epoch)
            or (only_leader and self.leader_id != self.node_id)
        ):
            return PartitionRead(self.check_leader_epoch(current_leader_epoch, only_leader))
        upper = log.high_watermark if isolation == READ_UNCOMMITTED else log.last_stable_offset
        read = read_log(
            log, epoch, fetch_offset, max_bytes, upper, min_one_message, last_fetched_epoch
        )
        return with_aborted(log, fetch_offset, read) if isolation == READ_COMMITTED else read

    def read_for_follower(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        max_bytes: int,
        min_one_message: bool,
        current_leader_epoch: int,
        last_fetched_epoch: int,
    ) -> PartitionRead:
        """Records up to the log's end for a follower; what it has is noted by `follower_fetched`.

        UNKNOWN_LEADER_EPOCH for a replica that the leader has not heard of yet, and
        NOT_LEADER_OR_FOLLOWER for one that died since (KIP-903): it tries again.
        """
        if not self.is_leader or current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            return PartitionRead(self.check_leader_epoch(current_leader_epoch))
        followers = self.followers
        if followers is None or replica_id not in followers.replicas:
            if current_leader_epoch == NO_EPOCH:
                return PartitionRead(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return PartitionRead(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if followers.is_stale(replica_id, broker_epoch):
            return PartitionRead(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log, tail = self.log, followers.tail
        end = log.log_end_offset
        if (
            tail is not None
            and tail.first_offset == fetch_offset >= log.log_start_offset
            and tail.end_offset == end
            and last_fetched_epoch in (NO_EPOCH, self.leader_epoch)
            and len(tail.batch) <= max_bytes
            and not log.offline
        ):
            bounds = log.high_watermark, log.last_stable_offset, log.log_start_offset
            read = PartitionRead(ErrorCode.NONE, tail.batch, *bounds, None, len(tail.batch))
        else:
            epoch = self.leader_epoch
            read = read_log(
                log, epoch, fetch_offset, max_bytes, end, min_one_message, last_fetched_epoch
            )
        if self.watch is not None and read.size:
            self.watch.read_by(replica_id, fetch_offset, read.records)
        return read

    def has_nothing_for_follower(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
    ) -> bool:
        """Whether `read_for_follower` would give neither a record nor an error nor another history:
        a follower that has all and waits for more, as nearly every one does."""
        followers = self.followers
        return (
            followers is not None
            and fetch_offset == self.log.log_end_offset
            and last_fetched_epoch in (NO_EPOCH, self.leader_epoch)
            and replica_id in followers.replicas
            and current_leader_epoch in (NO_EPOCH, self.leader_epoch)
            and self.is_leader
            and not followers.is_stale(replica_id, broker_epoch)
        )

    def follower_fetched(
        self, replica_id: int, fetch_offset: int, log_start_offset: int, broker_epoch: int
    ) -> bool:
        """A follower has all before `fetch_offset`: a read for it went well, and told it of no
        other history (KAFKA-13141). Whether its word moved the high watermark or a log start, or
        went back."""
        followers = self.followers
        assert followers is not None, "a read that went well"
        replica = followers.replicas[replica_id]
        had, started = replica.log_end_offset, replica.log_start_offset
        end, now_ms = self.log.log_end_offset, self._view.now_ms()
        replica.fetched(fetch_offset, log_start_offset, end, broker_epoch, now_ms)
        if replica_id not in followers.isr and self._proposals is not None:
            self._proposals.expand_by(replica)
        moved = had != fetch_offset and followers.advance_high_watermark()
        if self.watch is not None:
            self.watch.held_by(replica_id, fetch_offset)
            self.watch.high_watermark(self.log.high_watermark)
        # Backwards: it was truncated, or this fetch is late. A session of it that rests tells
        # where it is with its next fetch.
        return moved or fetch_offset < had or started != log_start_offset

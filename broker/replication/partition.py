"""A replica of a partition on this broker: its log, its leader and its in-sync replicas.

Owns the leader's rules: which appends it accepts, how it counts them and when it acknowledges them,
and which leader epoch a request must carry (KIP-320). With acks=all it accepts appends only while
enough replicas are in sync, and to an internal topic only from its coordinator and Kafka's admin
client. Leadership changes come from the metadata image only. Never decides which ISR is proposed
(`isr_proposals`), and never does I/O itself; the log does. Follows Kafka's `Partition`, and
`ReplicaManager` for internal topics.

`on_change` reports every change to fetch sessions and parked operations.
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
from broker.requests.traced_appends import AppendTracker
from controller.metadata.image import PartitionRegistration
from controller.metadata.topic_names import is_internal
from protocol.errors import ErrorCode
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_dir_failure import LogDirFailure
from storage.log.log_validator import RecordCheck, RecordCheckResult, record_check_before_append
from storage.log.plain_append import append_plain
from storage.log.unified_log import UnifiedLog
from storage.log.verification_state import VerificationGuard


class PartitionListener(Protocol):
    """A fetch session, or share groups, which keep the state of their partitions up to date."""

    def partition_changed(self, partition: Partition) -> None:
        """Include `partition` in the next response and wake a parked fetch that it concerns, after
        new data, watermarks, leadership or deletion."""


class Partition:
    """A partition of which this broker hosts a replica. Its identity makes it a dict key."""

    __slots__ = (
        "_alone",
        "_on_change",
        "_proposals",
        "_view",
        "adding_replicas",
        "append_tracker",
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
        """Create the replica without a leader; `apply` sets it from the metadata. `on_change` runs
        after each change that waiting requests may see."""
        self.counts = counts
        self.topic = topic
        self.is_internal = is_internal(topic)
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.node_id = node_id
        self.leader_id = NO_EPOCH
        self.is_leader = False  # this broker leads, and the partition is not deleted
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = NO_EPOCH
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()  # the committed ISR
        self.followers: Followers | None = None  # set while this leader has other replicas
        self._proposals: IsrProposals | None = None  # set while `followers` is set
        self._alone = False  # this broker leads, and is the only replica
        self.deleted = False
        self.listeners: dict[PartitionListener, None] = {}
        self.append_tracker: AppendTracker | None = None  # set while it follows a traced append
        self._on_change = on_change
        self._view = view

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    # --- leadership ----------------------------------------------------------------------------

    def apply(self, registration: PartitionRegistration) -> bool:
        """Apply the metadata and call `on_change`. Return whether a new leader epoch begins, on any
        broker.

        A leader epoch of this broker starts at the log's end (KIP-101). The metadata may be older
        than an answer to AlterPartition that this leader has already applied: a registration with
        an older partition epoch is ignored.
        """
        if registration.partition_epoch < self.partition_epoch:
            return False
        assert registration.leader_epoch >= self.leader_epoch, f"{self!r}: leader epoch goes back"
        epoch_begins = registration.leader_epoch > self.leader_epoch
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
            self._lead(registration, epoch_begins=epoch_begins, is_old=is_old)
        else:
            self.isr = registration.isr
            self._forget_followers()
        self._on_change(self)
        return epoch_begins

    def _lead(
        self, registration: PartitionRegistration, *, epoch_begins: bool, is_old: bool
    ) -> None:
        """Update followers, ISR and high watermark of a partition that this broker leads.

        `is_old`: the partition has this partition epoch already, so its ISR stays.
        """
        if epoch_begins:
            self._begin_epoch(registration.leader_epoch)
        if registration.replicas == (self.node_id,):
            self._forget_followers()
            self._alone = True
        else:
            self._alone = False
            if self.followers is None:
                self.followers = Followers(self.log, self._view)
                self._proposals = IsrProposals(self, self.followers, self._view)
            self.followers.assign(registration)
            if epoch_begins:
                self.followers.begin_epoch(registration)
        # An ISR that an answer has already committed stays: a later proposal may be pending.
        if epoch_begins or not is_old:
            self._commit_isr(registration.isr)
        self._advance_high_watermark()

    def _forget_followers(self) -> None:
        """Drop the followers' state and the pending ISR proposal."""
        if self._proposals is not None:
            self._proposals.end()
        self.followers, self._proposals, self._alone = None, None, False

    def _commit_isr(self, isr: tuple[int, ...]) -> None:
        """Set the ISR that the controller has committed, and drop the pending proposal."""
        self.isr = isr
        if self._proposals is not None:
            self._proposals.commit(isr)

    def _begin_epoch(self, leader_epoch: int) -> None:
        """Add the leader epoch to the log's leader epochs, with the log's end as its start offset.

        A failed disk is ignored here.
        """
        # After a failed write the log's directory is offline. The metadata is applied all the same,
        # and every use of this log returns KAFKA_STORAGE_ERROR.
        with suppress(LogDirFailure):
            self.log.assign_epoch_start(leader_epoch, self.log.log_end_offset)

    def replace_log(self, log: UnifiedLog) -> None:
        """Use the log from its new directory after a move, and call `on_change`."""
        log.is_replicated = self.log.is_replicated
        self.log = log
        if self.followers is not None:
            self.followers.replace_log(log)
        self._on_change(self)

    def mark_deleted(self) -> None:
        """Mark this partition as deleted, for everything that still holds it, and call `on_change`;
        its log is gone."""
        self.deleted = True
        self.is_leader = False
        self._forget_followers()
        self._on_change(self)

    # --- the ISR -------------------------------------------------------------------------------

    def shrink_isr(self) -> None:
        """Propose to the controller an ISR without the replicas that lag for more than
        `replica.lag.time.max.ms`. Do nothing unless this broker leads followers."""
        if self._proposals is not None:
            self._proposals.shrink()

    def brokers_changed(self) -> None:
        """Propose to the controller replicas that may join the ISR because the metadata of brokers
        has changed. Do nothing unless this broker leads followers."""
        if self._proposals is not None:
            self._proposals.expand()

    def take_isr(self, isr: tuple[int, ...], partition_epoch: int) -> None:
        """Apply the ISR and the partition epoch of the controller's answer to a proposal. If the
        high watermark then advances, call `on_change`."""
        self.partition_epoch = partition_epoch
        self._commit_isr(isr)
        if self._advance_high_watermark():
            self._on_change(self)

    def set_append_tracker(self, append_tracker: AppendTracker | None) -> None:
        """Set the tracker that records followers' fetches and the high watermark for traced
        appends; None removes it."""
        self.append_tracker = append_tracker

    def changed(self) -> None:
        """Wake the requests that wait for this partition.

        After an append the caller does this once the answer is on its way.
        """
        self._on_change(self)

    def is_replicated_to(self, required_offset: int) -> ErrorCode | None:
        """Return the result of acks=all; None while replicas lack data below `required_offset`.

        The result is NONE, NOT_LEADER_OR_FOLLOWER, or NOT_ENOUGH_REPLICAS_AFTER_APPEND if the ISR
        has become too small.
        """
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        followers = self.followers
        if followers is not None and len(followers.maximal_isr) < followers.min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def _advance_high_watermark(self) -> bool:
        """Advance the high watermark as far as the in-sync replicas allow, and pass it to the
        append tracker. Return True if it may have advanced."""
        if self.followers is None:
            self.log.update_high_watermark(self.log.log_end_offset)
        elif not self.followers.advance_high_watermark():
            return False
        if self.append_tracker is not None:
            self.append_tracker.high_watermark(self.log.high_watermark)
        return True

    # --- writes ----------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: memoryview,
        required_acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        internal_allowed: bool = False,
        check_result: RecordCheckResult | None = None,
        trace: RequestTrace | None = None,
    ) -> LogAppendInfo | ErrorCode:
        """Append batches, which are patched in place, with acks -1 (all), 0 or 1, and advance the
        high watermark. The caller wakes waiting requests by `changed`.

        The first append of a transaction needs the guard of its verification. `internal_allowed` is
        set for the coordinator that keeps its state here, and for clients that may write to
        internal topics.

        Return the info, with the error of the append in it, or only an ErrorCode if no append was
        tried.
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
            check_result=check_result,
        )
        if info.error:
            self.counts.produce_failed(len(records))
            return info
        self.counts.produced(info.last_offset - info.first_offset + 1, info.size)
        if trace is not None:
            trace.appended(self, info)
        self._advance_high_watermark()
        return info

    def record_check_before_append(
        self, records: memoryview, now_ms: int, internal_allowed: bool = False
    ) -> RecordCheck | None:
        """Return the check of records that a client's batch needs before `append_as_leader`.

        The outcome of the check goes to `append_as_leader` as `check_result`. Return None if the
        batch needs no check, or will not be appended.
        """
        if not self.is_leader or (self.is_internal and not internal_allowed):
            return None
        log = self.log
        if not log.checks_records:
            return None
        allocate = log.environment.allocate
        return record_check_before_append(records, log.config, now_ms, str(log.partition), allocate)

    def append_plain(self, records: memoryview, required_acks: int) -> int:
        """Append a plain batch: whole, without a transaction, with no record to check. Return its
        first offset. The high watermark advances; the caller wakes waiting requests by `changed`.

        Return -1 if nothing was appended: `append_as_leader` then appends, or says why it cannot.
        """
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
            if self._alone:  # a sole replica always ends within its log, so no check is needed
                log.high_watermark = end
            elif self.followers is not None:
                self.followers.appended(first, records)
            self.counts.produced(end - first, len(records))
        return first

    def append_end_txn_marker(
        self, marker: TransactionMarkerRequest, now_ms: int
    ) -> LogAppendInfo | ErrorCode:
        """Append the marker that ends a producer's transaction, and advance the high watermark; it
        is acknowledged like acks=all.

        Return the info, with the error of the append in it, or only an ErrorCode if no append was
        tried.
        """
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
        """Begin to verify a producer's transaction, and return the guard of the verification. The
        append needs the guard after the coordinator has verified the transaction.

        Return None if the transaction is under way in this log already and needs no verification.
        Return an ErrorCode if this broker is not the leader.
        """
        if not self.is_leader:
            return self.check_leader_epoch(NO_EPOCH)
        return self.log.start_verification(
            producer_id, sequence, producer_epoch, supports_epoch_bump
        )

    def _has_enough_isr(self) -> bool:
        """Return whether the ISR is large enough for acks=all; True without followers."""
        return self.followers is None or len(self.isr) >= self.followers.min_isr

    def delete_records(self, offset: int) -> tuple[ErrorCode, int]:
        """Move the log start to `offset` (-1: the high watermark), and call `on_change`.

        Return NONE and the new log start, or an error and -1: this broker does not lead, the offset
        is out of range, or the disk failed.
        """
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
        """The earliest log start of all live replicas."""
        start = self.log.log_start_offset
        return start if self.followers is None else self.followers.low_watermark(start)

    def is_deleted_to(self, required_offset: int) -> ErrorCode | None:
        """Return the result of DeleteRecords: NONE, or NOT_LEADER_OR_FOLLOWER.

        Return None while live replicas have records below `required_offset`.
        """
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return None if self.low_watermark < required_offset else ErrorCode.NONE

    # --- reads -----------------------------------------------------------------------------------

    def check_leader_epoch(self, current_leader_epoch: int, only_leader: bool = True) -> ErrorCode:
        """Return FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH for an epoch below or above this
        replica's (KIP-320). -1 is not compared.

        With `only_leader`, return NOT_LEADER_OR_FOLLOWER if this broker is not the leader. Return
        UNKNOWN_TOPIC_OR_PARTITION if the partition was deleted, NONE if the request may proceed.
        """
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
        """Whether this leader does not know yet all that was committed before its leadership."""
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
        """Read records from `fetch_offset` for a consumer, at most `max_bytes`. An error is
        returned in the result.

        If the first batch is larger than `max_bytes`, `min_one_message` returns it whole, otherwise
        nothing is returned. `isolation` is READ_UNCOMMITTED or READ_COMMITTED. Without
        `only_leader` a follower also answers, up to its own high watermark (KIP-392).
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
        """Read records up to the log's end for a follower. The caller reports its progress by
        `follower_fetched` afterwards.

        The error is UNKNOWN_LEADER_EPOCH for a replica that is not in the leader's metadata yet. It
        is NOT_LEADER_OR_FOLLOWER for a fetch from before the replica's last restart (KIP-903). The
        follower tries again.
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
        if self.append_tracker is not None and read.size:
            self.append_tracker.on_fetch(replica_id, fetch_offset, read.records)
        return read

    def has_nothing_for_follower(
        self,
        replica_id: int,
        broker_epoch: int,
        fetch_offset: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
    ) -> bool:
        """Return whether `read_for_follower` would return no record, error or diverging epoch.

        The usual case is True: a follower has everything and waits for more.
        """
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
        """Store that a follower has all before `fetch_offset`, and its log start. Propose it for
        the ISR if it may join, and advance the high watermark.

        Only for a follower whose read succeeded without a diverging epoch (KAFKA-13141). Return
        whether the high watermark or the follower's log start moved, or the follower went back.
        """
        followers = self.followers
        assert followers is not None, "a read that went well"
        replica = followers.replicas[replica_id]
        previous_end, previous_start = replica.log_end_offset, replica.log_start_offset
        end, now_ms = self.log.log_end_offset, self._view.now_ms()
        replica.fetched(fetch_offset, log_start_offset, end, broker_epoch, now_ms)
        if replica_id not in followers.isr and self._proposals is not None:
            self._proposals.expand_by(replica)
        moved = previous_end != fetch_offset and followers.advance_high_watermark()
        if self.append_tracker is not None:
            self.append_tracker.on_replicated(replica_id, fetch_offset)
            self.append_tracker.high_watermark(self.log.high_watermark)
        # A follower goes back if it was truncated, or if this fetch is late. An idle session of it
        # sends its position with its next fetch.
        return moved or fetch_offset < previous_end or previous_start != log_start_offset

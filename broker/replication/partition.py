"""One replica of one partition on this broker: its log, its leader, its in-sync replicas.

Owns the leader's rules: when an append is acknowledged, who is proposed for the ISR; who may
append is in `partition_appends`, what readers get in `partition_reads`. Changes of leadership come
from the metadata image only. Never does I/O itself; the log does. Follows Kafka's `Partition`.

Fetch sessions and parked operations hear of every change through `on_change`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from broker.metrics import TopicMetrics
from broker.replication.alter_partition_manager import Altered, Proposal
from broker.replication.followers import Followers, IsrChange, LeaderView
from broker.replication.partition_appends import PartitionAppends
from broker.replication.partition_reads import NO_EPOCH, NO_OFFSET
from broker.replication.replica import Replica
from controller.metadata.image import RECOVERED, PartitionRegistration
from controller.metadata.topic_names import is_internal
from protocol.errors import ErrorCode
from storage.log.log_dir_failure import LogDirFailure
from storage.log.unified_log import UnifiedLog

_log = logging.getLogger(f"ottla.{__name__}")

# By these the controller says that nothing was changed, by this proposal nor by an earlier try of
# it. After any other refusal the metadata alone tells what is so.
NOT_APPLIED = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)


class PartitionListener(Protocol):
    """Something that keeps what it knows of many partitions up to date (a fetch session)."""

    def partition_changed(self, partition: Partition) -> None:
        """Data, watermarks, leadership or existence of `partition` changed."""


class Partition(PartitionAppends):
    """A partition that this broker hosts a replica of. Identity is the object: it is a dict key."""

    __slots__ = (
        "_alone",
        "_on_change",
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
        self._alone = False  # whether it leads, and is the only replica
        self.deleted = False
        self.listeners: dict[PartitionListener, None] = {}
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
            self.followers, self._alone = None, False
        self._on_change(self)
        return begins

    def _lead(self, registration: PartitionRegistration, *, begins: bool, is_old: bool) -> None:
        if begins:
            self._open(registration.leader_epoch)
        self._alone = registration.replicas == (self.node_id,)
        if self._alone:
            self.followers = None
        else:
            if self.followers is None:
                self.followers = Followers(self.log, self._view)
            self.followers.assign(registration)
            if begins:
                self.followers.begin_epoch(registration)
        # What an answer told before stands: a proposal made since then is still under way.
        if begins or not is_old:
            self._commit_isr(registration.isr)
        self._advance_high_watermark()

    def _commit_isr(self, isr: tuple[int, ...]) -> None:
        self.isr = isr
        if self.followers is not None:
            self.followers.commit(isr)

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
            self.followers.log = log
        self._on_change(self)

    def mark_deleted(self) -> None:
        """The log is gone: whoever still holds this partition learns it here."""
        self.deleted = True
        self.is_leader = False
        self.followers, self._alone = None, False
        self._on_change(self)

    # --- the ISR -------------------------------------------------------------------------------

    def shrink_isr(self) -> None:
        """Propose an ISR without those that lag for longer than `replica.lag.time.max.ms`."""
        followers = self.followers
        if followers is None:
            return
        late = followers.out_of_sync()
        if late:
            lags = ", ".join(repr(followers.replicas[one]) for one in late)
            _log.info("%r: out of sync (end %d): %s", self, self.log.log_end_offset, lags)
            self._propose(followers, followers.shrinking(late))

    def brokers_changed(self) -> None:
        """The metadata says otherwise of brokers: one that was refused may come in sync now."""
        if self.followers is not None:
            self._expand_isr(self.followers)

    def _expand_isr(self, followers: Followers) -> None:
        # Not at a fetch: so only who has fetched lately, lest one that was just found to lag
        # comes back, as it would where the high watermark stands.
        for replica in followers.replicas.values():
            if followers.has_time(replica):
                self._propose_expansion(followers, replica)

    def _propose_expansion(self, followers: Followers, replica: Replica) -> None:
        change = followers.expansion(replica)
        if change is not None:
            _log.info("%r: %r is in sync (ISR %s)", self, replica, self.isr)
            self._propose(followers, change)

    def _propose(self, followers: Followers, change: IsrChange) -> None:
        manager = self._view.alter_partitions
        assert manager is not None, "proposed without a way to the controller"
        own = (self.node_id, manager.broker_epoch())
        proposal = Proposal(
            self.topic_id,
            self.index,
            self.leader_epoch,
            self.partition_epoch,
            followers.broker_epochs(change.isr, own),
            RECOVERED,  # an unclean leader has recovered by leading
        )
        manager.submit(proposal, lambda answer: self._altered(change, answer))

    def _altered(self, change: IsrChange, answer: Altered | ErrorCode) -> None:
        followers = self.followers
        if followers is None or followers.pending is not change:
            return  # the metadata has told more since
        if isinstance(answer, ErrorCode):
            self._view.failed_isr_updates += 1
            if answer in NOT_APPLIED:
                followers.commit(self.isr)
                if self._advance_high_watermark():
                    self._on_change(self)
            else:
                # It may have been applied: `change` counts until the metadata tells.
                _log.info("%r: ISR %s refused: %s", self, change.isr, answer.name)
            return
        if (
            answer.leader_epoch != self.leader_epoch
            or answer.partition_epoch < self.partition_epoch
        ):
            self._view.failed_isr_updates += 1
            return
        _log.info("%r: ISR %s is now %s", self, self.isr, answer.isr)
        self.partition_epoch = answer.partition_epoch
        self._commit_isr(answer.isr)
        if self._advance_high_watermark():
            self._on_change(self)
        self._expand_isr(followers)  # another may have waited for this answer

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
        if self.followers is not None:
            return self.followers.advance_high_watermark()
        self.log.high_watermark = self.log.log_end_offset
        return True

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
        if replica_id not in followers.isr:
            self._propose_expansion(followers, replica)
        moved = had != fetch_offset and followers.advance_high_watermark()
        # Backwards: it was truncated, or this fetch is late. A session of it that rests tells
        # where it is with its next fetch.
        return moved or fetch_offset < had or started != log_start_offset

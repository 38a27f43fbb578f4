"""What is written to one partition by its leader: batches of clients, and markers.

Owns who may append: the leader, with acks=all only while enough replicas are in sync, and to an
internal topic its coordinator and Kafka's admin client alone; and what an append counts as. When it
is acknowledged is `partition`'s. All ways of a Produce end here. Follows the writing half of
Kafka's `Partition`, and `ReplicaManager` for internal topics.
"""

from __future__ import annotations

from broker.metrics import TopicMetrics
from broker.replication.partition_reads import NO_EPOCH, PartitionReads
from broker.replication.transaction_marker import TransactionMarkerRequest
from protocol.errors import ErrorCode
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_validator import Look, LookedAt, look_before_append
from storage.log.verification_state import VerificationGuard


class PartitionAppends(PartitionReads):
    """The half of `broker.replication.partition.Partition` that writes; the state is there."""

    __slots__ = ()

    _alone: bool
    counts: TopicMetrics
    is_internal: bool
    isr: tuple[int, ...]

    def _advance_high_watermark(self) -> bool:
        raise NotImplementedError

    def append_as_leader(
        self,
        records: memoryview,
        required_acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        internal_allowed: bool = False,
        looked_at: LookedAt | None = None,
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
        counts = self.counts
        counts.total_produce_requests += 1
        if info.error:
            counts.failed_produce_requests += 1
            counts.bytes_rejected += len(records)
            return info
        counts.messages_in += info.last_offset - info.first_offset + 1
        counts.bytes_in += info.size
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
        first = log.append_plain(records, self.leader_epoch)
        if first >= 0:
            end = log.log_end_offset
            if self._alone:  # inside the log by itself: no need to be fitted into it every time
                log.high_watermark = end
            elif self.followers is not None:
                self.followers.appended(first, records)
            counts = self.counts
            counts.total_produce_requests += 1
            counts.messages_in += end - first
            counts.bytes_in += len(records)
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

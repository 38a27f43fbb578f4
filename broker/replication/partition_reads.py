"""What readers get of one partition: consumers, followers, and who looks for an offset by time.

Owns the rules of reading: which leader epoch a request must carry (KIP-320), how far who may read
(the high watermark, the last stable offset, the log's end), and when a reader is told that its
history is another (KIP-595). Never changes the partition. Follows the reading half of Kafka's
`Partition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker.replication.followers import Followers
from protocol.errors import ErrorCode
from protocol.record_batch import CorruptBatch
from storage.log.aborted_lookup import aborted_in
from storage.log.fetch_data import TimestampAndOffset
from storage.log.file_records import FileRecords
from storage.log.log_dir_failure import LogDirFailure
from storage.log.sliced_work import Steps
from storage.log.time_lookup import look_up_by_time
from storage.log.transaction_index import AbortedTxn
from storage.log.unified_log import UnifiedLog

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
READ_LOG_END = -1  # followers, and the debugging consumer; no request says so
CONSUMER_ISOLATIONS = (READ_UNCOMMITTED, READ_COMMITTED)

NO_EPOCH = -1
NO_OFFSET = -1


@dataclass(slots=True)
class PartitionRead:
    """What one partition gives to a Fetch. Offsets are -1 where `error` left them unknown."""

    error: ErrorCode = ErrorCode.NONE
    records: FileRecords | bytes = b""
    """Bytes are for followers alone: the leader's last batch. A consumer has none to read then."""
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    diverging_epoch: tuple[int, int] | None = None  # (epoch, end offset), KIP-595
    size: int = 0
    """Bytes of records."""
    unsettled: bool = False
    """There is more, which was not given, or it is elsewhere: look again next time."""
    preferred_read_replica: int = NO_EPOCH
    """The broker to read from instead (KIP-392); -1 for this one."""
    aborted: Sequence[AbortedTxn] | None = None
    """Transactions that a read_committed reader skips in these records; None where the answer has
    none to name them for."""
    withheld: int = 0
    """Bytes that there was room for, where the first batch is larger and nothing of it is given."""


class PartitionReads:
    """The half of `broker.replication.partition.Partition` that reads; the state is there."""

    __slots__ = ()

    deleted: bool
    followers: Followers | None
    is_leader: bool
    leader_epoch: int
    leader_id: int
    log: UnifiedLog
    node_id: int

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

    def upper_offset(self, isolation: int) -> int:
        """Readers see offsets below this one."""
        if isolation == READ_COMMITTED:
            return self.log.last_stable_offset
        if isolation == READ_LOG_END:
            return self.log.log_end_offset
        return self.log.high_watermark

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
        if (
            self.deleted
            or (current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch)
            or (only_leader and self.leader_id != self.node_id)
        ):
            return PartitionRead(self.check_leader_epoch(current_leader_epoch, only_leader))
        if isolation == READ_UNCOMMITTED:
            upper = self.log.high_watermark
            return self._read(fetch_offset, max_bytes, upper, min_one_message, last_fetched_epoch)
        upper = self.log.last_stable_offset
        read = self._read(fetch_offset, max_bytes, upper, min_one_message, last_fetched_epoch)
        if read.error or read.withheld or read.diverging_epoch is not None:
            return read
        try:
            read.aborted = aborted_in(self.log, fetch_offset, read.records) if read.size else ()
        except CorruptBatch:
            return PartitionRead(ErrorCode.CORRUPT_MESSAGE)
        except LogDirFailure:
            return PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        return read

    def has_nothing_for(
        self,
        fetch_offset: int,
        isolation: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
    ) -> bool:
        """Whether `read` would give such a consumer neither a record nor an error."""
        log = self.log
        return (
            not self.deleted
            and current_leader_epoch in (NO_EPOCH, self.leader_epoch)
            and last_fetched_epoch in (NO_EPOCH, self.leader_epoch)
            and self.upper_offset(isolation) <= fetch_offset <= log.log_end_offset
            and log.log_start_offset <= fetch_offset
        )

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
            return PartitionRead(
                ErrorCode.NONE,
                tail.batch,
                log.high_watermark,
                log.last_stable_offset,
                log.log_start_offset,
                None,
                len(tail.batch),
            )
        return self._read(fetch_offset, max_bytes, end, min_one_message, last_fetched_epoch)

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

    def _read(
        self,
        fetch_offset: int,
        max_bytes: int,
        upper: int,
        min_one_message: bool,
        last_fetched_epoch: int,
    ) -> PartitionRead:
        log = self.log
        if last_fetched_epoch != NO_EPOCH and last_fetched_epoch != self.leader_epoch:
            diverging = self._diverging_epoch(fetch_offset, last_fetched_epoch)
            if diverging is not None:
                return diverging
        if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
            diverging = None
            if last_fetched_epoch != NO_EPOCH:  # of this very epoch it has more than there is
                diverging = self._diverging_epoch(fetch_offset, last_fetched_epoch)
            return diverging or PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
        records: FileRecords | bytes = b""
        size, starved = 0, False
        if fetch_offset < upper:
            if max_bytes > 0 or min_one_message:
                data = log.read(fetch_offset, max_bytes, upper, min_one_message)
                if data.error:
                    return PartitionRead(data.error)
                records, size = data.records, data.size
                starved = data.first_batch_incomplete
            else:
                starved = True
        read = PartitionRead(
            ErrorCode.NONE,
            records,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            None,
            size,
            starved,
        )
        if starved:
            read.withheld = max(max_bytes, 0)
        return read

    def offset_by_time(self, timestamp: int) -> Steps[TimestampAndOffset | None | ErrorCode]:
        """The first record at or after `timestamp` (ms), or by one of ListOffsets' names."""
        try:
            return (yield from look_up_by_time(self.log, timestamp))
        except LogDirFailure:
            return ErrorCode.KAFKA_STORAGE_ERROR
        except CorruptBatch:
            return ErrorCode.CORRUPT_MESSAGE

    def _diverging_epoch(self, fetch_offset: int, last_fetched_epoch: int) -> PartitionRead | None:
        epoch, end_offset = self.log.end_offset_for_epoch(last_fetched_epoch)
        if epoch == NO_EPOCH or end_offset == NO_OFFSET:
            return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
        if fetch_offset < self.log.log_start_offset:
            return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return PartitionRead(
                high_watermark=self.log.high_watermark,
                last_stable_offset=self.log.last_stable_offset,
                log_start_offset=self.log.log_start_offset,
                diverging_epoch=(epoch, end_offset),
            )
        return None

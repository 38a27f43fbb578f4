"""A partition that this broker follows, and the effect of the leader's answers on its log.

Owns the rules of a follower. It truncates what differs from the leader's log before it appends
anything (KIP-101, KIP-279, KIP-595), and appends batches unchanged. Its high watermark is the
leader's, limited to its own log end, and rises only after truncation and append (KAFKA-14704). Its
log start follows the leader's.

Never sends anything, and knows no other partition; `broker.replication.replica_fetcher` does.

Follows Kafka's `ReplicaFetcherThread`, and the part of `AbstractFetcherThread` that is about a
single partition.
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import Any

from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from storage.log.fetch_data import UNDEFINED_EPOCH, UNDEFINED_OFFSET

_log = logging.getLogger(f"ottla.{__name__}")

FetchKey = tuple[bytes, int]
"""The topic id and the partition index, by which a Fetch names a partition."""

Position = tuple[int, int, int, int]
"""A partition's state in a Fetch: leader epoch, fetch offset, log start, last fetched epoch."""

UNKNOWN_LAG = -1
FIRST_RETRY_MS = 50


class FollowerState(Enum):
    """The state of a followed partition.

    FETCHING      every fetch includes it; → DELAYED, OUT_OF_RANGE
    OUT_OF_RANGE  the fetcher asks the leader for its log's bounds; → FETCHING, DELAYED
    DELAYED       waits a while after an error; → FETCHING
    """

    FETCHING = "Fetching"
    OUT_OF_RANGE = "OutOfRange"
    DELAYED = "Delayed"


class FollowedPartition:
    """A partition under a single leader epoch; a later epoch gets another instance."""

    __slots__ = ("due_ms", "failures", "key", "lag", "leader_epoch", "partition", "state")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.key: FetchKey = (partition.topic_id, partition.index)
        self.state = FollowerState.FETCHING
        self.due_ms = 0.0
        self.failures = 0
        self.lag = UNKNOWN_LAG
        """Missing records below the leader's high watermark; -1 before the first answer."""

    def __repr__(self) -> str:
        return f"{self.partition!r} (leader epoch {self.leader_epoch})"

    @property
    def position(self) -> Position:
        """The position that the next fetch carries."""
        log = self.partition.log
        return (
            self.leader_epoch,
            log.log_end_offset,
            log.log_start_offset,
            log.leader_epochs.latest,
        )

    def resume(self) -> None:
        """Include the partition in fetches again."""
        self.state = FollowerState.FETCHING

    def delay(self, due_ms: float) -> None:
        """Leave the partition out of fetches until `due_ms` (monotonic)."""
        self.state = FollowerState.DELAYED
        self.due_ms = due_ms

    def out_of_range(self) -> None:
        """Set the state OUT_OF_RANGE: the log ends outside the leader's log, whose bounds the
        fetcher requests."""
        self.state = FollowerState.OUT_OF_RANGE

    def retry_ms(self, backoff_ms: int) -> int:
        """Count another error, and return the wait after it in ms.

        It is short at first, because most errors come from metadata that reached this broker before
        the leader. It grows to `replica.fetch.backoff.ms`.
        """
        self.failures += 1
        return min(backoff_ms, FIRST_RETRY_MS << min(self.failures - 1, 16))

    def begin(self) -> None:
        """Truncate to the high watermark if the log has no leader epochs to compare.

        Raises LogDirFailure.
        """
        log = self.partition.log
        if log.latest_epoch == UNDEFINED_EPOCH and log.high_watermark < log.log_end_offset:
            self._truncate(log.high_watermark)

    # ---- the leader's answers --------------------------------------------------------------------

    def take(self, data: Any) -> ErrorCode:
        """Append the leader's records, then adopt its high watermark and log start. Wake the
        requests that wait for the partition if either has moved.

        Return the error of the append, or UNKNOWN_LEADER_EPOCH if no batch was of this leader
        epoch. Raises LogDirFailure.
        """
        partition = self.partition
        log = partition.log
        before = log.high_watermark, log.log_start_offset
        if data.records and log.log_start_offset < log.log_end_offset <= data.log_start_offset:
            # The leader deleted all that this log has. The leader's log may begin inside a batch,
            # which starts before this log's end: only a log that begins there can append it
            # (KAFKA-6975).
            log.truncate_fully_and_start_at(log.log_end_offset)
        if data.records:
            info = log.append_as_follower(data.records, self.leader_epoch)
            if info.error:
                _log.error("%r: append refused: %s", self, info.error_message)
                return info.error
            if not info.size:
                # Not one whole batch of this epoch: the leader's metadata is newer than this
                # broker's.
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        end = log.log_end_offset
        # What was once committed stays committed. A new leader that does not know it yet does not
        # lower the high watermark, and what an unclean election takes back was truncated before.
        committed = min(data.high_watermark, end)
        if committed > log.high_watermark:
            log.update_high_watermark(committed)
        self.lag = max(0, data.high_watermark - end)
        self.failures = 0
        if data.log_start_offset > log.log_start_offset:
            error = log.increment_log_start_offset(min(data.log_start_offset, log.high_watermark))
            if error:
                return error
        if (log.high_watermark, log.log_start_offset) != before:
            partition.changed()
        return ErrorCode.NONE

    def truncate_on_divergence(self, leader_epoch: int, leader_end_offset: int) -> None:
        """Truncate to where this log and the leader's diverge.

        `leader_epoch` is the leader's largest epoch that is not above this log's last epoch, and
        `leader_end_offset` is where it ends in the leader's log. If this log does not have that
        epoch, truncate to the end of its largest earlier epoch; the next fetch compares again
        (KIP-279). Raises LogDirFailure.
        """
        log = self.partition.log
        end = log.log_end_offset
        if leader_end_offset == UNDEFINED_OFFSET:
            self._truncate(min(log.high_watermark, end))
            return
        if leader_epoch == UNDEFINED_EPOCH:
            self._truncate(min(leader_end_offset, end))
            return
        own = log.end_offset_for_epoch(leader_epoch)
        if own.end_offset == UNDEFINED_OFFSET:
            offset = leader_end_offset
        elif own.leader_epoch != leader_epoch:
            offset = own.end_offset
        else:
            offset = min(own.end_offset, leader_end_offset)
        self._truncate(min(offset, end))

    def take_bounds(self, leader_start: int, leader_end: int) -> bool:
        """Move the log's end into the leader's log with these bounds: truncate to `leader_end`, or
        restart empty at `leader_start`. Return False if the end is within them already.

        Raises LogDirFailure.
        """
        log = self.partition.log
        end = log.log_end_offset
        if leader_end < end:
            self._truncate(leader_end)
            return True
        if leader_start > end:
            _log.warning(
                "%r: the log ends at %d and the leader's begins at %d: it begins anew there",
                self,
                end,
                leader_start,
            )
            log.truncate_fully_and_start_at(leader_start)
            self.partition.changed()
            return True
        return False

    def _truncate(self, offset: int) -> None:
        """Truncate the log to `offset`, and wake the requests that wait for the partition. Logs a
        warning if that drops committed records. Raises LogDirFailure."""
        log = self.partition.log
        if offset < log.high_watermark:
            # Only the election of a replica that was not in sync takes back committed records.
            _log.warning(
                "%r: truncated to %d, below its high watermark %d", self, offset, log.high_watermark
            )
        elif offset < log.log_end_offset:
            _log.info("%r: truncated from %d to %d", self, log.log_end_offset, offset)
        log.truncate_to(offset)
        self.partition.changed()

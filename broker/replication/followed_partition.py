"""One partition that this broker follows: what a leader's answer does to its log.

Owns the rules of a follower: what leaders disagree about is cut off before anything else is taken
(KIP-101, KIP-279, KIP-595), batches are appended as they are, the high watermark is the leader's as
far as the log reaches, and rises only then (KAFKA-14704), the log start follows the leader's.

Never sends anything, and knows no other partition: `broker.replication.replica_fetcher` does.

Follows Kafka's `ReplicaFetcherThread`, and of `AbstractFetcherThread` what is about one partition.
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
"""Topic id and partition index: how a Fetch names a partition."""

Position = tuple[int, int, int, int]
"""What a Fetch says of a partition: leader epoch, fetch offset, log start, last fetched epoch."""

UNKNOWN_LAG = -1
FIRST_RETRY_MS = 50


class FollowerState(Enum):
    """Where a followed partition stands.

    FETCHING      is in every fetch; → DELAYED, OUT_OF_RANGE
    OUT_OF_RANGE  asks the leader where its log begins and ends; → FETCHING, DELAYED
    DELAYED       waits a while after an error; → FETCHING
    """

    FETCHING = "Fetching"
    OUT_OF_RANGE = "OutOfRange"
    DELAYED = "Delayed"


class FollowedPartition:
    """A partition under one leader epoch; a later epoch makes another of these."""

    __slots__ = ("due_ms", "failures", "key", "lag", "leader_epoch", "partition", "state")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.key: FetchKey = (partition.topic_id, partition.index)
        self.state = FollowerState.FETCHING
        self.due_ms = 0.0
        self.failures = 0
        self.lag = UNKNOWN_LAG
        """Records below the leader's high watermark that are missing here; -1 before it told."""

    def __repr__(self) -> str:
        return f"{self.partition!r} (leader epoch {self.leader_epoch})"

    @property
    def position(self) -> Position:
        """What the next fetch says of it."""
        log = self.partition.log
        return (
            self.leader_epoch,
            log.log_end_offset,
            log.log_start_offset,
            log.leader_epochs.latest,
        )

    def resume(self) -> None:
        """It is in the fetches again."""
        self.state = FollowerState.FETCHING

    def delay(self, due_ms: float) -> None:
        """It waits until then (monotonic)."""
        self.state = FollowerState.DELAYED
        self.due_ms = due_ms

    def out_of_range(self) -> None:
        """Its end is outside the leader's log: bounds are asked for."""
        self.state = FollowerState.OUT_OF_RANGE

    def retry_ms(self, backoff_ms: int) -> int:
        """How long to wait after one more error: not long at first, for most errors come of
        metadata that reached this broker before the leader; then `replica.fetch.backoff.ms`."""
        self.failures += 1
        return min(backoff_ms, FIRST_RETRY_MS << min(self.failures - 1, 16))

    def begin(self) -> None:
        """A log without any epoch cannot be compared with the leader's: what is not committed goes.

        Raises LogDirFailure.
        """
        log = self.partition.log
        if log.latest_epoch == UNDEFINED_EPOCH and log.high_watermark < log.log_end_offset:
            self._truncate(log.high_watermark)

    # ---- what a leader answers -------------------------------------------------------------------

    def take(self, data: Any) -> ErrorCode:
        """Append what the leader sent, then learn its high watermark and log start."""
        partition = self.partition
        log = partition.log
        before = log.high_watermark, log.log_start_offset
        if data.records and log.log_start_offset < log.log_end_offset <= data.log_start_offset:
            # The leader deleted all that we have. Its log may begin inside a batch, which reaches
            # back over our end: only a log that begins there can take it (KAFKA-6975).
            log.truncate_fully_and_start_at(log.log_end_offset)
        if data.records:
            info = log.append_as_follower(data.records, self.leader_epoch)
            if info.error:
                _log.error("%r: append refused: %s", self, info.error_message)
                return info.error
            if not info.size:
                # Not one whole batch of this epoch: the leader is ahead of our metadata.
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        end = log.log_end_offset
        # What was committed once stays so: a new leader that does not know it yet takes nothing
        # back, and what an unclean election takes back was cut off before.
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
        """The leader's log says where the largest epoch up to our last one ended: cut there.

        Where we do not know that epoch, we cut to the end of the largest that we know before it,
        and the next fetch asks again (KIP-279). Raises LogDirFailure.
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
        """Our end is outside the leader's log, which has these bounds; True where that moved it.

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
        log = self.partition.log
        if offset < log.high_watermark:
            # Only an election of a replica that was not in sync takes back what was committed.
            _log.warning(
                "%r: truncated to %d, below its high watermark %d", self, offset, log.high_watermark
            )
        elif offset < log.log_end_offset:
            _log.info("%r: truncated from %d to %d", self, log.log_end_offset, offset)
        log.truncate_to(offset)
        self.partition.changed()

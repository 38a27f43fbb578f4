"""The fate of a traced append: which replicas have copied it, and when consumers may read it.

A leader's `Partition` has a `AppendTracker` while one of its appends is followed, and otherwise
None, so an untraced partition pays for one comparison. The partition reports each fetch of a
follower and each move of the high watermark to the tracker, which knows the appends concerned.

It owns the appends that are followed, at most `FOLLOWED_MAX` on a node; the oldest is dropped for a
new one. It never decides which replica has what (`broker.replication.followers` does).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker.requests.request_trace import RequestTrace, StationName
from storage.log.file_records import FileRecords
from storage.log.log_append_info import LogAppendInfo
from storage.log.unified_log import UnifiedLog

FOLLOWED_MAX = 64


class WatchedPartition(Protocol):
    """The leader's partition, as far as a tracker uses it."""

    append_tracker: AppendTracker | None
    topic: str
    index: int
    node_id: int
    replicas: tuple[int, ...]
    log: UnifiedLog

    def set_append_tracker(self, tracker: AppendTracker | None) -> None:
        """Set the tracker that gets the fetches and the high watermark; None removes it."""


class FollowedAppend:
    """One append of a traced request."""

    __slots__ = ("committed", "end", "first", "missing", "position", "reads", "segment", "trace")

    def __init__(
        self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo
    ) -> None:
        """Record the place of an append that has just been made at the end of the partition's
        active segment."""
        segment = partition.log.active
        self.trace = trace
        self.first = info.first_offset
        self.end = info.last_offset + 1
        self.segment = segment.base_offset
        self.position = segment.size - info.size
        self.committed = False
        self.missing = {
            broker_id: None for broker_id in partition.replicas if broker_id != partition.node_id
        }
        """The replicas that have not shown yet that they have the append."""
        self.reads: dict[int, tuple[float, int]] = {}
        """By replica: the time of the last Fetch that got the append, and the bytes it got."""

    @property
    def is_over(self) -> bool:
        """Whether all replicas have the append and consumers may read it."""
        return self.committed and not self.missing

    def is_in(self, fetch_offset: int, records: FileRecords | bytes) -> bool:
        """Return whether a read from `fetch_offset` contains the append."""
        if not self.segment <= fetch_offset <= self.first:
            return False
        # Bytes are the leader's last batch; a slice begins in the segment that has the offset.
        return isinstance(records, bytes) or (
            records.position <= self.position < records.position + records.size
        )


class AppendTracker:
    """The followed appends of one partition."""

    __slots__ = ("_appends", "_clock_s", "_append_over", "_partition")

    def __init__(
        self,
        partition: WatchedPartition,
        clock_s: Callable[[], float],
        over: Callable[[FollowedAppend], None],
    ) -> None:
        """Watch a partition. `over` is called with each append that is no longer followed."""
        self._partition = partition
        self._clock_s = clock_s
        self._append_over = over
        self._appends: dict[FollowedAppend, None] = {}

    def add(self, append: FollowedAppend) -> None:
        """Follow an append: add stations to its trace from now on, until it is dropped."""
        self._appends[append] = None

    def drop(self, append: FollowedAppend) -> None:
        """Stop following an append, and call `over` with it. After the last append, remove this
        tracker from the partition."""
        self._appends.pop(append, None)
        self._append_over(append)
        if not self._appends and self._partition.append_tracker is self:
            self._partition.set_append_tracker(None)

    def high_watermark(self, offset: int) -> None:
        """Add a station to each followed append below `offset`, which the high watermark has
        reached. Drop those that all followers have."""
        for append in list(self._appends):
            if not append.committed and append.end <= offset:
                append.committed = True
                self._add_station(
                    append, StationName.HIGH_WATERMARK, self._clock_s(), offset=offset
                )

    def on_fetch(self, broker_id: int, fetch_offset: int, records: FileRecords | bytes) -> None:
        """Record the time and bytes of this follower's Fetch for each followed append that
        `records` contain."""
        for append in self._appends:
            if broker_id in append.missing and append.is_in(fetch_offset, records):
                append.reads[broker_id] = self._clock_s(), len(records)

    def on_replicated(self, broker_id: int, offset: int) -> None:
        """Add stations to each followed append below `offset`: the follower has it, and when its
        Fetch read it.

        An append that all followers have and consumers may read is dropped.
        """
        for append in list(self._appends):
            if broker_id not in append.missing or append.end > offset:
                continue
            del append.missing[broker_id]
            read = append.reads.get(broker_id)
            if read is not None:
                self._add_station(
                    append,
                    StationName.FOLLOWER_READ,
                    read[0],
                    broker=broker_id,
                    bytes=read[1],
                )
            self._add_station(
                append, StationName.FOLLOWER_HAS, self._clock_s(), broker=broker_id, offset=offset
            )

    def _add_station(
        self, append: FollowedAppend, name: StationName, at_s: float, **facts: int
    ) -> None:
        """Add a station with the partition's name to the append's trace; drop the append if it is
        over.
        """
        partition = self._partition
        append.trace.add(
            name, at_s, None, topic=partition.topic, partition=partition.index, **facts
        )
        if append.is_over:
            self.drop(append)


class TracedAppends:
    """All followed appends of a node."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._followed: dict[FollowedAppend, AppendTracker] = {}

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo) -> None:
        """Follow an append that was just made. Drop the oldest one if more than FOLLOWED_MAX are
        followed.

        Ignore a duplicate: the original was followed.
        """
        if info.duplicate:
            return
        tracker = partition.append_tracker
        if tracker is None:
            tracker = AppendTracker(partition, self._clock_s, self._append_over)
            partition.set_append_tracker(tracker)
        append = FollowedAppend(trace, partition, info)
        tracker.add(append)
        self._followed[append] = tracker
        if len(self._followed) > FOLLOWED_MAX:
            oldest, oldest_watch = next(iter(self._followed.items()))
            oldest_watch.drop(oldest)

    def _append_over(self, append: FollowedAppend) -> None:
        """Remove an append that is no longer followed."""
        self._followed.pop(append, None)

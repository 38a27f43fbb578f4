"""What becomes of a traced append: who has copied it, and when consumers may read it.

A leader's `Partition` has a `PartitionWatch` as long as one of its appends is followed, and none
otherwise: then a station there costs one comparison. It tells the watch of each fetch of a follower
and of each move of the high watermark; the watch knows which appends that concerns.

Owns the appends that are followed, at most `FOLLOWED_MAX` on a node: the oldest makes room. Never:
decides who has what (`broker.replication.followers` does).
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
    """The leader's partition."""

    watch: PartitionWatch | None
    topic: str
    index: int
    node_id: int
    replicas: tuple[int, ...]
    log: UnifiedLog

    def watch_by(self, watch: PartitionWatch | None) -> None:
        """Who hears of it from now on."""


class FollowedAppend:
    """One append of a traced request."""

    __slots__ = ("committed", "end", "first", "missing", "position", "reads", "segment", "trace")

    def __init__(
        self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo
    ) -> None:
        segment = partition.log.active
        self.trace = trace
        self.first = info.first_offset
        self.end = info.last_offset + 1
        self.segment = segment.base_offset
        self.position = segment.size - info.size
        self.committed = False
        self.missing = {one: None for one in partition.replicas if one != partition.node_id}
        """Replicas that have not told yet that they have it."""
        self.reads: dict[int, tuple[float, int]] = {}
        """By replica: when a fetch was given it last, and the bytes of that."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be heard of it."""
        return self.committed and not self.missing

    def is_in(self, fetch_offset: int, records: FileRecords | bytes) -> bool:
        """Whether a read from that offset has it."""
        if not self.segment <= fetch_offset <= self.first:
            return False
        # Bytes are the leader's last batch; a slice begins in the segment that has the offset.
        return isinstance(records, bytes) or (
            records.position <= self.position < records.position + records.size
        )


class PartitionWatch:
    """The appends of one partition that are followed."""

    __slots__ = ("_appends", "_clock_s", "_over", "_partition")

    def __init__(
        self,
        partition: WatchedPartition,
        clock_s: Callable[[], float],
        over: Callable[[FollowedAppend], None],
    ) -> None:
        """`over` hears of each append that is followed no more."""
        self._partition = partition
        self._clock_s = clock_s
        self._over = over
        self._appends: dict[FollowedAppend, None] = {}

    def add(self, append: FollowedAppend) -> None:
        """Follow it."""
        self._appends[append] = None

    def drop(self, append: FollowedAppend) -> None:
        """Follow it no more; without any, the partition is not watched."""
        self._appends.pop(append, None)
        self._over(append)
        if not self._appends and self._partition.watch is self:
            self._partition.watch_by(None)

    def high_watermark(self, offset: int) -> None:
        """It has moved there."""
        for append in list(self._appends):
            if not append.committed and append.end <= offset:
                append.committed = True
                self._tell(append, StationName.HIGH_WATERMARK, self._clock_s(), offset=offset)

    def read_by(self, broker_id: int, fetch_offset: int, records: FileRecords | bytes) -> None:
        """A follower's fetch is given these."""
        for append in self._appends:
            if broker_id in append.missing and append.is_in(fetch_offset, records):
                append.reads[broker_id] = self._clock_s(), len(records)

    def held_by(self, broker_id: int, offset: int) -> None:
        """A follower has told that it has all before `offset`."""
        for append in list(self._appends):
            if broker_id not in append.missing or append.end > offset:
                continue
            del append.missing[broker_id]
            read = append.reads.get(broker_id)
            if read is not None:
                self._tell(
                    append,
                    StationName.FOLLOWER_READ,
                    read[0],
                    broker=broker_id,
                    bytes=read[1],
                )
            self._tell(
                append, StationName.FOLLOWER_HAS, self._clock_s(), broker=broker_id, offset=offset
            )

    def _tell(self, append: FollowedAppend, name: StationName, at_s: float, **facts: int) -> None:
        partition = self._partition
        append.trace.add(
            name, at_s, None, topic=partition.topic, partition=partition.index, **facts
        )
        if append.is_over:
            self.drop(append)


class TracedAppends:
    """All that are followed on a node."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._followed: dict[FollowedAppend, PartitionWatch] = {}

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, trace: RequestTrace, partition: WatchedPartition, info: LogAppendInfo) -> None:
        """Follow an append that was done; a duplicate was followed when it came first."""
        if info.duplicate:
            return
        watch = partition.watch
        if watch is None:
            watch = PartitionWatch(partition, self._clock_s, self._over)
            partition.watch_by(watch)
        append = FollowedAppend(trace, partition, info)
        watch.add(append)
        self._followed[append] = watch
        if len(self._followed) > FOLLOWED_MAX:
            oldest, its_watch = next(iter(self._followed.items()))
            its_watch.drop(oldest)

    def _over(self, append: FollowedAppend) -> None:
        self._followed.pop(append, None)

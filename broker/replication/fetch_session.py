"""Fetch sessions: a consumer or follower names its partitions once (KIP-227).

A session remembers, per partition, where its reader is and what it was last told, and it hears of
every change of its partitions. So the work of a Fetch follows the partitions that changed or that
the request names, never all partitions of the session.

A follower's session stands in for its idle partitions, too: see `broker.replication.replica`. Which
sessions there are is the business of `broker.replication.fetch_session_cache`.

Never reads a log. Follows Kafka's `FetchSession`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from broker.replication.partition import Partition
from broker.replication.partition_reads import NO_EPOCH, NO_OFFSET, PartitionRead
from broker.replication.replica import Replica

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
NO_REPLICA = -1
LAST_EPOCH = 2**31 - 1

_TURN = attrgetter("turn")

# A partition as a request names it: by topic id (v13 and later) or by name, and index.
FetchKey = tuple[bytes | str, int]


class FetchPartition:
    """One partition of a fetch: where the reader is, and what it was last told."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "max_bytes",
        "partition",
        "replica",
        "told_high_watermark",
        "told_log_start_offset",
        "turn",
    )

    def __init__(
        self,
        key: FetchKey,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = NO_EPOCH,
        last_fetched_epoch: int = NO_EPOCH,
    ) -> None:
        self.key = key
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.partition: Partition | None = None
        self.replica: Replica | None = None
        """A follower as the leader knows it, while its session stands in for it."""
        self.told_high_watermark = NO_OFFSET
        self.told_log_start_offset = NO_OFFSET
        self.turn = 0
        """Its place among the partitions of the session: the lowest is read first."""

    def found(self, partition: Partition | None) -> None:
        """It is this partition, or there is none of that name here."""
        self.partition = partition

    def is_news(self, read: PartitionRead) -> bool:
        """Whether an incremental response must name this partition."""
        return bool(
            read.error
            or read.size
            or read.diverging_epoch
            or read.high_watermark != self.told_high_watermark
            or read.log_start_offset != self.told_log_start_offset
            or (read.unsettled and read.preferred_read_replica >= 0)
        )

    def has_told_all(self) -> bool:
        """Whether a read at the position of the last one would bring records at most: there was no
        error, and neither leader, high watermark nor log start are others since."""
        partition = self.partition
        return (
            partition is not None
            and partition.log.high_watermark == self.told_high_watermark
            and partition.log.log_start_offset == self.told_log_start_offset
            and self.current_leader_epoch in (NO_EPOCH, partition.leader_epoch)
            and partition.is_leader
            and not partition.deleted
        )

    def told(self, read: PartitionRead) -> None:
        # Who is told to truncate does that first, and learns no high watermark from it.
        diverges = read.diverging_epoch is not None
        self.told_high_watermark = NO_OFFSET if diverges else read.high_watermark
        self.told_log_start_offset = read.log_start_offset


class FollowerPartition(FetchPartition):
    """One partition of a follower's fetch."""

    __slots__ = ("log_start_offset",)

    def __init__(
        self,
        key: FetchKey,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
        log_start_offset: int,
    ) -> None:
        super().__init__(key, fetch_offset, max_bytes, current_leader_epoch, last_fetched_epoch)
        self.log_start_offset = log_start_offset
        """Where the follower's own log starts."""


class FetchSession:
    """One reader's session. Identity is the object: parked fetches wait under it."""

    __slots__ = (
        "_last_turn",
        "_on_change",
        "by_partition",
        "changed",
        "created_ms",
        "epoch",
        "last_used_ms",
        "partitions",
        "replica_id",
        "session_id",
        "uses_topic_ids",
    )

    def __init__(
        self,
        session_id: int,
        uses_topic_ids: bool,
        now_ms: float,
        on_change: Callable[[FetchSession, Partition], None],
        replica_id: int = NO_REPLICA,
    ) -> None:
        self.session_id = session_id
        self.replica_id = replica_id
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.partitions: dict[FetchKey, FetchPartition] = {}
        self.by_partition: dict[Partition, FetchPartition] = {}
        # Those to look at in the next response.
        self.changed: dict[FetchKey, FetchPartition] = {}
        self._last_turn = 0
        self._on_change = on_change

    def touch(self, now_ms: float) -> None:
        """A fetch of it came."""
        self.last_used_ms = now_ms

    def partition_changed(self, partition: Partition) -> None:
        """A partition of ours has news (`PartitionListener`)."""
        wanted = self.by_partition[partition]
        self.changed[wanted.key] = wanted
        if partition.followers is None or self._sees_news(wanted, partition):
            self._on_change(self, partition)

    def _sees_news(self, wanted: FetchPartition, partition: Partition) -> bool:
        """Whether a consumer of a partition with followers would see more than it was told: an
        append shows when the high watermark passes it."""
        log = partition.log
        return (
            log.high_watermark != wanted.told_high_watermark
            or log.log_start_offset != wanted.told_log_start_offset
            or wanted.current_leader_epoch not in (NO_EPOCH, partition.leader_epoch)
        )

    def put(self, wanted: FetchPartition, partition: Partition | None) -> None:
        """Add a partition, or take a new position of one, keeping what it was told."""
        old = self.partitions.get(wanted.key)
        if old is not None:
            wanted.told_high_watermark = old.told_high_watermark
            wanted.told_log_start_offset = old.told_log_start_offset
            wanted.turn = old.turn
            self._unlisten(old)
        else:
            self.put_last(wanted)
        self.partitions[wanted.key] = wanted
        self.changed[wanted.key] = wanted
        self.listen(wanted, partition)

    def listen(self, wanted: FetchPartition, partition: Partition | None) -> None:
        """Hear of `partition`'s changes from now on."""
        self._unlisten(wanted)
        wanted.partition = partition
        if partition is not None:
            self.by_partition[partition] = wanted
            partition.listeners[self] = None

    def forget(self, key: FetchKey) -> None:
        """The reader wants this partition no more."""
        wanted = self.partitions.pop(key, None)
        if wanted is not None:
            self.changed.pop(key, None)
            self._unlisten(wanted)

    def _unlisten(self, wanted: FetchPartition) -> None:
        partition = wanted.partition
        if partition is not None and self.by_partition.get(partition) is wanted:
            del self.by_partition[partition]
            partition.listeners.pop(self, None)
        wanted.partition = None

    def close(self) -> None:
        """Hear of nothing any more."""
        for wanted in list(self.partitions.values()):
            self._unlisten(wanted)
        self.partitions.clear()
        self.changed.clear()

    def settle(self, wanted: FetchPartition, read: PartitionRead) -> bool:
        """After a response: look again next time only where there may be more to say; whether
        there is nothing.

        What had records goes behind the others, so that all get their turn (KIP-74); what had
        none, for whatever reason, keeps its place.
        """
        if read.size:
            self.put_last(wanted)
        elif not (read.error or read.unsettled or read.diverging_epoch):
            self.changed.pop(wanted.key, None)
            return True
        self.changed[wanted.key] = wanted
        return False

    def put_last(self, wanted: FetchPartition) -> None:
        """It is read when all others have been."""
        self._last_turn += 1
        wanted.turn = self._last_turn

    def look_at(self, wanted: FetchPartition) -> None:
        """There is something to say of this partition of ours, whatever its log says."""
        self.changed[wanted.key] = wanted

    def to_look_at(self) -> list[FetchPartition]:
        """What changed, in the order in which it is to be read."""
        return sorted(self.changed.values(), key=_TURN)

    def answered_one(
        self, partition: Partition, position: tuple[int, int, int, int], read: PartitionRead
    ) -> None:
        """A request that named `partition` alone is answered with `read`. `position`: its offset,
        most bytes, leader epoch and last fetched epoch."""
        wanted = self.by_partition[partition]
        wanted.fetch_offset, wanted.max_bytes = position[:2]
        wanted.current_leader_epoch, wanted.last_fetched_epoch = position[2:]
        self.advance_epoch()
        self.settle(wanted, read)
        wanted.told(read)

    def advance_epoch(self) -> None:
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1


class FollowerSession(FetchSession):
    """A follower's session. `wakes_on_high_watermark`: whether it is told of that at once, for
    the sake of consumers that read from followers (KIP-392), or with its next fetch."""

    __slots__ = ("wakes_on_high_watermark",)

    def __init__(
        self,
        session_id: int,
        uses_topic_ids: bool,
        now_ms: float,
        on_change: Callable[[FetchSession, Partition], None],
        replica_id: int,
        wakes_on_high_watermark: bool,
    ) -> None:
        super().__init__(session_id, uses_topic_ids, now_ms, on_change, replica_id)
        self.wakes_on_high_watermark = wakes_on_high_watermark

    def partition_changed(self, partition: Partition) -> None:
        wanted = self.by_partition[partition]
        self.changed[wanted.key] = wanted
        if wanted.replica is not None:
            self._rest(wanted, wanted.replica)
        if (
            self.wakes_on_high_watermark
            or wanted.fetch_offset != partition.log.log_end_offset
            or wanted.told_log_start_offset != partition.log.log_start_offset
            or wanted.current_leader_epoch != partition.leader_epoch
            or not partition.is_leader
        ):
            self._on_change(self, partition)

    def named_one(
        self, partition: Partition, position: tuple[int, int, int, int], log_start_offset: int
    ) -> FollowerPartition:
        """A request names `partition` alone, which the session knows: as if it was `put`.
        `position` as in `answered_one`."""
        wanted = self.by_partition[partition]
        assert isinstance(wanted, FollowerPartition), "a follower's session"
        if wanted.replica is not None:
            self._rest(wanted, wanted.replica)
        wanted.fetch_offset, wanted.max_bytes = position[:2]
        wanted.current_leader_epoch, wanted.last_fetched_epoch = position[2:]
        wanted.log_start_offset = log_start_offset
        self.changed[wanted.key] = wanted
        self.advance_epoch()
        return wanted

    def settle(self, wanted: FetchPartition, read: PartitionRead) -> bool:
        idle = super().settle(wanted, read)
        partition = wanted.partition
        if not idle or partition is None or partition.followers is None:
            return idle
        if self.replica_id not in partition.isr:
            # Each fetch is another try to come in sync, however long nothing is written.
            self.changed[wanted.key] = wanted
            return False
        assert isinstance(wanted, FollowerPartition), "a follower's session"
        replica = partition.followers.replicas.get(self.replica_id)
        if replica is None:
            return True
        if replica.log_end_offset != wanted.fetch_offset:
            # A fetch that was late on another connection has told an older position since.
            self.changed[wanted.key] = wanted
            return False
        wanted.replica = replica
        replica.stand_in(self)
        return True

    def _unlisten(self, wanted: FetchPartition) -> None:
        if wanted.replica is not None:
            self._rest(wanted, wanted.replica)
        super()._unlisten(wanted)

    def _rest(self, wanted: FetchPartition, replica: Replica) -> None:
        """Stand in for `replica` no more."""
        # A session whose first answer got lost lives on beside the one that is in use.
        if replica.session is self:
            replica.rest()
        wanted.replica = None

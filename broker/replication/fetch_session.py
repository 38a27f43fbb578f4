"""Fetch sessions, in which a consumer or follower names its partitions once (KIP-227).

A session remembers its reader's position in each partition and the last answer about it, and is
notified of every change of its partitions. So the work of a Fetch depends on the partitions that
changed or that the request names, never on all partitions of the session.

A follower's session also stands in for its idle partitions: see `broker.replication.replica`.
`broker.replication.fetch_session_cache` creates and finds the sessions.

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
    """A partition of a fetch: the reader's position, and the last answer about it."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "max_bytes",
        "partition",
        "replica",
        "sent_high_watermark",
        "sent_log_start_offset",
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
        """The leader's state of the follower, while the session stands in for it."""
        self.sent_high_watermark = NO_OFFSET
        self.sent_log_start_offset = NO_OFFSET
        self.turn = 0
        """The order among the partitions of the session: the lowest is read first."""

    def attach(self, partition: Partition | None) -> None:
        """Set the local replica; None if this broker has no such partition."""
        self.partition = partition

    def is_news(self, read: PartitionRead) -> bool:
        """Return whether an incremental response must name this partition."""
        return bool(
            read.error
            or read.size
            or read.diverging_epoch
            or read.high_watermark != self.sent_high_watermark
            or read.log_start_offset != self.sent_log_start_offset
            or (read.unsettled and read.preferred_read_replica >= 0)
        )

    def has_sent_all(self) -> bool:
        """Return whether only records could be new in another read at the last position.

        Return True if the last answer had no error, and the leader, the high watermark and the log
        start have not changed since.
        """
        partition = self.partition
        return (
            partition is not None
            and partition.log.high_watermark == self.sent_high_watermark
            and partition.log.log_start_offset == self.sent_log_start_offset
            and self.current_leader_epoch in (NO_EPOCH, partition.leader_epoch)
            and partition.is_leader
            and not partition.deleted
        )

    def note_sent(self, read: PartitionRead) -> None:
        """Remember the high watermark and log start that an answer carries, to compare them with
        later ones. After a diverging epoch no high watermark counts as sent."""
        # A reader that must truncate does so first, and takes no high watermark from this answer.
        diverges = read.diverging_epoch is not None
        self.sent_high_watermark = NO_OFFSET if diverges else read.high_watermark
        self.sent_log_start_offset = read.log_start_offset


class FollowerPartition(FetchPartition):
    """A partition of a follower's fetch."""

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
        """The start of the follower's own log."""


class FetchSession:
    """The fetch session of a reader.

    Its identity is the key under which its parked fetches wait.
    """

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
        """Begin a session without partitions, at epoch 1. `on_change` is called when a changed
        partition should wake the session's parked fetch."""
        self.session_id = session_id
        self.replica_id = replica_id
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.partitions: dict[FetchKey, FetchPartition] = {}
        self.by_partition: dict[Partition, FetchPartition] = {}
        # The partitions to read for the next response.
        self.changed: dict[FetchKey, FetchPartition] = {}
        self._last_turn = 0
        self._on_change = on_change

    def touch(self, now_ms: float) -> None:
        """Set the time of the last fetch in this session."""
        self.last_used_ms = now_ms

    def partition_changed(self, partition: Partition) -> None:
        """Mark a partition to be read for the next response. Call `on_change`, which wakes the
        parked fetch, if the consumer would see the change (`PartitionListener`)."""
        entry = self.by_partition[partition]
        self.changed[entry.key] = entry
        if partition.followers is None or self._sees_news(entry, partition):
            self._on_change(self, partition)

    def _sees_news(self, entry: FetchPartition, partition: Partition) -> bool:
        """Return whether a consumer would see more of a replicated partition than its last answer.

        A consumer sees an append only after the high watermark has passed it.
        """
        log = partition.log
        return (
            log.high_watermark != entry.sent_high_watermark
            or log.log_start_offset != entry.sent_log_start_offset
            or entry.current_leader_epoch not in (NO_EPOCH, partition.leader_epoch)
        )

    def put(self, entry: FetchPartition, partition: Partition | None) -> None:
        """Add a partition, or set its new position and keep the last answer about it. It is read
        for the next response, and the session listens to the changes of `partition`."""
        old = self.partitions.get(entry.key)
        if old is not None:
            entry.sent_high_watermark = old.sent_high_watermark
            entry.sent_log_start_offset = old.sent_log_start_offset
            entry.turn = old.turn
            self._unlisten(old)
        else:
            self.put_last(entry)
        self.partitions[entry.key] = entry
        self.changed[entry.key] = entry
        self.listen(entry, partition)

    def listen(self, entry: FetchPartition, partition: Partition | None) -> None:
        """Listen to changes of `partition` instead of the previous replica."""
        self._unlisten(entry)
        entry.partition = partition
        if partition is not None:
            self.by_partition[partition] = entry
            partition.listeners[self] = None

    def forget(self, key: FetchKey) -> None:
        """Remove a partition that the reader no longer wants, if the session has it."""
        entry = self.partitions.pop(key, None)
        if entry is not None:
            self.changed.pop(key, None)
            self._unlisten(entry)

    def _unlisten(self, entry: FetchPartition) -> None:
        """Remove this session from the listeners of the entry's partition, and the partition from
        the entry."""
        partition = entry.partition
        if partition is not None and self.by_partition.get(partition) is entry:
            del self.by_partition[partition]
            partition.listeners.pop(self, None)
        entry.partition = None

    def close(self) -> None:
        """Stop listening to all partitions, and drop them."""
        for entry in list(self.partitions.values()):
            self._unlisten(entry)
        self.partitions.clear()
        self.changed.clear()

    def settle(self, entry: FetchPartition, read: PartitionRead) -> bool:
        """Update the partition after a response. Return whether it is idle.

        An idle partition is not read again until it changes. A partition with records is read after
        the others next time, so that all get their turn (KIP-74); a partition without any keeps its
        place.
        """
        if read.size:
            self.put_last(entry)
        elif not (read.error or read.unsettled or read.diverging_epoch):
            self.changed.pop(entry.key, None)
            return True
        self.changed[entry.key] = entry
        return False

    def put_last(self, entry: FetchPartition) -> None:
        """Set the order of the partition so that it is read after all others."""
        self._last_turn += 1
        entry.turn = self._last_turn

    def mark_changed(self, entry: FetchPartition) -> None:
        """Read the partition for the next response, even if its log does not change."""
        self.changed[entry.key] = entry

    def changed_partitions(self) -> list[FetchPartition]:
        """Return the partitions to read for the next response, in the order in which they are
        read."""
        return sorted(self.changed.values(), key=_TURN)

    def answered_single(
        self, partition: Partition, position: tuple[int, int, int, int], read: PartitionRead
    ) -> None:
        """Update the session after the answer `read` to a request that names only `partition`: set
        the position, advance the epoch, and settle the partition.

        `position` is the request's fetch offset, maximum bytes, leader epoch and last fetched
        epoch.
        """
        entry = self.by_partition[partition]
        entry.fetch_offset, entry.max_bytes = position[:2]
        entry.current_leader_epoch, entry.last_fetched_epoch = position[2:]
        self.advance_epoch()
        self.settle(entry, read)
        entry.note_sent(read)

    def advance_epoch(self) -> None:
        """Set the epoch of the next request; the largest epoch is followed by 1."""
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1


class FollowerSession(FetchSession):
    """The fetch session of a follower.

    With `wakes_on_high_watermark` a new high watermark wakes the follower's fetch at once, for
    consumers that read from followers (KIP-392). Otherwise the next answer has it.
    """

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
        """Mark a partition to be read for the next response, and stop standing in for its replica.
        Call `on_change`, which wakes the parked fetch, if the change is news to the follower."""
        entry = self.by_partition[partition]
        self.changed[entry.key] = entry
        if entry.replica is not None:
            self._detach(entry, entry.replica)
        if (
            self.wakes_on_high_watermark
            or entry.fetch_offset != partition.log.log_end_offset
            or entry.sent_log_start_offset != partition.log.log_start_offset
            or entry.current_leader_epoch != partition.leader_epoch
            or not partition.is_leader
        ):
            self._on_change(self, partition)

    def put_single(
        self, partition: Partition, position: tuple[int, int, int, int], log_start_offset: int
    ) -> FollowerPartition:
        """Set the position of a request for `partition` alone, mark it to be read, advance the
        epoch, and return the partition's entry.

        The session already has the partition. `position` is as in `answered_single`.
        """
        entry = self.by_partition[partition]
        assert isinstance(entry, FollowerPartition), "a follower's session"
        if entry.replica is not None:
            self._detach(entry, entry.replica)
        entry.fetch_offset, entry.max_bytes = position[:2]
        entry.current_leader_epoch, entry.last_fetched_epoch = position[2:]
        entry.log_start_offset = log_start_offset
        self.changed[entry.key] = entry
        self.advance_epoch()
        return entry

    def settle(self, entry: FetchPartition, read: PartitionRead) -> bool:
        """Update the partition after a response, and return whether it is idle.

        While an in-sync follower's partition is idle, this session stands in for its fetches. A
        replica outside the ISR is never idle.
        """
        idle = super().settle(entry, read)
        partition = entry.partition
        if not idle or partition is None or partition.followers is None:
            return idle
        if self.replica_id not in partition.isr:
            # Each fetch is another attempt to join the ISR, however long nothing is written.
            self.changed[entry.key] = entry
            return False
        assert isinstance(entry, FollowerPartition), "a follower's session"
        replica = partition.followers.replicas.get(self.replica_id)
        if replica is None:
            return True
        if replica.log_end_offset != entry.fetch_offset:
            # A late fetch on another connection has reported an older position since.
            self.changed[entry.key] = entry
            return False
        entry.replica = replica
        replica.attach_session(self)
        return True

    def _unlisten(self, entry: FetchPartition) -> None:
        """Stop standing in for the entry's replica, and listening to its partition."""
        if entry.replica is not None:
            self._detach(entry, entry.replica)
        super()._unlisten(entry)

    def _detach(self, entry: FetchPartition, replica: Replica) -> None:
        """Stop standing in for `replica`, for which the session's last fetch counts as its own."""
        # A session whose first answer was lost continues to exist beside the session in use.
        if replica.session is self:
            replica.detach_session()
        entry.replica = None

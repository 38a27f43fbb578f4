"""One ShareFetch in progress: the share-partitions that it may acquire from, reads, acquisitions.

A fetch first loads its share-partitions. It is complete when they have `min_bytes` to acquire, a
read fails, or its time is over; only then it acquires. An answer that is never sent acquires
nothing: if the session was closed or continued meanwhile, or a quota makes the client wait, the
records stay with the group. Owns the errors of the fetch's partitions. Never builds a response
(`broker.apis.share_fetch.answer`). Follows Kafka's `DelayedShareFetch` and `ShareFetchUtils`.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from broker.apis.share_fetch.stored_batches import StoredBatches
from broker.replication.partition import Partition
from broker.replication.partition_reads import READ_COMMITTED, READ_UNCOMMITTED, PartitionRead
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import RequestContext
from broker.share.delivery.acquisition import AcquiredRange, AcquireRequest
from broker.share.delivery.share_partition import SharePartition
from broker.share.sessions import ShareSession, TopicIdPartition
from broker.share.share_partition_manager import SharePartitionManager
from broker.share.state.share_log import SharePartitionKey
from ground.sliced_work import Pace, Steps, in_one_go
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.share_fetch import ShareFetchRequest
from protocol.record_batch import CorruptBatch
from storage.log.file_records import FileRecords

RECORD_LIMIT = 1
"""The acquire mode in which `max_records` is never exceeded."""
ACQUIRE_MODES = (0, RECORD_LIMIT)

READS_A_PIECE = 4
"""The pieces of work (`Pace`) that the read of one partition counts as."""
PARTITION_BYTES = 60
"""The approximate bytes of a partition in a response, without its records."""


class Failure(NamedTuple):
    """The error of a partition, with its reason."""

    error: ErrorCode
    reason: str | None = None


class Acquired(NamedTuple):
    """The records of a partition that the member has acquired; none if `ranges` is empty."""

    records: FileRecords | bytes = b""
    ranges: Sequence[AcquiredRange] = ()


class FetchResult(NamedTuple):
    """The result of a fetch."""

    acquired: dict[TopicIdPartition, Acquired]
    failures: dict[TopicIdPartition, Failure]
    error: ErrorCode = ErrorCode.NONE
    """The error of the whole fetch: its session was closed or continued meanwhile."""
    is_throttled: bool = False
    """True if a quota makes the client wait, so that the answer has no partitions."""


class _Read(NamedTuple):
    """A read of a share-partition's log from the offset that the member may acquire next."""

    partition: TopicIdPartition
    share_partition: SharePartition
    replica: Partition | None
    offset: int
    result: PartitionRead


class ShareFetch:
    """A ShareFetch in progress."""

    def __init__(
        self,
        manager: SharePartitionManager,
        replicas: ReplicaManager,
        request: ShareFetchRequest,
        session: ShareSession,
        max_bytes: int,
        context: RequestContext,
    ) -> None:
        """Prepare the fetch of a session, which was opened or continued by the request."""
        self._manager = manager
        self._replicas = replicas
        self._scheduler = replicas.scheduler
        self._request = request
        self._session = session
        self._epoch = session.epoch
        self._quota = context.quota
        self._rights = context.rights
        self._rights_epoch = context.rights.epoch
        self._max_bytes = max_bytes
        self._min_bytes = min(request.min_bytes, max_bytes)
        self._begun_ms = self._scheduler.monotonic_ms()
        self.has_valid = False
        """True if the session has a partition that exists and that the member may read."""
        self._wanted: list[TopicIdPartition] = []
        self._failures: dict[TopicIdPartition, Failure] = {}
        settings = manager.settings(session.key.group_id)
        self._isolation = READ_COMMITTED if settings.reads_committed else READ_UNCOMMITTED

    def begin(self, readable: Container[str], pace: Pace) -> Steps[None]:
        """Load the share-partitions of the session; `readable` are the names of the topics that the
        member may read."""
        topics: dict[bytes, str] = {}
        for partition in rotated(self._session.partitions, self._request.share_session_epoch):
            if pace.is_full():
                yield None
            topic = self._replicas.image.topics.get_by_id(partition.topic_id)
            if topic is None:
                self._failures[partition] = Failure(ErrorCode.UNKNOWN_TOPIC_ID)
            elif topic.name not in readable:
                self._failures[partition] = Failure(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif partition.partition not in topic.partitions:
                self._failures[partition] = Failure(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                self.has_valid = True
                if self._wants_records:
                    topics[topic.id] = topic.name
                    self._wanted.append(partition)
        for partition in self._wanted:
            if pace.is_full():
                yield None
            self._manager.load(self._key(partition), partial(self._load_failed, partition))
        failed = {partition.topic_id for partition in self._wanted if partition in self._failures}
        for topic_id, name in topics.items():
            self._replicas.metrics.topic(name).share_fetched(topic_id in failed)

    @property
    def _wants_records(self) -> bool:
        """True if the request has room for records."""
        return self._request.max_records > 0 and self._max_bytes > 0

    def _key(self, partition: TopicIdPartition) -> SharePartitionKey:
        """Return the share-partition of a partition for the member's group."""
        return SharePartitionKey(self._session.key.group_id, *partition)

    def _load_failed(
        self, partition: TopicIdPartition, error: ErrorCode, reason: str | None
    ) -> None:
        """Take the error of a share-partition that could not be loaded."""
        self._failures[partition] = Failure(error, reason)

    def keys(self) -> list[Hashable]:
        """Return the keys under which a waiting fetch is watched."""
        keys: list[Hashable] = [self._session.key]
        for partition in self._wanted:
            keys += (partition, self._key(partition))
        return keys

    # -- whether the fetch is complete -----------------------------------------------------------

    @property
    def _is_stale(self) -> bool:
        """True if the session was closed, or a later request has continued it."""
        session = self._session
        return not self._manager.sessions.is_open(session) or session.epoch != self._epoch

    def is_decided(self) -> bool:
        """Return whether a wait would change nothing: no partition is left, or it is stale."""
        return self._is_stale or all(partition in self._failures for partition in self._wanted)

    def is_complete(self, pace: Pace) -> Steps[bool]:
        """Return whether there is enough to acquire, or an error to answer at once."""
        acquirable = self._acquirable()
        size = 0
        for read in self._reads(acquirable):
            if pace.is_full(READS_A_PIECE):
                yield None
            if _is_urgent(read):
                return True
            size += read.result.size
        return bool(acquirable) and size >= self._min_bytes

    def is_complete_after(self, changed: Hashable) -> bool:
        """Return whether a change completes the fetch; `changed` is the key of `keys` that it is
        about. A stale fetch is complete, and one for a partition that lost its leader here."""
        if self._is_stale:
            return True
        if isinstance(changed, SharePartitionKey):
            changed = TopicIdPartition(changed.topic_id, changed.partition)
        if not isinstance(changed, TopicIdPartition):
            return False
        if changed in self._failures:
            return False
        epoch = self._manager.led.leader_epoch(self._key(changed))
        if isinstance(epoch, ErrorCode):
            self._failures[changed] = Failure(epoch)
            return True
        reads = list(self._reads(self._acquirable_of([changed])))
        if any(_is_urgent(read) or read.result.size >= self._min_bytes for read in reads):
            return True
        if self._min_bytes <= 1:
            return False
        return in_one_go(self.is_complete(Pace(sys.maxsize)))

    def _acquirable(self) -> list[tuple[TopicIdPartition, SharePartition]]:
        """Return the share-partitions that are loaded and have room for an acquisition."""
        return self._acquirable_of(self._wanted)

    def _acquirable_of(
        self, partitions: Sequence[TopicIdPartition]
    ) -> list[tuple[TopicIdPartition, SharePartition]]:
        """Return those of `partitions` that are loaded and have room for an acquisition."""
        return [
            (partition, ready.partition)
            for partition in partitions
            if partition not in self._failures
            and (ready := self._manager.partitions.ready(self._key(partition))) is not None
            and ready.partition.can_acquire()
        ]

    def _reads(
        self, acquirable: Sequence[tuple[TopicIdPartition, SharePartition]]
    ) -> Iterator[_Read]:
        """Read each partition, up to its equal part of `max_bytes`; the first records may exceed
        it."""
        left = self._max_bytes
        part, rest = divmod(left, max(1, len(acquirable)))
        for index, (partition, share_partition) in enumerate(acquirable):
            room = min(left, max(1, part + (rest if index == 0 else 0)))
            is_first = left == self._max_bytes
            offset = share_partition.next_fetch_offset()
            replica = self._replicas.partition_by_id(*partition)
            if replica is None:
                result = PartitionRead(self._replicas.why_absent_by_id(*partition))
            else:
                result = replica.read(offset, room, self._isolation, is_first)
            left -= min(left, result.size)
            yield _Read(partition, share_partition, replica, offset, result)

    # -- completion ------------------------------------------------------------------------------

    def complete(self, pace: Pace) -> Steps[FetchResult]:
        """Acquire records, and return the result. A stale fetch acquires nothing."""
        if self._is_stale:
            return FetchResult({}, {}, self._stale_error())
        if not self._rights.stand_since(self._rights_epoch) and not self._may_read_group():
            return FetchResult({}, {}, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        acquirable = self._acquirable()
        self._manager.metrics.fetched(
            self._session.key.group_id,
            len(self._wanted),
            len(acquirable),
            self._scheduler.monotonic_ms() - self._begun_ms,
        )
        acquired: dict[TopicIdPartition, Acquired] = {}
        left = self._request.max_records
        for read in self._reads(acquirable):
            if pace.is_full(READS_A_PIECE):
                yield None
            taken = self._acquire(read, left)
            if isinstance(taken, Failure):
                self._failures[read.partition] = taken
                continue
            acquired[read.partition] = taken
            left -= sum(last - first + 1 for first, last, _ in taken.ranges)
        size = sum(len(taken.records) + PARTITION_BYTES for taken in acquired.values())
        is_stale = self._is_stale
        if is_stale or (self._quota is not None and self._quota.fetched(size)):
            self._take_back(acquired)
            error = self._stale_error() if is_stale else ErrorCode.NONE
            return FetchResult({}, {}, error, is_throttled=not is_stale)
        self._count_bytes(acquired)
        return FetchResult(acquired, self._failures)

    def _may_read_group(self) -> bool:
        """Check the rights again, which may have changed while the fetch waited. Return whether the
        member may still read the group. Add an error for each topic that it may not read."""
        rights = self._rights
        self._rights_epoch = rights.epoch
        if not rights.allows(Operation.READ, Resource.GROUP, self._session.key.group_id):
            return False
        topics = self._replicas.image.topics
        names = {
            partition: topic.name
            for partition in self._wanted
            if (topic := topics.get_by_id(partition.topic_id)) is not None
        }
        readable = rights.allowed(Operation.READ, Resource.TOPIC, names.values())
        for partition, name in names.items():
            if name not in readable:
                self._failures[partition] = Failure(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return True

    def _stale_error(self) -> ErrorCode:
        """Return the error of a fetch whose session was closed, or continued meanwhile."""
        if self._manager.sessions.is_open(self._session):
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        return ErrorCode.SHARE_SESSION_NOT_FOUND

    def _acquire(self, read: _Read, left: int) -> Acquired | Failure:
        """Acquire at most `left` records of a read, or more if a stored batch needs it."""
        result, share_partition = read.result, read.share_partition
        if result.error is ErrorCode.OFFSET_OUT_OF_RANGE and read.replica is not None:
            start = read.replica.log.log_start_offset
            self._manager.partitions.log_start_moved(*read.partition, start)
            return Acquired()
        if result.error:
            return Failure(result.error)
        if not isinstance(result.records, FileRecords) or left <= 0:
            return Acquired()
        settings = self._manager.settings(self._session.key.group_id)
        room = min(left, settings.max_locks)
        try:
            stored = StoredBatches(
                result.records, max(read.offset, share_partition.end_offset) + room
            )
        except CorruptBatch:
            return Failure(ErrorCode.CORRUPT_MESSAGE)
        except OSError as error:
            if read.replica is not None:
                read.replica.log.failed("read", error)
            return Failure(ErrorCode.KAFKA_STORAGE_ERROR)
        ranges = share_partition.acquire(
            AcquireRequest(
                self._session.key.member_id,
                left,
                self._request.batch_size,
                read.offset,
                self._request.share_acquire_mode == RECORD_LIMIT,
            ),
            stored.offsets,
            self._scheduler.monotonic_ms(),
        )
        if ranges and result.aborted:
            ranges = share_partition.archive_aborted(ranges, stored.aborted(result.aborted))
        if not ranges:
            return Acquired()
        self._manager.partitions.acquired(self._key(read.partition))
        return Acquired(stored.part(ranges), ranges)

    def _take_back(self, acquired: dict[TopicIdPartition, Acquired]) -> None:
        """Make all acquired records available again, and wake the fetches that wait for them."""
        for partition, taken in acquired.items():
            if taken.ranges:
                self._manager.take_back(
                    self._key(partition), self._session.key.member_id, taken.ranges
                )

    def _count_bytes(self, acquired: dict[TopicIdPartition, Acquired]) -> None:
        """Count the bytes of acquired records in the metrics of their topics."""
        for partition, taken in acquired.items():
            replica = self._replicas.partition_by_id(*partition)
            if replica is not None and taken.ranges:
                replica.counts.share_sent(len(taken.records))


def _is_urgent(read: _Read) -> bool:
    """Return whether a read must be answered at once, however few bytes it has: it failed, or more
    segments follow. An offset behind the log's end is no reason: the log may grow."""
    result, replica = read.result, read.replica
    if result.error is ErrorCode.OFFSET_OUT_OF_RANGE and replica is not None:
        return read.offset < replica.log.log_start_offset
    if result.error or replica is None:
        return True
    return result.size > 0 and read.offset < replica.log.active.base_offset


def rotated(partitions: Sequence[TopicIdPartition], epoch: int) -> list[TopicIdPartition]:
    """Return the partitions of a session in the order in which a fetch of `epoch` reads them. Each
    has its turn to be the first."""
    turn = epoch % len(partitions) if partitions and epoch > 0 else 0
    return [*partitions[turn:], *partitions[:turn]]

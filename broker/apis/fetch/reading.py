"""One Fetch request in progress: the partitions that it reads, its last reads, and its response.

A consumer's fetch reads up to the high watermark, a follower's up to the log's end. A follower's
fetch offset also says how much the follower has. That is noted once, when the request arrives, and
only for partitions that were read successfully: the epochs were checked, and the follower's log
does not diverge (KAFKA-13141). A partition that the sender may not read
(`broker.apis.fetch.rights`) is answered with an error and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from broker.apis.current_leader import current_leader, leader_node
from broker.apis.fetch.rights import ConsumerRights, FetchRights, FollowerRights
from broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchKey,
    FetchPartition,
    FetchSession,
    FollowerPartition,
)
from broker.replication.partition import Partition
from broker.replication.partition_reads import NO_EPOCH, PartitionRead
from broker.replication.replica_manager import ReplicaManager
from broker.replication.replica_selector import NO_PREFERENCE, rack_aware
from broker.requests.context import RequestContext
from ground.sliced_work import Pace, Steps, in_one_go
from protocol.errors import ErrorCode
from protocol.frames.fetch_codec import TOPIC_IDS_FROM
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from protocol.messages.fetch import FetchPartition as RequestedPartition
from protocol.primitives import ZERO_UUID

RACK_FROM = 11  # from this version on a follower may answer as well (KIP-392)
CURRENT_LEADER_FROM = 16

# With these errors the response names the current leader (KIP-951).
_LEADER_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
# Kafka rejects these before it reads: they come last, with a list of aborted transactions.
_UNKNOWN_ERRORS = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_AFTER_READS = (ErrorCode.UNKNOWN_TOPIC_ID,)
_AT_THE_END = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

PARTITION_BYTES = 40
"""The approximate bytes of a partition in a response, without its records."""

Reads = dict[FetchKey, tuple[FetchPartition, PartitionRead]]


def position_of(requested: RequestedPartition) -> tuple[int, int, int]:
    """Return a requested partition's max bytes, leader epoch and last fetched epoch.

    Any negative epoch becomes NO_EPOCH.
    """
    return (
        requested.partition_max_bytes,
        max(requested.current_leader_epoch, NO_EPOCH),
        max(requested.last_fetched_epoch, NO_EPOCH),
    )


def _denied_read() -> PartitionRead:
    """Return an empty read with TOPIC_AUTHORIZATION_FAILED."""
    return PartitionRead(_DENIED, aborted=())


class ConsumerFetch:
    """A consumer's fetch in progress."""

    has_errors = False
    """Whether the last read returned an error or a diverging epoch."""
    reads_unchanged = False
    """Whether a partition must be read even if its offsets and its leader have not changed."""
    is_urgent = False
    """Whether the response is due at once for another reason than records or errors."""
    moved: Sequence[Partition] = ()
    """The partitions whose high watermark this follower's fetch has advanced."""

    def __init__(
        self,
        replicas: ReplicaManager,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        max_bytes: int,
    ) -> None:
        self.replicas = replicas
        self.context = context
        self.only_leader = context.api_version < RACK_FROM
        self.session = session
        self.isolation = request.isolation_level
        self.min_bytes = min(request.min_bytes, max_bytes)
        self.max_bytes = max_bytes
        # A full response names every partition; a continued session's only those with news.
        self.full = session is None or request.session_epoch == INITIAL_EPOCH
        self.reads: Reads = {}
        self.by_id = context.api_version >= TOPIC_IDS_FROM
        self.named: dict[FetchKey, FetchPartition] = {}
        self.wanted: dict[FetchKey, FetchPartition] = {}
        self.rights: FetchRights | None = None
        self.session_epoch = session.epoch if session is not None else FINAL_EPOCH

    def begin(self, request: FetchRequest, pace: Pace) -> Steps[None]:
        """Set the partitions of this fetch from the request and its session, update the session,
        and check the sender's rights."""
        yield from self._name_partitions(request, pace)
        self.wanted = yield from self._update_session(request, pace)
        self.rights = yield from self._checked_rights(pace)

    def _update_session(
        self, request: FetchRequest, pace: Pace
    ) -> Steps[dict[FetchKey, FetchPartition]]:
        """Update the session and return all partitions of this fetch.

        A session that no longer has any partition is closed.
        """
        session = self.session
        if session is not None:
            for key, wanted in self.named.items():
                if pace.is_full():
                    yield None
                session.put(wanted, self._find(key))
            for topic in () if self.full else request.forgotten_topics_data:
                name: bytes | str = topic.topic_id if self.by_id else topic.topic
                for index in topic.partitions:
                    if pace.is_full():
                        yield None
                    session.forget((name, index))
            empty = not (session.partitions or self.full)
            if not (empty and self.replicas.sessions.remove(session.session_id)):
                return session.partitions
            self.session, self.full, self.session_epoch = None, True, FINAL_EPOCH
        for key, wanted in self.named.items():
            if pace.is_full():
                yield None
            wanted.attach(self._find(key))
        return self.named

    def _checked_rights(self, pace: Pace) -> Steps[FetchRights | None]:
        """Return the rights of the sender to the partitions; None if they are unlimited.

        A denied partition of a session is marked as changed, so that each response has it.
        """
        rights = self._rights()
        if rights is None:
            return None
        all_allowed = yield from rights.judge(list(self.wanted), pace)
        if not all_allowed and self.session is not None:
            for wanted in list(self.wanted.values()):
                if pace.is_full():
                    yield None
                if not rights.may_read(wanted):
                    self.session.mark_changed(wanted)
        return rights

    def _rights(self) -> FetchRights | None:
        """Return the object that judges each partition, or None if the sender may read all."""
        rights = self.context.rights
        return None if rights.unlimited else ConsumerRights(rights, self.replicas)

    def keys(self) -> list[FetchSession] | list[Partition]:
        """Return the keys under which a waiting fetch is watched: its session or its partitions."""
        if self.session is not None:
            return [self.session]
        return [w.partition for w in self.wanted.values() if w.partition is not None]

    def read_again(self) -> bool:
        """Check the rights again, read, and return whether that is enough to answer. For a fetch
        that has waited.
        """
        if self.rights is not None:
            self.rights.renew()
        return self.read_now()

    def read_now(self) -> bool:
        """Read without slices, and return whether that is enough to answer."""
        return in_one_go(self.read(Pace(sys.maxsize)))

    def read(self, pace: Pace) -> Steps[bool]:
        """Read the partitions into `reads`, up to `max_bytes` in all. Return whether that is enough
        to answer.

        Partitions that are denied or absent get an error there. If all are denied, or a read
        failed, that is enough.
        """
        session = None if self.full else self.session
        candidates = list(self.wanted.values()) if session is None else session.changed_partitions()
        self.reads = {}
        left, withheld, denied, enough = self.max_bytes, 0, 0, False
        may_skip = left > 0 and not (self.full or self.reads_unchanged)
        rights = self.rights
        for wanted in candidates:
            if pace.is_full():
                yield None
            if rights is not None and not rights.may_read(wanted):
                self.reads[wanted.key] = (wanted, _denied_read())
                denied += 1
                continue
            if left <= 0 and may_skip and wanted.has_sent_all() and wanted.key not in self.named:
                continue  # a read could only return records, and there is no room for any
            read = self._read_one(wanted, left)
            self.reads[wanted.key] = (wanted, read)
            left -= read.size
            withheld += read.withheld
            if read.error or read.diverging_epoch:
                enough = True
        if enough or denied:
            yield from self._move_rejected_last(pace)
            # A denied partition does not end the wait, as in Kafka, unless all are denied.
            if enough or denied == len(self.wanted):
                self.has_errors = True
                return True
        # Withheld bytes count too, because waiting longer would not deliver them.
        return self.is_urgent or self.max_bytes - left + withheld >= self.min_bytes

    def _move_rejected_last(self, pace: Pace) -> Steps[None]:
        """Move unknown and denied partitions behind the others in `reads`, as Kafka's response
        does."""
        for errors in (_AFTER_READS, _AT_THE_END):
            for key in list(self.reads):
                if pace.is_full():
                    yield None
                if self.reads[key][1].error in errors:
                    self.reads[key] = self.reads.pop(key)

    def _read_one(self, wanted: FetchPartition, left: int) -> PartitionRead:
        """Read a partition, or return its error. `left` is the number of bytes that may still be
        read.

        Only the first read may exceed it, because a batch is never cut.
        """
        partition = wanted.partition
        if partition is None or partition.deleted:
            partition = self._reattach(wanted)
            if partition is None:
                return self._absent_read(wanted.key)
        return partition.read(
            wanted.fetch_offset,
            min(wanted.max_bytes, max(left, 0)),
            self.isolation,
            left == self.max_bytes,
            wanted.current_leader_epoch,
            wanted.last_fetched_epoch,
            self.only_leader,
        )

    def _reattach(self, wanted: FetchPartition) -> Partition | None:
        """Look the partition up again and attach it to `wanted` and the session; None if absent."""
        partition = self._find(wanted.key)
        if self.session is not None:
            self.session.listen(wanted, partition)
        wanted.attach(partition)
        return partition

    def _name_partitions(self, request: FetchRequest, pace: Pace) -> Steps[None]:
        """Fill `self.named` with the partitions of the request; if repeated, the last counts."""
        for topic in request.topics:
            name: bytes | str = topic.topic_id if self.by_id else topic.topic
            for requested in topic.partitions:
                if pace.is_full():
                    yield None
                key = (name, requested.partition)
                self.named[key] = self._position(key, requested)

    def _position(self, key: FetchKey, requested: RequestedPartition) -> FetchPartition:
        """Return the requested position, without its partition."""
        return FetchPartition(key, requested.fetch_offset, *position_of(requested))

    def _find(self, key: FetchKey) -> Partition | None:
        """Return this broker's replica of the partition; None if it has none."""
        topic, index = key
        if isinstance(topic, bytes):
            return self.replicas.partition_by_id(topic, index)
        return self.replicas.partition(topic, index)

    def _absent_read(self, key: FetchKey) -> PartitionRead:
        """Return an empty read with the reason why this broker has no such partition."""
        topic, index = key
        if isinstance(topic, bytes):
            error = self.replicas.why_absent_by_id(topic, index)
        else:
            error = self.replicas.why_absent(topic, index)
        return PartitionRead(error, aborted=() if error in _UNKNOWN_ERRORS else None)

    # --- the response --------------------------------------------------------------------------

    def size(self) -> int:
        """Return the approximate size of the response in bytes."""
        return sum(read.size + PARTITION_BYTES for _, read in self.reads.values())

    def empty_response(self) -> FetchResponse:
        """Return a response without partitions.

        A continued session still owes the last read's partitions; a session that would be new is
        removed. If a later request has continued the session, return the error of that.
        """
        session = self.session
        if session is None:
            return FetchResponse()
        if session.epoch != self.session_epoch:
            return _epoch_error(session)
        if self.full:
            self.replicas.sessions.remove(session.session_id)
            return FetchResponse()
        return FetchResponse(session_id=session.session_id)

    def response(self, pace: Pace) -> Steps[FetchResponse]:
        """Return the response with the results of the last `read`. Record its contents in the
        session, and count the reads in the partitions' metrics.

        If a later request has continued the session, return the error of that.
        """
        session = self.session
        if session is not None and session.epoch != self.session_epoch:
            return _epoch_error(session)
        topics: list[FetchableTopicResponse] = []
        last: bytes | str | None = None
        for key, (wanted, read) in self.reads.items():
            if pace.is_full():
                yield None
            news = self.full or wanted.is_news(read)
            if session is not None and session.partitions.get(key) is wanted:
                session.settle(wanted, read)
                if self.full:
                    session.put_last(wanted)
            if not news:
                continue
            wanted.note_sent(read)
            if wanted.partition is not None and read.error != _DENIED:
                self._count_read(wanted.partition, read)
            topic, index = key
            if topic != last:
                last = topic
                topics.append(
                    FetchableTopicResponse("", topic)
                    if isinstance(topic, bytes)
                    else FetchableTopicResponse(topic, ZERO_UUID)
                )
            topics[-1].partitions.append(self._partition_data(index, read))
        session_id = session.session_id if session is not None else NO_SESSION
        response = FetchResponse(session_id=session_id, responses=topics)
        if self.has_errors:
            self._name_leaders(response)
        return response

    def _count_read(self, partition: Partition, read: PartitionRead) -> None:
        """Count a read in the partition's metrics."""
        partition.counts.fetched(read.size, bool(read.error))

    def _name_leaders(self, response: FetchResponse) -> None:
        """Add to the response the leader of each partition that another broker leads, and its
        address (KIP-951). Nothing before v16."""
        if self.context.api_version < CURRENT_LEADER_FROM:
            return
        image = self.replicas.image
        named: dict[int, None] = {}
        for topic in response.responses:
            for data in topic.partitions:
                if data.error_code not in _LEADER_ERRORS:
                    continue
                key = topic.topic_id, data.partition_index
                leader, epoch = current_leader(self._find(key), image, *key)
                data.current_leader = LeaderIdAndEpoch(leader, epoch)
                node = leader_node(image, leader, self.context.listener_name)
                if node is not None and leader not in named:
                    named[leader] = None
                    response.node_endpoints.append(NodeEndpoint(*node))

    def _partition_data(self, index: int, read: PartitionRead) -> PartitionData:
        """Return the response of one partition."""
        data = PartitionData(
            index,
            int(read.error),
            read.high_watermark,
            read.last_stable_offset,
            read.log_start_offset,
        )
        data.records = read.records
        data.aborted_transactions = (
            [
                AbortedTransaction(transaction.producer_id, transaction.first_offset)
                for transaction in read.aborted
            ]
            if read.aborted is not None
            else None
        )
        if read.diverging_epoch is not None:
            data.diverging_epoch = EpochEndOffset(*read.diverging_epoch)
        if read.unsettled:
            data.preferred_read_replica = read.preferred_read_replica
        return data


def _epoch_error(session: FetchSession) -> FetchResponse:
    """Return the error for a fetch whose session a later request has continued meanwhile.

    The client must not rely on what this fetch read.
    """
    error = int(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    return FetchResponse(error_code=error, session_id=session.session_id)


class RackConsumerFetch(ConsumerFetch):
    """The fetch of a consumer with a rack, on a broker with a replica selector (KIP-392)."""

    reads_unchanged = True

    def __init__(
        self,
        replicas: ReplicaManager,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        max_bytes: int,
    ) -> None:
        self.rack = request.rack_id
        super().__init__(replicas, context, request, session, max_bytes)

    def _read_one(self, wanted: FetchPartition, left: int) -> PartitionRead:
        """Read the partition, or redirect the client to the replica in its rack.

        A redirection has no records and is answered at once.
        """
        partition = wanted.partition
        if partition is None or partition.followers is None:
            return super()._read_one(wanted, left)
        error = partition.check_leader_epoch(wanted.current_leader_epoch)
        preferred = (
            NO_PREFERENCE if error else self._preferred_replica(partition, wanted.fetch_offset)
        )
        if preferred == NO_PREFERENCE:
            return super()._read_one(wanted, left)
        self.is_urgent = True
        log = partition.log
        return PartitionRead(
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            unsettled=True,
            preferred_read_replica=preferred,
        )

    def _preferred_replica(self, partition: Partition, offset: int) -> int:
        """Return the id of the broker that the client should read from, or NO_PREFERENCE."""
        assert partition.followers is not None, "only a leader with followers prefers one"
        return rack_aware(
            self.rack,
            offset,
            partition.followers,
            self.replicas.image.brokers,
            partition.node_id,
            self.context.listener_name,
        )


class FollowerFetch(ConsumerFetch):
    """A follower's fetch in progress: it reads to the log's end, and its offsets say how much the
    follower has."""

    def __init__(
        self,
        replicas: ReplicaManager,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        max_bytes: int,
        replica: tuple[int, int],
        allowed_as_of: int | None = None,
    ) -> None:
        """`replica` is the follower's id and broker epoch.

        `allowed_as_of` is the epoch of the rights by which the fetch was already allowed; None: not
        checked yet.
        """
        self.replica_id, self.broker_epoch = replica
        self.allowed_as_of = allowed_as_of
        self.quota = replicas.leader_quota
        self.tells_high_watermark = replicas.sessions.serves_consumers_from_followers
        self.notes_position = True
        self.moved = self._moved = list[Partition]()
        super().__init__(replicas, context, request, session, max_bytes)

    def _rights(self) -> FetchRights | None:
        """Return the object that judges all partitions, or None if the follower may read all."""
        rights = self.context.rights
        return None if rights.unlimited else FollowerRights(rights, self.allowed_as_of)

    def continue_from(self, session_epoch: int) -> None:
        """Continue, at this epoch of its session, a fetch whose position is recorded already."""
        self.notes_position = False
        self.session_epoch = session_epoch

    def read(self, pace: Pace) -> Steps[bool]:
        """Read as a consumer's fetch does. Only the first read records the follower's position."""
        enough = yield from super().read(pace)
        self.notes_position = False  # a waiting fetch that reads again has the same position
        return enough

    def _read_one(self, wanted: FetchPartition, left: int) -> PartitionRead:
        """Read a partition for a follower. The first read also records its fetch offset, which may
        advance the high watermark; then the partition is added to `moved`.

        No records are read over the follower's replication quota. The answer is sent at once if it
        has new offsets for the follower.
        """
        assert isinstance(wanted, FollowerPartition), "as this request has named them"
        partition = wanted.partition
        if partition is None or partition.deleted:
            partition = self._reattach(wanted)
            if partition is None:
                return self._absent_read(wanted.key)
        throttled = self._is_throttled(partition)
        read = partition.read_for_follower(
            self.replica_id,
            self.broker_epoch,
            wanted.fetch_offset,
            0 if throttled else min(wanted.max_bytes, max(left, 0)),
            left == self.max_bytes and not throttled,
            wanted.current_leader_epoch,
            wanted.last_fetched_epoch,
        )
        if read.error or read.diverging_epoch is not None:
            return read
        if self.notes_position and partition.follower_fetched(
            self.replica_id, wanted.fetch_offset, wanted.log_start_offset, self.broker_epoch
        ):
            self._moved.append(partition)
            read.renew(partition.log)
        if read.log_start_offset != wanted.sent_log_start_offset or (
            self.tells_high_watermark and read.high_watermark != wanted.sent_high_watermark
        ):
            # A DeleteRecords, or a consumer of the follower, waits for the new offset.
            self.is_urgent = True
        return read

    def _name_leaders(self, response: FetchResponse) -> None:
        """Add the leaders as for a consumer, but no addresses, which a broker knows."""
        super()._name_leaders(response)
        response.node_endpoints = []  # a broker knows the addresses of the others

    def _is_throttled(self, partition: Partition) -> bool:
        """Return whether the leader's replication quota withholds records from this follower.

        Always False while the replica is in sync, because throttling would only remove it from the
        ISR.
        """
        quota = self.quota
        return (
            quota.is_throttled(partition.topic, partition.index)
            and self.replica_id not in partition.isr
            and quota.is_exceeded()
        )

    def _count_read(self, partition: Partition, read: PartitionRead) -> None:
        """Count a read in the partition's metrics and, if throttled, in the replication quota."""
        partition.counts.fetched(failed=bool(read.error))
        if read.size and self.quota.is_throttled(partition.topic, partition.index):
            self.quota.record(read.size)

    def _position(self, key: FetchKey, requested: RequestedPartition) -> FetchPartition:
        """Return the requested position and the follower's log start, without the partition."""
        return FollowerPartition(
            key, requested.fetch_offset, *position_of(requested), requested.log_start_offset
        )

"""A follower's Fetch of one partition within its session that begins as one before it.

While one partition is written to, each batch costs a leader such a Fetch of every follower, first
to wait and then to be answered. So this goes from the frame to the log and back with no messages in
between, as `broker.apis.fetch.prepared` does for consumers. What is not plainly so is left to
`broker.apis.fetch.api`: several partitions, what is refused, another history, a quota. Until it is
sure that this is none of it, nothing changes here. Where something of it comes up while a fetch
waits, the rest of its way is the general one. So it is where what a follower may do is judged by
others meanwhile: until then, nobody is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any

from broker.apis.fetch.prepared import went_well
from broker.apis.fetch.reading import FollowerFetch, position_of
from broker.purgatory.purgatory import DelayedOperation
from broker.replication.fetch_session import FetchSession, FollowerPartition, FollowerSession
from broker.replication.partition import Partition
from broker.replication.partition_reads import PartitionRead
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Answer, Later, RequestContext
from ground.sliced_work import Pace, in_one_go
from protocol.frames.fetch_codec import FetchReply
from protocol.frames.frame_shape import Shape, Values
from protocol.frames.message_codec import encode_response
from protocol.messages.fetch import FetchRequest, FetchResponse


class PreparedFollowerFetch:
    """What one follower asks of one partition again and again, going on with the offset."""

    def __init__(
        self,
        replicas: ReplicaManager,
        context: RequestContext,
        shape: Shape,
        request: FetchRequest,
        fetch_max_bytes: int,
        replica: tuple[int, int],
    ) -> None:
        """`replica`: the follower, and its broker epoch."""
        (topic,) = request.topics
        (asked,) = topic.partitions
        self.replicas = replicas
        self.context = context
        self.rights = None if context.rights.unlimited else context.rights
        """By which it is judged, if it is."""
        self.shape = shape
        self.session_id = request.session_id
        self.max_wait_ms = request.max_wait_ms
        self.replica = replica
        self.topic_id, self.index = topic.topic_id, asked.partition
        self.log_start_offset = asked.log_start_offset
        self.position = position_of(asked)
        self.max_bytes = min(request.max_bytes, fetch_max_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.at_once = request.max_wait_ms <= 0 or self.min_bytes <= 0
        """Whether it is answered with what there is."""
        self.room = max(min(asked.partition_max_bytes, self.max_bytes), 0)
        self.reply = FetchReply(
            context.api_version, self.session_id, "", self.topic_id, self.index, False
        )

    def follows(self, response: FetchResponse) -> bool:
        """Whether it was told of no error."""
        return went_well(response)

    def expect(self, message: memoryview, values: Values) -> None:
        """Nothing is looked up before such a request comes."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """See `PreparedRequest`."""
        correlation_id, session_epoch, offset = values
        replicas, (replica_id, broker_epoch) = self.replicas, self.replica
        partition = replicas.partition_by_id(self.topic_id, self.index)
        quota = replicas.leader_quota
        if partition is None or quota.is_throttled(partition.topic, partition.index):
            return None
        session = replicas.sessions.only_reader_of(
            partition, self.session_id, session_epoch, True, replica_id
        )
        if not isinstance(session, FollowerSession):
            return None
        read = None
        if not partition.has_nothing_for_follower(
            replica_id, broker_epoch, offset, *self.position[1:]
        ):
            read = self.read(partition, offset)
            if read.error or read.diverging_epoch is not None:
                return None
        replicas.sessions.touch(session, replicas.scheduler.monotonic_ms())
        wanted = session.named_one(partition, (offset, *self.position), self.log_start_offset)
        moved = partition.follower_fetched(replica_id, offset, self.log_start_offset, broker_epoch)
        fetch = _Fetch(self, partition, session, wanted, correlation_id)
        try:
            if read is None and (self.at_once or fetch.is_urgent):
                read = self.read(partition, offset)
            elif read is not None and moved:
                read.renew(partition.log)
            if read is not None and (fetch.take(read) or self.at_once):
                return fetch.response()
            fetch.reply = later()
            replicas.fetch_purgatory.watch(fetch, (session,), self.max_wait_ms)
            return b""
        finally:
            if moved:
                replicas.partition_changed(partition)

    def read(self, partition: Partition, offset: int) -> PartitionRead:
        """What there is from `offset` on."""
        return partition.read_for_follower(
            *self.replica, offset, self.room, True, *self.position[1:]
        )

    def general(
        self, session: FetchSession, session_epoch: int, allowed_as_of: int
    ) -> FollowerFetch:
        """What goes on with a fetch that waits, and is no plain one any more. It names no
        partition: what the session knows of them is as of that fetch."""
        request = FetchRequest(min_bytes=self.min_bytes, session_epoch=session.epoch)
        fetch = FollowerFetch(
            self.replicas,
            self.context,
            request,
            session,
            self.max_bytes,
            self.replica,
            allowed_as_of,
        )
        in_one_go(fetch.begin(request, Pace(sys.maxsize)))
        fetch.goes_on(session_epoch)
        return fetch


class _Fetch(DelayedOperation):
    """One request on its way."""

    __slots__ = (
        "_allowed_as_of",
        "_correlation_id",
        "_followed",
        "_general",
        "_partition",
        "_read",
        "_session",
        "_session_epoch",
        "_wanted",
        "reply",
    )

    reply: Callable[[Any], None]
    """The way back, where it waits."""

    def __init__(
        self,
        followed: PreparedFollowerFetch,
        partition: Partition,
        session: FetchSession,
        wanted: FollowerPartition,
        correlation_id: int,
    ) -> None:
        super().__init__()
        self._followed = followed
        self._partition = partition
        self._session = session
        self._session_epoch = session.epoch
        self._wanted = wanted
        self._correlation_id = correlation_id
        self._allowed_as_of = 0 if followed.rights is None else followed.rights.epoch
        self._read: PartitionRead | None = None
        self._general: FollowerFetch | None = None
        """What goes on with this fetch, once it is no plain one any more."""

    @property
    def is_urgent(self) -> bool:
        """Whether there is something to say besides records; see `FollowerFetch` for what."""
        wanted, log = self._wanted, self._partition.log
        return log.log_start_offset != wanted.told_log_start_offset or (
            self._followed.replicas.sessions.serves_consumers_from_followers
            and log.high_watermark != wanted.told_high_watermark
        )

    def take(self, read: PartitionRead) -> bool:
        """Answer with `read`; whether that is enough."""
        self._read = read
        return read.size >= self._followed.min_bytes or self.is_urgent

    def try_complete(self, key: Hashable) -> bool:
        """Read again, for something has changed; whether that is enough."""
        if self._general is None:
            read = self._read_plainly()
            if read is not None:
                return self.take(read)
        return self._the_general_one().read_again()

    def on_expiration(self) -> None:
        self.try_complete(self._session)

    def on_complete(self) -> None:
        """Answer with what was read last."""
        self.reply(self.response())

    def response(self) -> Answer:
        """What was read last, as a whole frame."""
        read, wanted, followed = self._read, self._wanted, self._followed
        plain = self._general is None and self._session.epoch == self._session_epoch
        if plain and read is not None and read.size:
            self._session.settle(wanted, read)
            wanted.told(read)
            self._partition.counts.fetched()
            records = read.records
            parts = followed.reply.parts(
                self._correlation_id,
                read.high_watermark,
                read.last_stable_offset,
                read.log_start_offset,
                records,
            )
            return b"".join(parts) if isinstance(records, bytes) else parts  # type: ignore[arg-type]
        fetch = self._the_general_one()
        fetch.read_again()
        version = followed.context.api_version
        response = in_one_go(fetch.response(Pace(sys.maxsize)))
        return encode_response(response, version, self._correlation_id).parts()

    def _read_plainly(self) -> PartitionRead | None:
        """None where there is more to look at than records of this partition."""
        partition, session, followed = self._partition, self._session, self._followed
        if (
            session.by_partition.get(partition) is not self._wanted
            or len(session.changed) != 1
            or followed.replicas.leader_quota.is_throttled(partition.topic, partition.index)
            or (followed.rights and not followed.rights.stand_since(self._allowed_as_of))
        ):
            return None
        read = followed.read(partition, self._wanted.fetch_offset)
        return None if read.error or read.diverging_epoch is not None else read

    def _the_general_one(self) -> FollowerFetch:
        if self._general is None:
            self._general = self._followed.general(
                self._session, self._session_epoch, self._allowed_as_of
            )
        return self._general

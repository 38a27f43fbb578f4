"""A shortcut for a follower's Fetch of one partition in its session that repeats an earlier one.

While one partition is written to, each batch costs the leader one such Fetch per follower, which
first waits and is then answered. So the frame leads to the log and to encoded bytes, without
decoding the request, as in `broker.apis.fetch.prepared` for consumers. All other cases are left to
`broker.apis.fetch.api`: several partitions, rejections, a diverging log, a quota. No state is
changed before it is certain that the shortcut applies.

If such a case comes up while a fetch waits, the general code (`FollowerFetch`) continues it. The
same holds if the follower's rights may have changed meanwhile; otherwise they are not checked
again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any

from broker.apis.fetch.prepared import has_no_error
from broker.apis.fetch.reading import FollowerFetch, position_of
from broker.purgatory.purgatory import DelayedOperation
from broker.replication.fetch_session import FetchSession, FollowerPartition, FollowerSession
from broker.replication.partition import Partition
from broker.replication.partition_reads import PartitionRead
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Answer, Later, RequestContext
from ground.sliced_work import Pace, in_one_go
from protocol.frames.fetch_codec import FetchReplyFrames
from protocol.frames.frame_shape import Shape, Values
from protocol.frames.message_codec import encode_response
from protocol.messages.fetch import FetchRequest, FetchResponse


class PreparedFollowerFetch:
    """A shortcut for one follower's repeated fetches of one partition, with growing offsets."""

    def __init__(
        self,
        replicas: ReplicaManager,
        context: RequestContext,
        shape: Shape,
        request: FetchRequest,
        fetch_max_bytes: int,
        replica: tuple[int, int],
    ) -> None:
        """Prepare for fetches like `request`, which must have exactly one partition. `replica` is
        the follower's id and broker epoch."""
        (topic,) = request.topics
        (requested,) = topic.partitions
        self.replicas = replicas
        self.context = context
        self.rights = None if context.rights.unlimited else context.rights
        """The follower's rights; None if they are unlimited."""
        self.shape = shape
        self.session_id = request.session_id
        self.max_wait_ms = request.max_wait_ms
        self.replica = replica
        self.topic_id, self.index = topic.topic_id, requested.partition
        self.log_start_offset = requested.log_start_offset
        self.position = position_of(requested)
        self.max_bytes = min(request.max_bytes, fetch_max_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.never_waits = request.max_wait_ms <= 0 or self.min_bytes <= 0
        """Whether the request never waits for more records."""
        self.read_max_bytes = max(min(requested.partition_max_bytes, self.max_bytes), 0)
        self.reply = FetchReplyFrames(
            context.api_version, self.session_id, "", self.topic_id, self.index, False
        )

    def follows(self, response: FetchResponse) -> bool:
        """Return whether the first request was answered without an error."""
        return has_no_error(response)

    def expect(self, message: memoryview, values: Values) -> None:
        """Prepare nothing: what a read returns is known only after the request has arrived."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Record the follower's position, which may advance the high watermark, and return the
        response. It is empty if the fetch waits, and then comes by `later`.

        Return None, with nothing done, if the shortcut does not apply. See `PreparedRequest`.
        """
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
        wanted = session.put_single(partition, (offset, *self.position), self.log_start_offset)
        moved = partition.follower_fetched(replica_id, offset, self.log_start_offset, broker_epoch)
        fetch = _Fetch(self, partition, session, wanted, correlation_id)
        try:
            if read is None and (self.never_waits or fetch.is_urgent):
                read = self.read(partition, offset)
            elif read is not None and moved:
                read.renew(partition.log)
            if read is not None and (fetch.take(read) or self.never_waits):
                return fetch.response()
            fetch.reply = later()
            replicas.fetch_purgatory.watch(fetch, (session,), self.max_wait_ms)
            return b""
        finally:
            if moved:
                replicas.partition_changed(partition)

    def read(self, partition: Partition, offset: int) -> PartitionRead:
        """Read the partition for the follower, from `offset` on, and return the result."""
        return partition.read_for_follower(
            *self.replica, offset, self.read_max_bytes, True, *self.position[1:]
        )

    def general_fetch(
        self, session: FetchSession, session_epoch: int, allowed_as_of: int
    ) -> FollowerFetch:
        """Return the general fetch that continues a waiting one to which the shortcut no longer
        applies.

        The general fetch names no partition, because the session has the positions that the waiting
        fetch has set.
        """
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
        fetch.continue_from(session_epoch)
        return fetch


class _Fetch(DelayedOperation):
    """A follower's fetch in progress, answered at once or after a wait."""

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
    """Sends the response of a fetch that has waited."""

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
        """The general fetch that continues this one, after the shortcut no longer applies."""

    @property
    def is_urgent(self) -> bool:
        """Whether the log start or the high watermark must be answered even without records."""
        wanted, log = self._wanted, self._partition.log
        return log.log_start_offset != wanted.sent_log_start_offset or (
            self._followed.replicas.sessions.serves_consumers_from_followers
            and log.high_watermark != wanted.sent_high_watermark
        )

    def take(self, read: PartitionRead) -> bool:
        """Keep `read` for the response, and return whether it is enough to answer."""
        self._read = read
        return read.size >= self._followed.min_bytes or self.is_urgent

    def try_complete(self, key: Hashable) -> bool:
        """Read again after a change, and return whether that is enough to answer."""
        if self._general is None:
            read = self._read_plainly()
            if read is not None:
                return self.take(read)
        return self._general_fetch().read_again()

    def on_expiration(self) -> None:
        """Read a last time. `on_complete`, which is called next, sends the result."""
        self.try_complete(self._session)

    def on_complete(self) -> None:
        """Send the response with the last read."""
        self.reply(self.response())

    def response(self) -> Answer:
        """Return the response with the last read, as a whole frame, and record its contents in the
        session.

        If the general fetch must continue this one, that reads again first.
        """
        read, wanted, followed = self._read, self._wanted, self._followed
        plain = self._general is None and self._session.epoch == self._session_epoch
        if plain and read is not None and read.size:
            self._session.settle(wanted, read)
            wanted.note_sent(read)
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
        fetch = self._general_fetch()
        fetch.read_again()
        version = followed.context.api_version
        response = in_one_go(fetch.response(Pace(sys.maxsize)))
        return encode_response(response, version, self._correlation_id).parts()

    def _read_plainly(self) -> PartitionRead | None:
        """Read the partition, and return the result. None if the general fetch must continue: the
        session, the rights or a quota changed, or the read had an error."""
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

    def _general_fetch(self) -> FollowerFetch:
        """Return the general fetch that continues this one; it is made at the first call."""
        if self._general is None:
            self._general = self._followed.general_fetch(
                self._session, self._session_epoch, self._allowed_as_of
            )
        return self._general

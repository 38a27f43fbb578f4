"""A follower's Fetch of one partition within its session, from its bytes to the records.

While one partition is written to, each batch costs a leader such a Fetch of every follower, first
to wait and then to be answered. So this goes from the frame to the log and back with no messages
in between, as `broker.apis.single_fetch` does for consumers. Whatever is not plainly so is left to
`broker.apis.fetch`, which says how Fetch behaves: other listeners, new sessions, several
partitions, what is refused, another history, a quota. Until it is sure that this is none of it,
nothing changes here; and where something of it comes up while a fetch waits, the rest of its way is
the long one. Tests hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Hashable

from broker.apis.fetch_reading import FollowerFetch
from broker.apis.single_fetch import Remembered
from broker.config.values import BrokerConfig
from broker.purgatory.purgatory import DelayedOperation
from broker.replication.fetch_session import FetchSession, FollowerPartition, FollowerSession
from broker.replication.partition import Partition
from broker.replication.partition_reads import NO_EPOCH, PartitionRead
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import AtOnce, Later, Reply, RequestContext
from protocol.api_keys import ApiKey
from protocol.fetch_codec import REPLICA_STATE_BYTES, FetchAnswer, SameFetch, what_repeats
from protocol.message_codec import ResponseParts, response_parts
from protocol.messages.fetch import FetchRequest
from protocol.replica_fetch_codec import OneFollowed, read_one


class SingleFollowerFetch:
    """See the module. It remembers followers by the bytes that they repeat."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager) -> None:
        self._config = config
        self._replicas = replicas
        self._followers: Remembered[_Followed] = Remembered()

    def handle(
        self, frame: memoryview, pos: int, version: int, correlation_id: int, reply: Reply
    ) -> bool | AtOnce:
        """Answer the request whose body is at `pos`, or let it wait: what does so with the next one
        like it. False: nothing was done.

        Only for what came on the listener between brokers.
        """
        repeated = what_repeats(frame, pos, version, REPLICA_STATE_BYTES)
        followed = self._followers.get(repeated)
        if followed is None:
            followed = self._learn(frame, pos, version, repeated)
        read = followed.same.read(frame) if followed is not None else None
        if followed is None or read is None:
            return False
        _, session_epoch, offset = read
        answer = followed.handle(correlation_id, session_epoch, offset, lambda: reply)
        if answer is None:
            return False
        if answer:
            reply(answer)
        return followed.answer_next

    def _learn(
        self, frame: memoryview, pos: int, version: int, repeated: bytes
    ) -> _Followed | None:
        request = read_one(frame, pos, version)
        if request is None:
            return None
        same = SameFetch(frame, pos, version, REPLICA_STATE_BYTES)
        followed = _Followed(self._config, self._replicas, version, request, same)
        self._followers.remember(repeated, followed)
        return followed


class _Followed:
    """What one follower asks of one partition again and again, going on with the offset.

    It remembers what the bytes say (names, not the partition), so it never becomes wrong.
    """

    def __init__(
        self,
        config: BrokerConfig,
        replicas: ReplicaManager,
        version: int,
        request: OneFollowed,
        same: SameFetch,
    ) -> None:
        self.replicas = replicas
        self.version = version
        self.request = request
        self.same = same
        self.listener = config.inter_broker_listener_name
        self.max_bytes = min(request.max_bytes, config.fetch_max_bytes)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        self.at_once = request.max_wait_ms <= 0 or self.min_bytes <= 0
        """Whether it is answered with what there is."""
        self.room = max(min(request.partition_max_bytes, self.max_bytes), 0)
        self.leader_epoch = max(request.leader_epoch, NO_EPOCH)  # any negative epoch is none
        self.fetched_epoch = max(request.last_fetched_epoch, NO_EPOCH)
        self.template = FetchAnswer(
            version,
            request.session_id,
            "",
            request.topic_id,
            request.partition,
            committed_only=False,
        )

    def answer_next(self, frame: memoryview, later: Later) -> ResponseParts | None:
        """See `AtOnce`."""
        read = self.same.read(frame)
        return None if read is None else self.handle(*read, later)

    def handle(
        self, correlation_id: int, session_epoch: int, offset: int, later: Later
    ) -> ResponseParts | None:
        """The answer, empty where it comes later; None where nothing was done."""
        request, replicas = self.request, self.replicas
        partition = replicas.partition_by_id(request.topic_id, request.partition)
        quota = replicas.leader_quota
        if partition is None or quota.is_throttled(partition.topic, partition.index):
            return None
        session = replicas.sessions.only_reader_of(
            partition, request.session_id, session_epoch, True, request.replica_id
        )
        if not isinstance(session, FollowerSession):
            return None
        read = None
        if not partition.has_nothing_for_follower(
            request.replica_id, request.broker_epoch, offset, self.leader_epoch, self.fetched_epoch
        ):
            read = self.read(partition, offset)
            if read.error or read.diverging_epoch is not None:
                return None
        replicas.sessions.touch(session, replicas.scheduler.monotonic_ms())
        wanted = session.named_one(
            partition,
            (offset, request.partition_max_bytes, self.leader_epoch, self.fetched_epoch),
            request.log_start_offset,
        )
        moved = partition.follower_fetched(
            request.replica_id, offset, request.log_start_offset, request.broker_epoch
        )
        fetch = _Fetch(self, partition, session, wanted, correlation_id)
        try:
            if read is None and (self.at_once or fetch.is_urgent):
                read = self.read(partition, offset)
            elif read is not None and moved:
                read.high_watermark = partition.log.high_watermark
                read.last_stable_offset = partition.log.last_stable_offset
            if read is not None and (fetch.take(read) or self.at_once):
                return fetch.response()
            fetch.reply = later()
            replicas.fetch_purgatory.watch(fetch, (session,), request.max_wait_ms)
            return b""
        finally:
            if moved:
                replicas.partition_changed(partition)

    def read(self, partition: Partition, offset: int) -> PartitionRead:
        """What there is from `offset` on."""
        request = self.request
        return partition.read_for_follower(
            request.replica_id,
            request.broker_epoch,
            offset,
            self.room,
            True,
            self.leader_epoch,
            self.fetched_epoch,
        )


class _Fetch(DelayedOperation):
    """One request on its way."""

    __slots__ = (
        "_correlation_id",
        "_followed",
        "_long",
        "_partition",
        "_read",
        "_session",
        "_session_epoch",
        "_wanted",
        "reply",
    )

    reply: Reply
    """The way back, where it waits."""

    def __init__(
        self,
        followed: _Followed,
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
        self._read: PartitionRead | None = None
        self._long: FollowerFetch | None = None
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
        if self._long is None:
            read = self._read_plainly()
            if read is not None:
                return self.take(read)
        return self._the_long_one().read()

    def on_expiration(self) -> None:
        self.try_complete(self._session)

    def on_complete(self) -> None:
        """Answer with what was read last."""
        self.reply(self.response())

    def response(self) -> ResponseParts:
        """What was read last, as a whole frame."""
        read, wanted, followed = self._read, self._wanted, self._followed
        plain = self._long is None and self._session.epoch == self._session_epoch
        if plain and read is not None and read.size:
            self._session.settle(wanted, read)
            wanted.told(read)
            self._partition.counts.total_fetch_requests += 1
            records = read.records
            parts = followed.template.parts(
                self._correlation_id,
                read.high_watermark,
                read.last_stable_offset,
                read.log_start_offset,
                records,
            )
            return b"".join(parts) if isinstance(records, bytes) else parts  # type: ignore[arg-type]
        fetch = self._the_long_one()
        fetch.read()
        return response_parts(fetch.response(), followed.version, self._correlation_id)

    def _read_plainly(self) -> PartitionRead | None:
        """None where there is more to look at than records of this partition."""
        partition, session, followed = self._partition, self._session, self._followed
        if (
            session.by_partition.get(partition) is not self._wanted
            or len(session.changed) != 1
            or followed.replicas.leader_quota.is_throttled(partition.topic, partition.index)
        ):
            return None
        read = followed.read(partition, self._wanted.fetch_offset)
        return None if read.error or read.diverging_epoch is not None else read

    def _the_long_one(self) -> FollowerFetch:
        if self._long is None:
            followed = self._followed
            request = followed.request
            context = RequestContext(
                int(ApiKey.FETCH),
                followed.version,
                self._correlation_id,
                None,
                "",
                followed.listener,
                "",
            )
            # It names no partition: what the session knows of them is as of this request.
            self._long = FollowerFetch(
                followed.replicas,
                context,
                FetchRequest(min_bytes=request.min_bytes, session_epoch=self._session.epoch),
                self._session,
                followed.max_bytes,
                (request.replica_id, request.broker_epoch),
            )
            self._long.notes_position = False
            self._long.session_epoch = self._session_epoch
        return self._long

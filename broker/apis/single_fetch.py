"""A Fetch of one partition, from its bytes to the records.

Records leave by `sendfile`, so what such a fetch costs this process is the number of steps around
them. Where a consumer asks for one partition, without a session or with one in which nothing else
changed, the request goes from the frame to the log and back with no messages in between. At the
log's end, and without a session, it waits for the next record. Everything else is left to
`broker.apis.fetch`, which says how Fetch behaves: what is refused, followers, a reader's rack,
aborted transactions, a wait that is over with nothing to give; until it is sure that there is an
answer, nothing changes here. Tests hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from broker.config.values import BrokerConfig
from broker.purgatory.delayed_operations import DelayedFetch
from broker.replication.fetch_session import FINAL_EPOCH, NO_SESSION
from broker.replication.partition import Partition
from broker.replication.partition_reads import CONSUMER_ISOLATIONS, NO_EPOCH, READ_COMMITTED
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import AtOnce, Later, TheLongWay
from protocol.fetch_codec import (
    TOPIC_IDS_FROM,
    FetchAnswer,
    OneFetch,
    SameFetch,
    may_be_one,
    read_one,
    what_repeats,
    without_wait,
)
from protocol.message_codec import ResponseParts
from protocol.primitives import RecordSlice
from storage.log.file_records import FileRecords

T = TypeVar("T")

READERS_MAX = 4096
"""What is remembered; when there are more, all are forgotten and learned again."""
REPEATED_BYTES_MAX = 512
"""Of a reader that is remembered: a client id may be long."""


class Remembered(dict[bytes, T]):
    """What was learned of readers, by the bytes that they repeat; within limits."""

    def remember(self, repeated: bytes, learned: T) -> None:
        """Keep it, if those bytes are few."""
        if len(repeated) <= REPEATED_BYTES_MAX:
            if len(self) >= READERS_MAX:
                self.clear()
            self[repeated] = learned


class SingleFetch:
    """See the module. It remembers readers by the bytes that they repeat."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager) -> None:
        self.replicas = replicas
        self._max_bytes = config.fetch_max_bytes
        self._readers: Remembered[_OnePartition] = Remembered()

    def handle(
        self,
        frame: memoryview,
        pos: int,
        version: int,
        correlation_id: int,
        reply: Callable[[ResponseParts], None],
        the_long_way: TheLongWay,
    ) -> bool | AtOnce:
        """Answer the request whose body is at `pos`, or let it wait: what answers the next one like
        it. False: nothing was done."""
        if not may_be_one(frame, pos, version):
            return False
        repeated = what_repeats(frame, pos, version)
        wanted = self._readers.get(repeated)
        if wanted is None:
            wanted = self._learn(frame, pos, version, repeated)
        read = wanted.same.read(frame) if wanted is not None else None
        if wanted is None or read is None:
            return False
        _, session_epoch, offset = read
        parts = wanted.answer(correlation_id, session_epoch, offset)
        if parts is not None:
            reply(parts)
        elif wanted.can_wait(session_epoch, offset):
            unwaiting = without_wait(frame, pos, version)

            def answer() -> None:
                parts = wanted.answer(correlation_id, session_epoch, offset)
                if parts is not None:
                    reply(parts)
                else:
                    the_long_way(unwaiting)  # as if it had come now

            waiting = DelayedFetch(lambda: not wanted.has_nothing_for(offset), answer)
            keys = [wanted.partition]
            self.replicas.fetch_purgatory.watch(waiting, keys, wanted.max_wait_ms)
        else:
            return False
        return wanted.answer_next

    def _learn(
        self, frame: memoryview, pos: int, version: int, repeated: bytes
    ) -> _OnePartition | None:
        request = read_one(frame, pos, version)
        if request is None or request[3] not in CONSUMER_ISOLATIONS:
            return None
        same = SameFetch(frame, pos, version)
        wanted = _OnePartition(self.replicas, version, request, self._max_bytes, same)
        self._readers.remember(repeated, wanted)
        return wanted


class _OnePartition:
    """What one reader asks again and again, going on with the offset.

    It remembers what the bytes say (names, not the partition), so it never becomes wrong.
    """

    __slots__ = (
        "_fetched_epoch",
        "_find",
        "_index",
        "_isolation",
        "_leader_epoch",
        "_min_bytes",
        "_partition_max_bytes",
        "_replicas",
        "_room",
        "_session_id",
        "_template",
        "_topic",
        "_uses_topic_ids",
        "max_wait_ms",
        "same",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        version: int,
        request: OneFetch,
        fetch_max_bytes: int,
        same: SameFetch,
    ) -> None:
        (
            self.max_wait_ms, min_bytes, max_bytes, isolation, session_id, _, name, topic_id,
            index, leader_epoch, _, fetched_epoch, partition_max_bytes,
        ) = request  # fmt: skip
        self._replicas = replicas
        by_id = version >= TOPIC_IDS_FROM
        self._find: Any = replicas.partition_by_id if by_id else replicas.partition
        self._topic: bytes | str = topic_id if by_id else name
        self._index = index
        max_bytes = min(max_bytes, fetch_max_bytes)
        self._min_bytes = min(min_bytes, max_bytes)
        self._room = max(min(partition_max_bytes, max_bytes), 0)
        self._partition_max_bytes = partition_max_bytes
        self._isolation = isolation
        self._leader_epoch = max(leader_epoch, NO_EPOCH)  # any negative epoch is none
        self._fetched_epoch = max(fetched_epoch, NO_EPOCH)
        self._session_id = session_id
        self._uses_topic_ids = by_id
        committed = isolation == READ_COMMITTED
        self._template = FetchAnswer(version, session_id, name, topic_id, index, committed)
        self.same = same

    def answer_next(self, frame: memoryview, _later: Later) -> list[bytes | RecordSlice] | None:
        """See `AtOnce`."""
        read = self.same.read(frame)
        return None if read is None else self.answer(*read)

    @property
    def partition(self) -> Partition | None:
        """As it is now."""
        found: Partition | None = self._find(self._topic, self._index)
        return found

    def has_nothing_for(self, offset: int) -> bool:
        """Whether a reader at `offset` is right there, and alone."""
        partition = self.partition
        return partition is not None and partition.has_nothing_for(
            offset, self._isolation, self._leader_epoch, self._fetched_epoch
        )

    def can_wait(self, session_epoch: int, offset: int) -> bool:
        """Whether this request may wait here for the next record. A session's waits for all of its
        partitions, and one for many bytes counts them."""
        return (
            session_epoch == FINAL_EPOCH
            and self.max_wait_ms > 0
            and self._session_id == NO_SESSION
            and self._min_bytes == 1
            and self.has_nothing_for(offset)
        )

    def answer(
        self, correlation_id: int, session_epoch: int, offset: int
    ) -> list[bytes | RecordSlice] | None:
        """The answer in parts; None where nothing was done."""
        partition = self._find(self._topic, self._index)
        if partition is None or offset >= partition.log.high_watermark:
            return None
        session = None
        if session_epoch != FINAL_EPOCH or self._session_id != NO_SESSION:
            session = self._replicas.sessions.only_reader_of(
                partition, self._session_id, session_epoch, self._uses_topic_ids
            )
            if session is None:
                return None
        # Not only from the leader: since v11 a follower answers, too.
        read = partition.read(
            offset,
            self._room,
            self._isolation,
            True,
            self._leader_epoch,
            self._fetched_epoch,
            False,
        )
        records, size = read.records, read.size
        if not isinstance(records, FileRecords) or size < self._min_bytes or read.aborted:
            return None
        if session is not None:
            self._replicas.sessions.touch(session, self._replicas.scheduler.monotonic_ms())
            position = offset, self._partition_max_bytes, self._leader_epoch, self._fetched_epoch
            session.answered_one(partition, position, read)
        counts = partition.counts
        counts.total_fetch_requests += 1
        counts.bytes_out += size
        return self._template.parts(
            correlation_id,
            read.high_watermark,
            read.last_stable_offset,
            read.log_start_offset,
            records,
        )

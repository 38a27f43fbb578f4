"""A reader's Fetch of one partition that begins with the bytes of one before it.

Where a consumer asks for one partition, without a session or with one in which nothing else
changed, the request goes from the frame to the log and back with no messages in between. What is
remembered are names, never a partition, so it cannot go stale.

Everything else is left to `broker.apis.fetch.api`, which says how Fetch behaves: waiting, what is
refused, a reader's rack, aborted transactions. Until it is sure that there is an answer, nothing
changes here. Followers: `broker.apis.fetch.prepared_follower`.
"""

from __future__ import annotations

from typing import Any

from broker.apis.fetch.reading import position_of
from broker.replication.fetch_session import FINAL_EPOCH, NO_SESSION
from broker.replication.partition import Partition
from broker.replication.partition_reads import READ_COMMITTED
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Answer, Later
from protocol.frames.fetch_codec import TOPIC_IDS_FROM, FetchReply
from protocol.frames.frame_shape import Shape, Values
from protocol.messages.fetch import FetchRequest, FetchResponse
from storage.log.file_records import FileRecords


def went_well(response: FetchResponse) -> bool:
    """Whether a response says of no error."""
    return not response.error_code and not any(
        one.error_code for topic in response.responses for one in topic.partitions
    )


class PreparedFetch:
    """What one consumer asks again and again, going on with the offset."""

    __slots__ = (
        "_find",
        "_index",
        "_isolation",
        "_min_bytes",
        "_position",
        "_replicas",
        "_reply",
        "_room",
        "_session_id",
        "_topic",
        "_uses_topic_ids",
        "shape",
    )

    def __init__(
        self,
        replicas: ReplicaManager,
        version: int,
        shape: Shape,
        request: FetchRequest,
        fetch_max_bytes: int,
    ) -> None:
        (topic,) = request.topics
        (asked,) = topic.partitions
        by_id = version >= TOPIC_IDS_FROM
        self.shape = shape
        self._replicas = replicas
        self._find: Any = replicas.partition_by_id if by_id else replicas.partition
        self._topic: bytes | str = topic.topic_id if by_id else topic.topic
        self._index = asked.partition
        max_bytes = min(request.max_bytes, fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, max_bytes)
        self._room = max(min(asked.partition_max_bytes, max_bytes), 0)
        self._position = position_of(asked)
        self._isolation = request.isolation_level
        self._session_id = request.session_id
        self._uses_topic_ids = by_id
        committed = request.isolation_level == READ_COMMITTED
        self._reply = FetchReply(
            version, request.session_id, topic.topic, topic.topic_id, asked.partition, committed
        )

    def follows(self, response: FetchResponse) -> bool:
        """Whether it was told of no error."""
        return went_well(response)

    def expect(self, message: memoryview, values: Values) -> None:
        """Nothing is looked up before such a request comes."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """The answer in parts; see `PreparedRequest`."""
        correlation_id, session_epoch, offset = values
        partition: Partition | None = self._find(self._topic, self._index)
        if partition is None or offset >= partition.log.high_watermark:
            return None
        session = None
        if session_epoch != FINAL_EPOCH or self._session_id != NO_SESSION:
            session = self._replicas.sessions.only_reader_of(
                partition, self._session_id, session_epoch, self._uses_topic_ids
            )
            if session is None:
                return None
        partition_max_bytes, leader_epoch, fetched_epoch = self._position
        # Not only from the leader: since v11 a follower answers, too.
        read = partition.read(
            offset, self._room, self._isolation, True, leader_epoch, fetched_epoch, False
        )
        records, size = read.records, read.size
        if not isinstance(records, FileRecords) or size < self._min_bytes or read.aborted:
            return None
        if session is not None:
            self._replicas.sessions.touch(session, self._replicas.scheduler.monotonic_ms())
            session.answered_one(partition, (offset, *self._position), read)
        partition.counts.fetched(size)
        return self._reply.parts(
            correlation_id,
            read.high_watermark,
            read.last_stable_offset,
            read.log_start_offset,
            records,
        )

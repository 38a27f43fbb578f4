"""A shortcut for a consumer's Fetch of one partition that repeats an earlier request.

The consumer has no session, or one in which no other partition changed. Then the frame leads to the
log and to encoded bytes, without decoding the request. Only the topic's name or id and the index
are kept, never a partition, so nothing here can become stale.

Everything else is left to `broker.apis.fetch.api`: waits, rejections, racks, aborted transactions.
No state is changed before it is certain that the shortcut can answer. Followers:
`broker.apis.fetch.prepared_follower`.
"""

from __future__ import annotations

from typing import Any

from broker.apis.fetch.reading import position_of
from broker.replication.fetch_session import FINAL_EPOCH, NO_SESSION
from broker.replication.partition import Partition
from broker.replication.partition_reads import READ_COMMITTED
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Answer, Later
from protocol.frames.fetch_codec import TOPIC_IDS_FROM, FetchReplyFrames
from protocol.frames.frame_shape import Shape, Values
from protocol.messages.fetch import FetchRequest, FetchResponse
from storage.log.file_records import FileRecords


def has_no_error(response: FetchResponse) -> bool:
    """Return whether a response has no error."""
    return not response.error_code and not any(
        partition.error_code for topic in response.responses for partition in topic.partitions
    )


class PreparedFetch:
    """A shortcut for one consumer's repeated fetches of one partition, with growing offsets."""

    __slots__ = (
        "_find",
        "_index",
        "_isolation",
        "_min_bytes",
        "_position",
        "_replicas",
        "_reply",
        "_read_max_bytes",
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
        """Prepare for fetches like `request`, which must have exactly one partition.
        `fetch_max_bytes` limits their responses."""
        (topic,) = request.topics
        (requested,) = topic.partitions
        by_id = version >= TOPIC_IDS_FROM
        self.shape = shape
        self._replicas = replicas
        self._find: Any = replicas.partition_by_id if by_id else replicas.partition
        self._topic: bytes | str = topic.topic_id if by_id else topic.topic
        self._index = requested.partition
        max_bytes = min(request.max_bytes, fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, max_bytes)
        self._read_max_bytes = max(min(requested.partition_max_bytes, max_bytes), 0)
        self._position = position_of(requested)
        self._isolation = request.isolation_level
        self._session_id = request.session_id
        self._uses_topic_ids = by_id
        committed = request.isolation_level == READ_COMMITTED
        self._reply = FetchReplyFrames(
            version, request.session_id, topic.topic, topic.topic_id, requested.partition, committed
        )

    def follows(self, response: FetchResponse) -> bool:
        """Return whether the first request was answered without an error."""
        return has_no_error(response)

    def expect(self, message: memoryview, values: Values) -> None:
        """Prepare nothing: what a read returns is known only after the request has arrived."""

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Return the response in parts, and update the session; None, with nothing done, if the
        shortcut does not apply.

        See `PreparedRequest`.
        """
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
        # False: not only the leader may answer, because since v11 a follower may, too.
        read = partition.read(
            offset, self._read_max_bytes, self._isolation, True, leader_epoch, fetched_epoch, False
        )
        records, size = read.records, read.size
        if not isinstance(records, FileRecords) or size < self._min_bytes or read.aborted:
            return None
        if session is not None:
            self._replicas.sessions.touch(session, self._replicas.scheduler.monotonic_ms())
            session.answered_single(partition, (offset, *self._position), read)
        partition.counts.fetched(size)
        return self._reply.parts(
            correlation_id,
            read.high_watermark,
            read.last_stable_offset,
            read.log_start_offset,
            records,
        )

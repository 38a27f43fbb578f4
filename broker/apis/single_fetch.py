"""A Fetch of one partition whose records are there, from its bytes to its answer.

Records leave by `sendfile`, so what such a fetch costs this process is the number of steps around
them. Where a consumer asks for one partition, without a session or with one in which nothing else
changed, and gets records at once, the request goes from the frame to the log and back with no
messages in between. Everything else is left to `broker.apis.fetch`, which says how Fetch behaves:
what waits, what is refused, followers, a reader's rack, aborted transactions; until it is sure
that there is an answer, nothing changes here. Tests hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.config import BrokerConfig
from broker.replication.fetch_session import FINAL_EPOCH, NO_SESSION
from broker.replication.partition_reads import NO_EPOCH, READ_COMMITTED
from broker.replication.replica_manager import ReplicaManager
from protocol.fetch_codec import TOPIC_IDS_FROM, encode_one, read_one
from protocol.message_codec import ResponseParts
from storage.file_records import FileRecords


class SingleFetch:
    """See the module."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._sessions = replicas.sessions
        self._now_ms = replicas.scheduler.monotonic_ms
        self._max_bytes = config.fetch_max_bytes

    def handle(
        self,
        frame: memoryview,
        pos: int,
        version: int,
        correlation_id: int,
        reply: Callable[[ResponseParts], None],
    ) -> bool:
        """Answer the request whose body is at `pos`. False: nothing was done."""
        request = read_one(frame, pos, version)
        if request is None:
            return False
        (
            _, min_bytes, max_bytes, isolation, session_id, session_epoch, name, topic_id,
            index, leader_epoch, offset, fetched_epoch, partition_max_bytes,
        ) = request  # fmt: skip
        if name:
            partition = self._replicas.partition(name, index)
        else:
            partition = self._replicas.partition_by_id(topic_id, index)
        if partition is None or offset >= partition.log.high_watermark:
            return False
        session = None
        if session_epoch != FINAL_EPOCH or session_id != NO_SESSION:
            by_id = version >= TOPIC_IDS_FROM
            session = self._sessions.only_reader_of(partition, session_id, session_epoch, by_id)
            if session is None:
                return False
        leader_epoch = max(leader_epoch, NO_EPOCH)  # any negative epoch is none
        fetched_epoch = max(fetched_epoch, NO_EPOCH)
        max_bytes = min(max_bytes, self._max_bytes)
        room = max(min(partition_max_bytes, max_bytes), 0)
        # Not only from the leader: since v11 a follower answers, too.
        read = partition.read(offset, room, isolation, True, leader_epoch, fetched_epoch, False)
        records = read.records
        if (
            not isinstance(records, FileRecords)
            or read.size < min(min_bytes, max_bytes)
            or read.aborted
        ):
            return False
        if session is not None:
            self._sessions.touch(session, self._now_ms())
            position = offset, partition_max_bytes, leader_epoch, fetched_epoch
            session.answered_one(partition, position, read)
        counts = partition.counts
        counts.total_fetch_requests += 1
        counts.bytes_out += read.size
        bounds = read.high_watermark, read.last_stable_offset, read.log_start_offset
        answer = encode_one(
            version, correlation_id, session_id, name, topic_id, index, bounds,
            isolation == READ_COMMITTED, records,
        )  # fmt: skip
        reply(answer)
        return True

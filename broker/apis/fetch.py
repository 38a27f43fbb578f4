"""Fetch: v4-18.

Behaviour: reads from the position of each partition up to `max_bytes` in all, the first non-empty
partition at least one batch (KIP-74). Fewer than `min_bytes` wait up to `max_wait_ms` in the
purgatory. With a session (v7, KIP-227) only what changed is looked at and answered; a request
without one looks at all that it names. Records are slices of segment files, never copied here.

Versions: v5 log start offset, v7 sessions, v9 leader epochs (KIP-320), v11 rack, v12 flexible and
diverging epochs (KIP-595), v13 topic ids, v15 replica state tagged, v16 leader addresses
(KIP-951), v17 directory ids of followers, v18 high watermark of followers. Only consumers fetch
from a single node: a replica id is refused.
"""

from __future__ import annotations

from broker.apis.context import Api, RequestContext, Respond
from broker.config import BrokerConfig
from broker.purgatory.delayed_operations import DelayedFetch
from broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchKey,
    FetchPartition,
    FetchSession,
)
from broker.replication.partition import NO_EPOCH, READ_COMMITTED, Partition, PartitionRead
from broker.replication.replica_manager import ReplicaManager
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.primitives import ZERO_UUID

TOPIC_IDS_FROM = 13
REPLICA_STATE_FROM = 15
CONSUMER = -1

Reads = dict[FetchKey, tuple[FetchPartition, PartitionRead]]


class FetchApi:
    """Reads for consumers."""

    def __init__(self, config: BrokerConfig, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._scheduler = replicas.scheduler
        self._max_bytes = config.fetch_max_bytes

    def apis(self) -> list[Api]:
        return [Api(ApiKey.FETCH, 4, 18, self.handle, refuse_fetch)]

    def handle(self, context: RequestContext, request: FetchRequest, respond: Respond) -> None:
        if _replica_id(context, request) != CONSUMER:
            # A fetch in a replica's name would move its high watermark (CVE-2018-1288).
            respond(refuse_fetch(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        session = self._session(context, request)
        if isinstance(session, ErrorCode):
            respond(FetchResponse(error_code=int(session)))
            return
        fetch = _Fetch(self._replicas, request, session, min(request.max_bytes, self._max_bytes))
        if fetch.read() or request.max_wait_ms <= 0 or not fetch.wanted:
            respond(fetch.response())
            return
        waiting = DelayedFetch(fetch.read, lambda: respond(fetch.response()))
        self._replicas.fetch_purgatory.watch(waiting, fetch.keys(), request.max_wait_ms)

    # --- sessions ------------------------------------------------------------------------------

    def _session(
        self, context: RequestContext, request: FetchRequest
    ) -> FetchSession | None | ErrorCode:
        """The session that this request goes on with or opens; None where it has none."""
        sessions = self._replicas.sessions
        now_ms = self._scheduler.monotonic_ms()
        by_topic_id = context.api_version >= TOPIC_IDS_FROM
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                sessions.remove(request.session_id)
            if request.session_epoch == FINAL_EPOCH:
                return None
            count = sum(len(topic.partitions) for topic in request.topics)
            return sessions.create(count, by_topic_id, now_ms) if count else None
        session = sessions.resume(request.session_id, request.session_epoch, by_topic_id, now_ms)
        if isinstance(session, ErrorCode):
            return session
        session.advance_epoch()
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.forget((topic.topic_id if by_topic_id else topic.topic, index))
        return session


class _Fetch:
    """One Fetch request: what it looks at, and what it last read."""

    def __init__(
        self,
        replicas: ReplicaManager,
        request: FetchRequest,
        session: FetchSession | None,
        max_bytes: int,
    ) -> None:
        self.replicas = replicas
        self.session = session
        self.isolation = request.isolation_level
        self.min_bytes = min(request.min_bytes, max_bytes)
        self.max_bytes = max_bytes
        # A full response names every partition; a session that goes on only those with news.
        self.full = session is None or request.session_epoch == INITIAL_EPOCH
        self.reads: Reads = {}
        self.named = _named_partitions(request)
        if session is not None:
            for key, wanted in self.named.items():
                session.put(wanted, self._find(key))
            self.wanted = session.partitions
        else:
            for key, wanted in self.named.items():
                wanted.partition = self._find(key)
            self.wanted = self.named

    def keys(self) -> list[FetchSession] | list[Partition]:
        """What a parked fetch waits for."""
        if self.session is not None:
            return [self.session]
        return [w.partition for w in self.wanted.values() if w.partition is not None]

    def read(self) -> bool:
        """Read what there is now; whether it is enough to answer."""
        if self.session is None or self.full:
            candidates = list(self.wanted.values())
        else:
            candidates = list(self.session.changed.values())
        self.reads = {}
        left = self.max_bytes
        enough = False
        for wanted in candidates:
            read = self._read_one(wanted, left)
            self.reads[wanted.key] = (wanted, read)
            left -= read.size
            if read.error or read.diverging_epoch:
                enough = True
            if left <= 0 and not self.full:
                break
        return enough or self.max_bytes - left >= self.min_bytes

    def _read_one(self, wanted: FetchPartition, left: int) -> PartitionRead:
        partition = wanted.partition
        if partition is None or partition.deleted:
            partition = self._find(wanted.key)
            if self.session is not None:
                self.session.listen(wanted, partition)
            wanted.partition = partition
            if partition is None:
                return PartitionRead(self._why_absent(wanted.key))
        return partition.read(
            wanted.fetch_offset,
            min(wanted.max_bytes, max(left, 0)),
            self.isolation,
            left == self.max_bytes,
            wanted.current_leader_epoch,
            wanted.last_fetched_epoch,
        )

    def _find(self, key: FetchKey) -> Partition | None:
        topic, index = key
        if isinstance(topic, bytes):
            return self.replicas.partition_by_id(topic, index)
        return self.replicas.partition(topic, index)

    def _why_absent(self, key: FetchKey) -> ErrorCode:
        topic, index = key
        if isinstance(topic, bytes):
            return self.replicas.why_absent_by_id(topic, index)
        return self.replicas.why_absent(topic, index)

    # --- the response --------------------------------------------------------------------------

    def response(self) -> FetchResponse:
        """What the last `read` gave, and the session's memory of having told it."""
        topics: list[FetchableTopicResponse] = []
        last: bytes | str | None = None
        session = self.session
        for key, (wanted, read) in self.reads.items():
            news = self.full or wanted.is_news(read)
            if session is not None and session.partitions.get(key) is wanted:
                session.settle(wanted, read)
            if not news:
                continue
            wanted.told(read)
            if wanted.partition is not None:
                counts = wanted.partition.counts
                counts.total_fetch_requests += 1
                counts.bytes_out += read.size
                counts.failed_fetch_requests += bool(read.error)
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
        return FetchResponse(session_id=session_id, responses=topics)

    def _partition_data(self, index: int, read: PartitionRead) -> PartitionData:
        data = PartitionData(
            index,
            int(read.error),
            read.high_watermark,
            read.last_stable_offset,
            read.log_start_offset,
        )
        data.records = read.records
        data.aborted_transactions = [] if self.isolation == READ_COMMITTED else None
        if read.diverging_epoch is not None:
            data.diverging_epoch = EpochEndOffset(*read.diverging_epoch)
        return data


def _replica_id(context: RequestContext, request: FetchRequest) -> int:
    if context.api_version >= REPLICA_STATE_FROM:
        return CONSUMER if request.replica_state is None else request.replica_state.replica_id
    return request.replica_id


def _named_partitions(request: FetchRequest) -> dict[FetchKey, FetchPartition]:
    named: dict[FetchKey, FetchPartition] = {}
    for topic in request.topics:
        name: bytes | str = topic.topic or topic.topic_id
        for p in topic.partitions:
            key = (name, p.partition)
            named[key] = FetchPartition(
                key,
                p.fetch_offset,
                p.partition_max_bytes,
                max(p.current_leader_epoch, NO_EPOCH),  # any negative epoch is none
                max(p.last_fetched_epoch, NO_EPOCH),
            )
    return named


def refuse_fetch(request: FetchRequest, error: ErrorCode) -> FetchResponse:
    """The response that says `error`: at the top, and for every partition (before v7)."""
    topics = [
        FetchableTopicResponse(
            topic.topic,
            topic.topic_id,
            [PartitionData(p.partition, int(error), -1, -1, -1) for p in topic.partitions],
        )
        for topic in request.topics
    ]
    return FetchResponse(error_code=int(error), session_id=request.session_id, responses=topics)

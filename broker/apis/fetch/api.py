"""Fetch: v4-18.

Behaviour: reads from the position of each partition up to `max_bytes` in all, but at least one
batch of the first non-empty partition (KIP-74). If there are fewer than `min_bytes`, the fetch
waits up to `max_wait_ms` in the purgatory. A client over its quota gets an empty answer, and one
answer is limited to the bytes that fit the quota's window (`broker.quotas`). Quotas do not apply to
followers. With a session (v7, KIP-227) only changed partitions are read and answered. Without a
session all partitions in the request are. Records are slices of segment files, never copied here.

A fetch with a broker's id is a follower's: it reads to the log's end, and its position moves the
high watermark. Without an authorizer it is accepted on the inter-broker listener only.

Rights: a consumer needs READ on each topic, a follower CLUSTER_ACTION on the cluster. Without it,
each partition fails with TOPIC_AUTHORIZATION_FAILED, also those that a session had before. An
unknown topic id is UNKNOWN_TOPIC_ID, whatever the client's rights. After a wait, the rights are
checked again before the answer (`broker.apis.fetch.rights`).

Versions: v5 log start offset, v7 sessions, v9 leader epochs (KIP-320), v11 rack and followers that
answer (KIP-392), v12 flexible and diverging epochs (KIP-595), v13 topic ids, v15 replica state
tagged, with broker epochs (KIP-903), v16 leader addresses (KIP-951), v17 directory ids of
followers, v18 high watermark of followers.
"""

from __future__ import annotations

import sys
from functools import partial

from broker.apis.fetch.prepared import PreparedFetch
from broker.apis.fetch.prepared_follower import PreparedFollowerFetch
from broker.apis.fetch.reading import ConsumerFetch, FollowerFetch, RackConsumerFetch
from broker.apis.fetch.traced import answer_traced
from broker.config.values import BrokerConfig
from broker.purgatory.delayed_operations import DelayedFetch
from broker.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_REPLICA,
    NO_SESSION,
    FetchSession,
)
from broker.replication.partition_reads import CONSUMER_ISOLATIONS
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Pace, Steps, in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.fetch_codec import TOPIC_IDS_FROM, fetch_shape
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.primitives import ZERO_UUID

REPLICA_STATE_FROM = 15

PARTITIONS_AT_ONCE = 512
"""The most partitions that one slice handles, in each step of a fetch."""


class FetchApi:
    """The handler of Fetch, for consumers and followers."""

    def __init__(
        self, config: BrokerConfig, replicas: ReplicaManager, answers: SlicedAnswers
    ) -> None:
        self._replicas = replicas
        self._answers = answers
        self._scheduler = replicas.scheduler
        self._max_bytes = config.fetch_max_bytes
        self._inter_broker_listener = config.inter_broker_listener_name
        self._selects_replicas = bool(config.replica_selector_class)

    def apis(self) -> list[Api]:
        return [Api(ApiKey.FETCH, 4, 18, self.handle, refuse_fetch, self.prepare)]

    def prepare(
        self, context: RequestContext, frame: memoryview, request: FetchRequest
    ) -> PreparedFetch | PreparedFollowerFetch | None:
        """Return a shortcut for requests that differ from this one in their offset and session
        epoch only.

        None if such requests have no shortcut.
        """
        has_session = request.session_id != NO_SESSION
        if has_session == (request.session_epoch == FINAL_EPOCH) or request.rack_id:
            return None  # the request opens or closes a session, or names a rack to read from
        if request.forgotten_topics_data:
            return None
        version = context.api_version
        shape = fetch_shape(frame, version, request, context.client_id)
        if shape is None:
            return None
        replica_id, broker_epoch = _replica(context, request)
        if replica_id <= NO_REPLICA:
            return PreparedFetch(self._replicas, version, shape, request, self._max_bytes)
        if not has_session or version < REPLICA_STATE_FROM:
            return None
        replica = replica_id, broker_epoch
        return PreparedFollowerFetch(
            self._replicas, context, shape, request, self._max_bytes, replica
        )

    def handle(self, context: RequestContext, request: FetchRequest, respond: Respond) -> None:
        """Answer the fetch, at once or after it has waited for records. An unknown isolation level
        is INVALID_REQUEST.

        Without an authorizer, a follower's fetch is rejected on all listeners but the inter-broker
        one.
        """
        if request.isolation_level not in CONSUMER_ISOLATIONS:
            respond(refuse_fetch(request, ErrorCode.INVALID_REQUEST))
            return
        if _replica(context, request)[0] > NO_REPLICA:
            if context.rights.unlimited and context.listener_name != self._inter_broker_listener:
                # A fetch in a replica's name moves its high watermark (CVE-2018-1288).
                respond(refuse_fetch(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
                return
            if context.quota is not None:
                context.quota.exempt()
        steps = self._steps(context, request, respond)

        def answer(response: FetchResponse | None) -> None:
            """Respond; None: the fetch waits and responds by itself."""
            if response is not None:  # otherwise the fetch waits
                respond(response)

        self._answers.judge(context, request, steps, answer, respond, refuse_fetch)

    def _steps(
        self, context: RequestContext, request: FetchRequest, respond: Respond
    ) -> Steps[FetchResponse | None]:
        """Return the response, in slices. None if the fetch calls `respond` itself: it waits, or a
        consumer's fetch is traced.

        If a follower's fetch advances a high watermark, wake the requests that wait for that.
        """
        pace = Pace(PARTITIONS_AT_ONCE)
        session = yield from self._session(context, request, pace)
        if isinstance(session, ErrorCode):
            return FetchResponse(error_code=int(session))
        fetch = self._new_fetch(context, request, session)
        try:
            yield from fetch.begin(request, pace)
            answer = partial(_answer_within_quota, fetch, respond)
            if context.trace is not None and not isinstance(fetch, FollowerFetch):
                answer_traced(context.trace, fetch, request.max_wait_ms, answer)
                return None
            enough = yield from fetch.read(pace)
            if enough or request.max_wait_ms <= 0 or not fetch.wanted:
                return (yield from _response_within_quota(fetch, pace))
            waiting = DelayedFetch(fetch.read_again, answer)
            self._replicas.fetch_purgatory.watch(waiting, fetch.keys(), request.max_wait_ms)
            return None
        finally:
            self._replicas.wake(fetch.moved)

    def _new_fetch(
        self, context: RequestContext, request: FetchRequest, session: FetchSession | None
    ) -> ConsumerFetch:
        """Return the fetch of a follower, or that of a consumer within the bytes of its quota."""
        max_bytes = min(request.max_bytes, self._max_bytes)
        replica = _replica(context, request)
        if replica[0] > NO_REPLICA:
            return FollowerFetch(self._replicas, context, request, session, max_bytes, replica)
        kind = RackConsumerFetch if self._selects_replicas and request.rack_id else ConsumerFetch
        if context.quota is not None:
            max_bytes = int(min(max_bytes, context.quota.most_fetched()))
        return kind(self._replicas, context, request, session, max_bytes)

    # --- sessions ------------------------------------------------------------------------------

    def _session(
        self, context: RequestContext, request: FetchRequest, pace: Pace
    ) -> Steps[FetchSession | None | ErrorCode]:
        """Return the session that this request continues or opens; None if the request has none.
        Close a session that the request ends or replaces.

        Return an error code if the session cannot be continued.
        """
        replica_id = max(_replica(context, request)[0], NO_REPLICA)
        sessions = self._replicas.sessions
        now_ms = self._scheduler.monotonic_ms()
        by_topic_id = context.api_version >= TOPIC_IDS_FROM
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                sessions.remove(request.session_id)
            if request.session_epoch == FINAL_EPOCH:
                return None
            count = 0
            for topic in request.topics:
                if pace.is_full():
                    yield None
                count += len(topic.partitions)
            return sessions.create(count, by_topic_id, now_ms, replica_id)
        session = sessions.resume(
            request.session_id, request.session_epoch, by_topic_id, now_ms, replica_id
        )
        if isinstance(session, ErrorCode):
            return session
        session.advance_epoch()
        return session


def _replica(context: RequestContext, request: FetchRequest) -> tuple[int, int]:
    """Return the id and the broker epoch of the follower that fetches.

    For a consumer the id is negative. The epoch is -1 if the request has none.
    """
    if context.api_version < REPLICA_STATE_FROM:
        return request.replica_id, -1
    state = request.replica_state
    return (NO_REPLICA, -1) if state is None else (state.replica_id, state.replica_epoch)


def _response_within_quota(fetch: ConsumerFetch, pace: Pace) -> Steps[FetchResponse]:
    """Count the bytes of the response in the client's quota, and return it; one without records if
    the client is over its quota."""
    quota = fetch.context.quota
    if quota is None or not quota.fetched(fetch.size()):
        return (yield from fetch.response(pace))
    return fetch.empty_response()


def _answer_within_quota(fetch: ConsumerFetch, respond: Respond) -> None:
    """Respond to a fetch in one go, without records if the client is over its quota."""
    respond(in_one_go(_response_within_quota(fetch, Pace(sys.maxsize))))


def refuse_fetch(request: FetchRequest, error: ErrorCode) -> FetchResponse:
    """Return a response with `error` at the top, and for every partition whose topic has a name.

    Before v7 only the partitions can carry an error. Topics given by id are not repeated, as in
    Kafka.
    """
    topics = [
        FetchableTopicResponse(
            topic.topic,
            topic.topic_id,
            [PartitionData(p.partition, int(error), -1, -1, -1) for p in topic.partitions],
        )
        for topic in request.topics
        if topic.topic_id == ZERO_UUID
    ]
    return FetchResponse(error_code=int(error), session_id=request.session_id, responses=topics)

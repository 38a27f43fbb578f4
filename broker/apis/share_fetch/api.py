"""ShareFetch: v1-2.

Behaviour: a member of a share group acquires records of its session's partitions for a time, and
gets them with their delivery counts. Whole stored batches leave by `sendfile`; the acquired offsets
say which records are the member's. The fetch waits up to `max_wait_ms` until `min_bytes` can be
acquired. Acknowledgements in the request are applied first, and their errors are in the same
response. The response waits until the share coordinator has written them. With
`share.isolation.level` read_committed, records of aborted transactions are archived, not delivered.

The epoch 0 opens a session on the client's connection, later epochs continue it, -1 closes it and
releases the member's records. At most `group.share.max.share.sessions` sessions are open: the next
gets SHARE_SESSION_LIMIT_REACHED after `max_wait_ms`. A client over its quota for Fetch gets no
partitions but the verdicts on its acknowledgements, and acquires nothing (Kafka acquires the
records all the same).

Rights: READ on the group (GROUP_AUTHORIZATION_FAILED), and on each topic
(TOPIC_AUTHORIZATION_FAILED); both are checked again after a wait. If `share.version` is 0, the
request fails with UNSUPPORTED_VERSION. That a client is a member of the group is not checked, as in
Kafka.

Versions: v2 acquire modes (KIP-1206) and renewed locks (KIP-1222); such a request fetches nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from functools import partial

from broker.apis.share_fetch.acknowledgements import (
    RENEW_FROM,
    Acknowledging,
    RenewRules,
    Verdicts,
)
from broker.apis.share_fetch.answer import Leaders, fetch_response
from broker.apis.share_fetch.member_requests import readable_topics, refusal_of
from broker.apis.share_fetch.reading import ACQUIRE_MODES, FetchResult, ShareFetch
from broker.config.values import BrokerConfig
from broker.purgatory.purgatory import DelayedOperation
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from broker.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MemberKey,
    SessionRefusal,
    ShareSession,
    TopicIdPartition,
)
from broker.share.share_partition_manager import SharePartitionManager
from ground.sliced_work import Pace, Steps, in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

PARTITIONS_AT_ONCE = 512
"""The most partitions that one slice handles, in each step of a fetch."""


class ShareFetchApi:
    """The handler of ShareFetch."""

    def __init__(
        self,
        config: BrokerConfig,
        manager: SharePartitionManager,
        replicas: ReplicaManager,
        answers: SlicedAnswers,
    ) -> None:
        """Serve the share-partitions of `manager`."""
        self._manager = manager
        self._replicas = replicas
        self._answers = answers
        self._max_bytes = config.fetch_max_bytes

    def apis(self) -> list[Api]:
        return [Api(ApiKey.SHARE_FETCH, 1, 2, self.handle, refuse_share_fetch)]

    def handle(self, context: RequestContext, request: ShareFetchRequest, respond: Respond) -> None:
        """Open, continue or close the session, apply acknowledgements and acquire records; respond
        after all of that."""
        refusal = refusal_of(self._manager, context, request.group_id, request.member_id)
        if refusal is None and _renews_and_fetches(context, request):
            refusal = ErrorCode.INVALID_REQUEST
        if refusal is not None:
            respond(refuse_share_fetch(request, refusal))
            return
        member = MemberKey(request.group_id or "", request.member_id or "")
        if context.connection is not None and context.connection.closed:
            # A session would outlive its connection.
            respond(refuse_share_fetch(request, ErrorCode.SHARE_SESSION_NOT_FOUND))
            return
        try:
            session = self._session(context, request, member)
        except SessionRefusal as refused:
            self._refuse(request, member, refused.error, respond)
            return
        answering = _Answering(self._manager, self._replicas, context, request, session, respond)
        steps = self._steps(context, request, session, answering)
        self._answers.judge(context, request, steps, _ignore, answering.give, refuse_share_fetch)

    def _session(
        self, context: RequestContext, request: ShareFetchRequest, member: MemberKey
    ) -> ShareSession:
        """Return the session that the request opens, continues or closes. Raises SessionRefusal."""
        added = [
            TopicIdPartition(topic.topic_id, requested.partition_index)
            for topic in request.topics
            for requested in topic.partitions
        ]
        forgotten = [
            TopicIdPartition(topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ]
        return self._manager.sessions.fetch(
            member,
            request.share_session_epoch,
            added,
            forgotten,
            context.connection_id,
            has_acknowledgements=_has_acknowledgements(request),
        )

    def _refuse(
        self, request: ShareFetchRequest, member: MemberKey, error: ErrorCode, respond: Respond
    ) -> None:
        """Respond with a session's error. A client that finds no room for its session waits, so
        that it does not ask again at once."""
        answer = partial(respond, refuse_share_fetch(request, error))
        if error is not ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
            answer()
            return
        self._manager.purgatory.watch(_DelayedRefusal(answer), [member], request.max_wait_ms)

    def _steps(
        self,
        context: RequestContext,
        request: ShareFetchRequest,
        session: ShareSession,
        answering: _Answering,
    ) -> Steps[None]:
        """Begin the acknowledgements, and then the fetch. `answering` gets both results."""
        pace = Pace(PARTITIONS_AT_ONCE)
        topic_ids = [partition.topic_id for partition in session.partitions]
        topic_ids += [topic.topic_id for topic in request.topics]
        readable = yield from readable_topics(context.rights, self._replicas, topic_ids)
        if _has_acknowledgements(request):
            renew = RenewRules(context.api_version >= RENEW_FROM, request.is_renew_ack)
            acknowledging = Acknowledging(
                self._manager, self._replicas, session.key, renew, answering.acknowledged
            )
            yield from acknowledging.begin(request.topics, readable, pace)
        else:
            answering.acknowledged({})
        if request.is_renew_ack or request.share_session_epoch == FINAL_EPOCH:
            answering.fetched(None)
            return
        fetch = self._new_fetch(context, request, session)
        yield from fetch.begin(readable, pace)
        if fetch.has_valid and request.share_acquire_mode not in ACQUIRE_MODES:
            answering.give(refuse_share_fetch(request, ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        if not fetch.is_decided() and request.max_wait_ms > 0:
            is_complete = yield from fetch.is_complete(pace)
            if not is_complete:
                waiting = DelayedShareFetch(self._manager, fetch, answering.fetched)
                self._manager.purgatory.watch(waiting, fetch.keys(), request.max_wait_ms)
                return
        answering.fetched((yield from fetch.complete(pace)))

    def _new_fetch(
        self, context: RequestContext, request: ShareFetchRequest, session: ShareSession
    ) -> ShareFetch:
        """Return the fetch of a session, within the bytes of the client's quota."""
        max_bytes = min(request.max_bytes, self._max_bytes)
        if context.quota is not None:
            max_bytes = int(min(max_bytes, context.quota.most_fetched()))
        return ShareFetch(self._manager, self._replicas, request, session, max_bytes, context)


class DelayedShareFetch(DelayedOperation):
    """A fetch that waits until there is enough to acquire. `done` gets its result."""

    __slots__ = ("_done", "_fetch", "_manager")

    def __init__(
        self,
        manager: SharePartitionManager,
        fetch: ShareFetch,
        done: Callable[[FetchResult], None],
    ) -> None:
        super().__init__()
        self._manager = manager
        self._fetch = fetch
        self._done = done

    def try_complete(self, key: Hashable) -> bool:
        """Return whether the change of `key` completes the fetch."""
        return self._fetch.is_complete_after(key)

    def on_expiration(self) -> None:
        """Count the expired fetch. `on_complete`, which is called next, acquires what there is."""
        self._manager.metrics.fetch_expired()

    def on_complete(self) -> None:
        """Acquire records, and pass the result on."""
        self._done(in_one_go(self._fetch.complete(Pace(sys.maxsize))))


class _DelayedRefusal(DelayedOperation):
    """A rejection that is sent after a wait."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Callable[[], None]) -> None:
        super().__init__()
        self._answer = answer

    def try_complete(self, key: Hashable) -> bool:
        """Return False: only time ends the wait."""
        return False

    def on_complete(self) -> None:
        """Send the rejection."""
        self._answer()


class _Answering:
    """The answer to a ShareFetch, which is sent after both its halves are there: the verdicts on
    acknowledgements, and the result of the fetch."""

    def __init__(
        self,
        manager: SharePartitionManager,
        replicas: ReplicaManager,
        context: RequestContext,
        request: ShareFetchRequest,
        session: ShareSession,
        respond: Respond,
    ) -> None:
        self._manager = manager
        self._leaders = Leaders(replicas, context.listener_name)
        self._request = request
        self._session = session
        self._respond = respond
        self._verdicts: Verdicts | None = None
        self._result: FetchResult | None = None
        self._has_result = False
        self._is_answered = False

    def acknowledged(self, verdicts: Verdicts) -> None:
        """Take the verdicts; answer if the result of the fetch is there."""
        self._verdicts = verdicts
        self._answer_if_complete()

    def fetched(self, result: FetchResult | None) -> None:
        """Take the result of the fetch, None if it fetched nothing; answer if the verdicts are
        there."""
        self._result, self._has_result = result, True
        self._answer_if_complete()

    def give(self, response: ShareFetchResponse) -> None:
        """Send a response, unless one was sent already."""
        if not self._is_answered:
            self._is_answered = True
            self._respond(response)

    def _answer_if_complete(self) -> None:
        """Send the response if both halves are there. A session that the request closes is closed
        just before."""
        if self._verdicts is None or not self._has_result:
            return
        epoch, session = self._request.share_session_epoch, self._session
        lock_duration_ms = self._manager.settings(session.key.group_id).lock_duration_ms
        steps = fetch_response(
            self._result,
            self._verdicts,
            None if epoch == INITIAL_EPOCH else session,
            self._leaders,
            lock_duration_ms,
            Pace(sys.maxsize),
        )
        response = in_one_go(steps)
        if epoch == FINAL_EPOCH:
            self._manager.close_session(session.key)
        self.give(response)


def _ignore(_: None) -> None:
    """Do nothing: the answer is sent by `_Answering`."""


def _renews_and_fetches(context: RequestContext, request: ShareFetchRequest) -> bool:
    """Return whether a request that renews locks also wants records, which is an error."""
    return bool(
        context.api_version >= RENEW_FROM
        and request.is_renew_ack
        and (request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)
    )


def _has_acknowledgements(request: ShareFetchRequest) -> bool:
    return any(
        requested.acknowledgement_batches
        for topic in request.topics
        for requested in topic.partitions
    )


def refuse_share_fetch(request: ShareFetchRequest, error: ErrorCode) -> ShareFetchResponse:
    """Return a response with `error` at the top."""
    return ShareFetchResponse(error_code=int(error))

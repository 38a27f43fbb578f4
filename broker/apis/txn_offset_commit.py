"""TxnOffsetCommit v0-5: offsets that count when their transaction is committed.

Behaviour: topics and partitions are looked up first, each with its own error; the rest goes to the
group coordinator, and is answered when it is committed in `__consumer_offsets`.

Needs WRITE of the transactional id, then READ of the group, then READ of each topic. What is
missing first is told: TRANSACTIONAL_ID_AUTHORIZATION_FAILED or GROUP_AUTHORIZATION_FAILED for all
partitions, TOPIC_AUTHORIZATION_FAILED for those of the topic. Each commit of an open transaction is
judged by what the client may do then.

Versions: v1 throttles after answering, v2 leader epochs, v3 flexible, with member, generation and
instance (KIP-447), v4 TRANSACTION_ABORTABLE (KIP-890), v5 adds the partition of
`__consumer_offsets` to the transaction by itself (transactions protocol v2).
"""

from __future__ import annotations

from broker.apis.cluster_view import ImageSource
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message import replace
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.rights import Rights

LOADING_FROM = 2
"""Producers before this version do not know COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""


class TxnOffsetCommitApi:
    """Commits offsets in transactions."""

    def __init__(self, metadata: ImageSource, coordinator: GroupCoordinator) -> None:
        self._metadata = metadata
        self._coordinator = coordinator

    def apis(self) -> list[Api]:
        """The API with its range."""
        return [Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, self.handle, refuse_txn_offset_commit)]

    def handle(
        self, context: RequestContext, request: TxnOffsetCommitRequest, respond: Respond
    ) -> None:
        """TxnOffsetCommit."""
        denied = _denied(context.rights, request)
        if denied is not ErrorCode.NONE:
            respond(refuse_txn_offset_commit(request, denied))
            return
        answers: dict[str, TxnOffsetCommitResponseTopic] = {}
        known = self._known(context.rights, request.topics, answers)

        def done(error: ErrorCode, topics: list[TxnOffsetCommitResponseTopic]) -> None:
            if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and (
                context.api_version < LOADING_FROM
            ):
                error = ErrorCode.COORDINATOR_NOT_AVAILABLE
            if error is not ErrorCode.NONE:
                topics = _refused(known, error)
            for topic in topics:
                _merge(answers, topic.name, topic.partitions)
            respond(TxnOffsetCommitResponse(topics=list(answers.values())))

        if known:
            self._coordinator.commit_transactional_offsets(
                replace(request, topics=known), context.api_version, done
            )
        else:
            done(ErrorCode.NONE, [])

    def _known(
        self,
        rights: Rights,
        topics: list[TxnOffsetCommitRequestTopic],
        answers: dict[str, TxnOffsetCommitResponseTopic],
    ) -> list[TxnOffsetCommitRequestTopic]:
        """The partitions that the group is asked about; what is wrong with others is answered."""
        known = []
        readable = rights.allowed(Operation.READ, Resource.TOPIC, [one.name for one in topics])
        for topic in topics:
            good = []
            for partition in topic.partitions:
                error = self._error_of(topic.name, partition.partition_index, readable)
                if error is ErrorCode.NONE:
                    good.append(partition)
                    continue
                answer = TxnOffsetCommitResponsePartition(partition.partition_index, error)
                _merge(answers, topic.name, [answer])
            if good:
                known.append(TxnOffsetCommitRequestTopic(topic.name, good))
        return known

    def _error_of(self, topic: str, partition: int, readable: set[str]) -> ErrorCode:
        if topic not in readable:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if self._metadata.image.topics.partition(topic, partition) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE


def _denied(rights: Rights, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Why nothing is committed; NONE where each topic is to be looked at."""
    name = request.transactional_id
    if not rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, name):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not rights.allows(Operation.READ, Resource.GROUP, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def refuse_txn_offset_commit(
    request: TxnOffsetCommitRequest, code: ErrorCode
) -> TxnOffsetCommitResponse:
    """`code` for every partition."""
    return TxnOffsetCommitResponse(topics=_refused(request.topics, code))


def _refused(
    topics: list[TxnOffsetCommitRequestTopic], error: ErrorCode
) -> list[TxnOffsetCommitResponseTopic]:
    return [
        TxnOffsetCommitResponseTopic(
            topic.name,
            [TxnOffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
        )
        for topic in topics
    ]


def _merge(
    answers: dict[str, TxnOffsetCommitResponseTopic],
    name: str,
    partitions: list[TxnOffsetCommitResponsePartition],
) -> None:
    answers.setdefault(name, TxnOffsetCommitResponseTopic(name)).partitions += partitions

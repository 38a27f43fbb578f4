"""TxnOffsetCommit v0-6: offsets that take effect when their transaction is committed.

Behaviour: topics and partitions are looked up first, each with its own error. The group coordinator
gets the valid ones, and answers after they are committed in `__consumer_offsets`.

Rights: WRITE on the transactional id, then READ on the group, then READ on each topic. The first
missing right is the error: TRANSACTIONAL_ID_AUTHORIZATION_FAILED or GROUP_AUTHORIZATION_FAILED for
all partitions, TOPIC_AUTHORIZATION_FAILED for those of the topic. Each commit of an open
transaction is authorized by the client's rights at that time.

Versions: v1 throttles after answering, v2 leader epochs, v3 flexible, with member, generation and
instance (KIP-447), v4 TRANSACTION_ABORTABLE (KIP-890), v5 adds the partition of
`__consumer_offsets` to the transaction by itself (transactions protocol v2), v6 topic ids
(KIP-1319).
"""

from __future__ import annotations

from functools import partial

from broker.apis.cluster_view import ImageSource
from broker.apis.named_partitions import readable_topics, split_partitions
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from ground.sliced_work import Pace, Steps, drained, in_one_go
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

LOADING_FROM = 2
"""The version from which producers know COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""
TOPIC_IDS_FROM = 6


class TxnOffsetCommitApi:
    """The handler of TxnOffsetCommit."""

    def __init__(
        self, metadata: ImageSource, coordinator: GroupCoordinator, answers: SlicedAnswers
    ) -> None:
        self._metadata = metadata
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.TXN_OFFSET_COMMIT, 0, 6, self.handle, refuse_txn_offset_commit)]

    def handle(
        self, context: RequestContext, request: TxnOffsetCommitRequest, respond: Respond
    ) -> None:
        """Let the group coordinator commit the offsets of known topics within the transaction, and
        respond. Others get an error each.

        The whole request fails if the client may not use its transactional id or its group.
        """
        answers, refuse = self._answers, refuse_txn_offset_commit
        denied = _denied(context.rights, request)
        if denied is not ErrorCode.NONE:
            answers.give(context, request, _all_refused(request, denied), respond, refuse)
            return

        def judged(judgement: _Judgement) -> None:
            """Let the coordinator commit the offsets of known topics, and then respond."""
            known_topics, answered = judgement

            def done(error: ErrorCode, topics: list[TxnOffsetCommitResponseTopic]) -> None:
                """Respond with the coordinator's answers and those of the invalid offsets. `error`
                is the coordinator's for all; if it is NONE, `topics` has its answers."""
                if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and (
                    context.api_version < LOADING_FROM
                ):
                    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
                steps = _answered(answered, known_topics, error, topics)
                answers.give(context, request, steps, respond, refuse)

            if known_topics:
                self._coordinator.commit_transactional_offsets(
                    replace(request, topics=known_topics), context.api_version, done
                )
            else:
                done(ErrorCode.NONE, [])

        steps = self._checked_topics(context, request.topics)
        answers.judge(context, request, steps, judged, respond, refuse)

    def _checked_topics(
        self, context: RequestContext, topics: list[TxnOffsetCommitRequestTopic]
    ) -> Steps[_Judgement]:
        """Return the valid topics for the coordinator, and the answers for the others."""
        images, by_id, pace = (
            self._metadata.image.topics,
            context.api_version >= TOPIC_IDS_FROM,
            Pace(),
        )
        checked = yield from readable_topics(topics, images, context.rights, pace, by_id=by_id)
        valid, answers = list[TxnOffsetCommitRequestTopic](), _Answers()
        for topic, indexes, error in drained(checked):
            refuse = partial(TxnOffsetCommitResponsePartition, error_code=error)
            good, refused = yield from split_partitions(topic.partitions, indexes, refuse, pace)
            if refused:
                _add_answers(answers, topic, refused)
            if good:
                valid.append(replace(topic, partitions=good))
        return valid, answers


_Answers = dict[tuple[str, bytes], TxnOffsetCommitResponseTopic]
_Judgement = tuple[list[TxnOffsetCommitRequestTopic], _Answers]


def _denied(rights: Rights, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Return the error that rejects the whole request; NONE if each topic is to be checked."""
    name = request.transactional_id
    if not rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, name):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not rights.allows(Operation.READ, Resource.GROUP, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def refuse_txn_offset_commit(
    request: TxnOffsetCommitRequest, code: ErrorCode
) -> TxnOffsetCommitResponse:
    """Return a response with `code` for every partition."""
    return in_one_go(_all_refused(request, code))


def _all_refused(
    request: TxnOffsetCommitRequest, code: ErrorCode
) -> Steps[TxnOffsetCommitResponse]:
    topics = yield from _refused_topics(request.topics, code, Pace())
    return TxnOffsetCommitResponse(topics=topics)


def _refused_topics(
    topics: list[TxnOffsetCommitRequestTopic], error: ErrorCode, pace: Pace
) -> Steps[list[TxnOffsetCommitResponseTopic]]:
    """Return the topics with `error` for each of their partitions."""
    refuse = partial(TxnOffsetCommitResponsePartition, error_code=error)
    answers = []
    for topic in topics:
        _, refused = yield from split_partitions(topic.partitions, (), refuse, pace)
        answers.append(TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, refused))
    return answers


def _answered(
    answers: _Answers,
    valid: list[TxnOffsetCommitRequestTopic],
    error: ErrorCode,
    topics: list[TxnOffsetCommitResponseTopic],
) -> Steps[TxnOffsetCommitResponse]:
    """Return the response with `answers` and those of the coordinator.

    `error` is the coordinator's for all `valid` topics; if it is NONE, `topics` has their answers.
    """
    pace = Pace()
    if error is not ErrorCode.NONE:
        topics = yield from _refused_topics(valid, error, pace)
    for topic in drained(topics):
        if pace.is_full():
            yield None
        _add_answers(answers, topic, topic.partitions)
    return TxnOffsetCommitResponse(topics=list(answers.values()))


def _add_answers(
    answers: _Answers,
    topic: TxnOffsetCommitRequestTopic | TxnOffsetCommitResponseTopic,
    partitions: list[TxnOffsetCommitResponsePartition],
) -> None:
    """Add partitions to the topic's answer, which is created if needed."""
    key = (topic.name, topic.topic_id)
    answers.setdefault(key, TxnOffsetCommitResponseTopic(*key)).partitions += partitions

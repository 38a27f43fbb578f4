"""DeleteTopics: which of the topics that a request names are deleted, and what is said of each.

Rights: Delete on the cluster, or on each topic. One who may not even describe a topic cannot learn
whether there is one of that name, nor the name that an id stands for.

Owns: that a topic is named once, by name or by id. Never: makes a record
(`controller.decisions.replication_control`). Follows Kafka's `ControllerApis.deleteTopics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, View
from controller.decisions.mutation_quota import MutationQuota
from controller.metadata.image import TopicImage, TopicsImage
from controller.quorum_controller import QuorumController
from controller.requests.rights import EVERYTHING, TOPIC_DENIED, allowed_in_slices
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicState
from protocol.primitives import ZERO_UUID

_UNKNOWN_NAME = ApiError(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)
_UNKNOWN_ID = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
_BOTH_WAYS = (
    ErrorCode.INVALID_REQUEST,
    "The provided topic name maps to an ID that was already supplied.",
)


class Deletion(NamedTuple):
    """What becomes of a request."""

    results: list[DeletableTopicResult]
    doomed: list[bytes]
    """Ids of the topics that go."""


class _May(NamedTuple):
    """Names of topics, as far as they are asked for."""

    describe: Container[str]
    delete: Container[str]


class TopicDeletion:
    """A DeleteTopics request."""

    def __init__(
        self, controller: QuorumController, rights: Rights, quota: MutationQuota | None
    ) -> None:
        self._controller = controller
        self._rights = rights
        self._quota = quota
        self._ahead: Deletion | None = None
        self._states: Sequence[DeleteTopicState] = ()

    def prepare(self, states: Sequence[DeleteTopicState]) -> Steps[None]:
        """Take the topics that it names. Sort many out as they are now: where none of them goes
        there is nothing to decide, and that is the answer, once all before it is committed."""
        self._states = states
        if len(states) > PIECES_AT_ONCE and self._controller.is_active:
            topics = self._controller.image.topics
            self._ahead = yield from sort_out(self._rights, topics, states)

    def decide(self, view: View) -> Steps[Decision[list[DeletableTopicResult]]]:
        """Delete those that may be."""
        if self._ahead is not None and not self._ahead.doomed:
            return Decision(self._ahead.results)
        results, doomed = yield from sort_out(self._rights, view.image.topics, self._states)
        decision = yield from self._controller.replication.delete_topics(view, doomed, self._quota)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        if decision.reply:
            yield from _refuse(results, decision.reply)
        return Decision(results, decision.records)


def _refuse(results: list[DeletableTopicResult], refusals: Mapping[bytes, ApiError]) -> Steps[None]:
    pace = Pace(BULK_AT_ONCE)
    for result in results:
        if pace.is_full():
            yield None
        refusal = refusals.get(result.topic_id)
        if refusal is not None and not result.error_code:
            result.error_code, result.error_message = int(refusal.code), refusal.message


def sort_out(
    rights: Rights, topics: TopicsImage, states: Sequence[DeleteTopicState]
) -> Steps[Deletion]:
    """The result of each topic that `states` name, were those that are doomed deleted."""
    may = yield from _judged(rights, topics, states)
    keys: list[object] = []
    yield from in_bulk(
        lambda some: keys.extend(_key(_found(topics, state), state, may) for state in some), states
    )
    counts = Counter[object]()
    yield from in_bulk(counts.update, keys)
    both_ways: set[object] = set()
    if len(counts) < len(keys):
        both_ways = yield from _named_both_ways(states, keys)
    deletion = Deletion([], [])
    answered: set[object] = set()
    pace = Pace()
    for state, key in zip(states, keys, strict=True):
        if pace.is_full():
            yield None
        error = _state_error(state)
        if error is None and counts[key] > 1:
            if key in answered:
                continue
            error = _duplicate(state)
        answered.add(key)
        topic = _found(topics, state)
        if error is not None and topic is not None and key in both_ways:
            deletion.results.append(DeletableTopicResult(topic.name, topic.id, *_BOTH_WAYS))
            continue
        error = error or _topic_error(topic, state, may)
        if error is not None:
            deletion.results.append(_refused(state, topic, error, may))
        elif topic is not None:
            deletion.doomed.append(topic.id)
            deletion.results.append(DeletableTopicResult(topic.name, topic.id))
    return deletion


def refused_deletion(state: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    """What is said of a topic that is not deleted: no more than was asked."""
    return DeletableTopicResult(state.name, state.topic_id, error.code, error.message)


def _judged(rights: Rights, topics: TopicsImage, states: Sequence[DeleteTopicState]) -> Steps[_May]:
    names: list[str] = []
    pace = Pace()
    for state in states:
        if pace.is_full():
            yield None
        topic = _found(topics, state)
        name = state.name if topic is None else topic.name
        if name is not None and _state_error(state) is None:
            names.append(name)
    if rights.allows_on_cluster(Operation.DELETE, audited=False):
        return _May(EVERYTHING, EVERYTHING)
    describe = yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
    delete = yield from allowed_in_slices(rights, Operation.DELETE, Resource.TOPIC, names)
    return _May(describe, delete)


def _found(topics: TopicsImage, state: DeleteTopicState) -> TopicImage | None:
    return topics.get_by_id(state.topic_id) if state.name is None else topics.get(state.name)


def _key(topic: TopicImage | None, state: DeleteTopicState, may: _May) -> object:
    """What a topic is told apart by. Which name belongs to which id is only for those who may
    delete it."""
    if topic is not None and topic.name in may.delete:
        return topic.id
    return state.name or state.topic_id


def _named_both_ways(
    states: Sequence[DeleteTopicState], keys: Sequence[object]
) -> Steps[set[object]]:
    """What is meant by a name and by an id."""
    by_name: set[object] = set()
    both_ways: set[object] = set()
    pairs = list(zip(states, keys, strict=True))
    yield from in_bulk(
        lambda some: by_name.update(key for state, key in some if state.name is not None), pairs
    )
    yield from in_bulk(
        lambda some: both_ways.update(
            key for state, key in some if state.name is None and key in by_name
        ),
        pairs,
    )
    return both_ways


def _duplicate(state: DeleteTopicState) -> ApiError:
    shown = "topic name" if state.name is not None else "topic id"
    return ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate {shown}.")


def _topic_error(topic: TopicImage | None, state: DeleteTopicState, may: _May) -> ApiError | None:
    if state.name is not None and state.name not in may.describe:
        return TOPIC_DENIED
    if topic is None:
        return _UNKNOWN_ID if state.name is None else _UNKNOWN_NAME
    return None if topic.name in may.delete else TOPIC_DENIED


def _refused(
    state: DeleteTopicState, topic: TopicImage | None, error: ApiError, may: _May
) -> DeletableTopicResult:
    if error is TOPIC_DENIED and topic is not None and topic.name in may.describe:
        return DeletableTopicResult(topic.name, state.topic_id, error.code, error.message)
    return refused_deletion(state, error)


def _state_error(state: DeleteTopicState) -> ApiError | None:
    if state.name is None and state.topic_id == ZERO_UUID:
        return ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if state.name is not None and state.topic_id != ZERO_UUID:
        text = "You may not specify both topic name and topic id."
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None

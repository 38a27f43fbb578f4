"""DeleteTopics: which of the named topics are deleted, and the result of each.

Rights: Delete on the cluster, or on each topic. A client without Describe on a topic cannot learn
whether a topic has that name, or which name belongs to an id.

Owns: that a topic is named once, by name or by id. Never: makes a record
(`controller.decisions.replication_control`). Follows Kafka's `ControllerApis.deleteTopics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, DecisionView
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


class DeletionPlan(NamedTuple):
    """The results of a request, and the topics to delete."""

    results: list[DeletableTopicResult]
    topic_ids: list[bytes]
    """The ids of the topics to delete."""


class _Permitted(NamedTuple):
    """The names of the request's topics that the client may describe and delete."""

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
        self._ahead: DeletionPlan | None = None
        self._states: Sequence[DeleteTopicState] = ()

    def prepare(self, states: Sequence[DeleteTopicState]) -> Steps[None]:
        """Keep the topics that the request names. If there are many, judge them by the present
        image: if none can be deleted, the results are the response, sent after all earlier
        decisions are committed."""
        self._states = states
        if len(states) > PIECES_AT_ONCE and self._controller.is_active:
            topics = self._controller.image.topics
            self._ahead = yield from plan_deletion(self._rights, topics, states)

    def decide(self, view: DecisionView) -> Steps[Decision[list[DeletableTopicResult]]]:
        """Return the decision that deletes the topics that the client may delete, with a result for
        each topic of the request. An error of the whole request is the reply instead."""
        if self._ahead is not None and not self._ahead.topic_ids:
            return Decision(self._ahead.results)
        results, topic_ids = yield from plan_deletion(self._rights, view.image.topics, self._states)
        decision = yield from self._controller.replication.delete_topics(
            view, topic_ids, self._quota
        )
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        if decision.reply:
            yield from _refuse(results, decision.reply)
        return Decision(results, decision.records)


def _refuse(results: list[DeletableTopicResult], refusals: Mapping[bytes, ApiError]) -> Steps[None]:
    """Turn results into errors for the topic ids in `refusals`, unless they are errors already."""
    pace = Pace(BULK_AT_ONCE)
    for result in results:
        if pace.is_full():
            yield None
        refusal = refusals.get(result.topic_id)
        if refusal is not None and not result.error_code:
            result.error_code, result.error_message = int(refusal.code), refusal.message


def plan_deletion(
    rights: Rights, topics: TopicsImage, states: Sequence[DeleteTopicState]
) -> Steps[DeletionPlan]:
    """Return the result of each topic in `states`, and the ids of the topics to delete: those that
    exist, that the request names once, and that the client may delete. Of a repeated topic, return
    a single error."""
    permitted = yield from _rights_on(rights, topics, states)
    keys: list[object] = []
    yield from in_bulk(
        lambda batch: keys.extend(
            _key(_named_topic(topics, state), state, permitted) for state in batch
        ),
        states,
    )
    counts = Counter[object]()
    yield from in_bulk(counts.update, keys)
    both_ways: set[object] = set()
    if len(counts) < len(keys):
        both_ways = yield from _named_both_ways(states, keys)
    deletion = DeletionPlan([], [])
    answered_keys: set[object] = set()
    pace = Pace()
    for state, key in zip(states, keys, strict=True):
        if pace.is_full():
            yield None
        error = _state_error(state)
        if error is None and counts[key] > 1:
            if key in answered_keys:
                continue
            error = _duplicate_error(state)
        answered_keys.add(key)
        topic = _named_topic(topics, state)
        if error is not None and topic is not None and key in both_ways:
            deletion.results.append(DeletableTopicResult(topic.name, topic.id, *_BOTH_WAYS))
            continue
        error = error or _topic_error(topic, state, permitted)
        if error is not None:
            deletion.results.append(_refused(state, topic, error, permitted))
        elif topic is not None:
            deletion.topic_ids.append(topic.id)
            deletion.results.append(DeletableTopicResult(topic.name, topic.id))
    return deletion


def refused_deletion(state: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    """Return the result of a topic that is not deleted; it repeats only the request's values."""
    return DeletableTopicResult(state.name, state.topic_id, error.code, error.message)


def _rights_on(
    rights: Rights, topics: TopicsImage, states: Sequence[DeleteTopicState]
) -> Steps[_Permitted]:
    """Return the topics of the request that the principal may describe, and those that it may
    delete."""
    names: list[str] = []
    pace = Pace()
    for state in states:
        if pace.is_full():
            yield None
        topic = _named_topic(topics, state)
        name = state.name if topic is None else topic.name
        if name is not None and _state_error(state) is None:
            names.append(name)
    if rights.allows_on_cluster(Operation.DELETE, audited=False):
        return _Permitted(EVERYTHING, EVERYTHING)
    describe = yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
    delete = yield from allowed_in_slices(rights, Operation.DELETE, Resource.TOPIC, names)
    return _Permitted(describe, delete)


def _named_topic(topics: TopicsImage, state: DeleteTopicState) -> TopicImage | None:
    """Return the topic that an entry names by its name or its id; None if it does not exist."""
    return topics.get_by_id(state.topic_id) if state.name is None else topics.get(state.name)


def _key(topic: TopicImage | None, state: DeleteTopicState, permitted: _Permitted) -> object:
    """Return the key by which duplicates are found: the topic's id if the client may delete it,
    otherwise the name or id of the entry. So only such a client learns that a name and an id belong
    together."""
    if topic is not None and topic.name in permitted.delete:
        return topic.id
    return state.name or state.topic_id


def _named_both_ways(
    states: Sequence[DeleteTopicState], keys: Sequence[object]
) -> Steps[set[object]]:
    """Return those of `keys` that some entries give by name and others by id."""
    by_name: set[object] = set()
    both_ways: set[object] = set()
    pairs = list(zip(states, keys, strict=True))
    yield from in_bulk(
        lambda batch: by_name.update(key for state, key in batch if state.name is not None), pairs
    )
    yield from in_bulk(
        lambda batch: both_ways.update(
            key for state, key in batch if state.name is None and key in by_name
        ),
        pairs,
    )
    return both_ways


def _duplicate_error(state: DeleteTopicState) -> ApiError:
    """Return the INVALID_REQUEST of an entry that repeats a topic's name or id."""
    shown = "topic name" if state.name is not None else "topic id"
    return ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate {shown}.")


def _topic_error(
    topic: TopicImage | None, state: DeleteTopicState, permitted: _Permitted
) -> ApiError | None:
    """Return the error of a topic's deletion; None if it is allowed. A name that the client may not
    describe is TOPIC_AUTHORIZATION_FAILED, whether or not the topic exists."""
    if state.name is not None and state.name not in permitted.describe:
        return TOPIC_DENIED
    if topic is None:
        return _UNKNOWN_ID if state.name is None else _UNKNOWN_NAME
    return None if topic.name in permitted.delete else TOPIC_DENIED


def _refused(
    state: DeleteTopicState, topic: TopicImage | None, error: ApiError, permitted: _Permitted
) -> DeletableTopicResult:
    """Return the result of a deletion that failed. It has the topic's name only if the principal
    may describe the topic."""
    if error is TOPIC_DENIED and topic is not None and topic.name in permitted.describe:
        return DeletableTopicResult(topic.name, state.topic_id, error.code, error.message)
    return refused_deletion(state, error)


def _state_error(state: DeleteTopicState) -> ApiError | None:
    """Return the error of an entry with both name and id, or with neither; None if it is valid."""
    if state.name is None and state.topic_id == ZERO_UUID:
        return ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if state.name is not None and state.topic_id != ZERO_UUID:
        text = "You may not specify both topic name and topic id."
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None

"""CreateTopics, DeleteTopics and CreatePartitions as commands.

CreateTopics 2-7    v4: -1 for the defaults; v5: partitions, replication factor and configs in the
                    answer (KIP-525; `configs` is a list then, never null); v7: topic ids
DeleteTopics 1-6    v6: by name or id, name and id in the answer (KIP-516)
CreatePartitions 0-3

Owns: duplicates inside a request, and answers to a request that is refused whole. Never: checks
what `replication_control` checks. Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from controller.decisions.decision import Decision, View
from controller.decisions.replication_control import refused_topic
from controller.decisions.request_timeout import RequestTimeouts
from controller.metadata.topic_names import CLUSTER_METADATA_TOPIC
from controller.quorum_controller import QuorumController
from controller.settings import ControllerSettings
from protocol.errors import ApiError, ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.primitives import ZERO_UUID

Respond = Callable[[Any], None]

_DUPLICATE = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_NAMES_IN_STATES_FROM = 6


class TopicRequests:
    """Handlers of the three requests."""

    def __init__(
        self, settings: ControllerSettings, controller: QuorumController, timeouts: RequestTimeouts
    ) -> None:
        self._settings = settings
        self._replication = controller.replication
        self._timeouts = timeouts

    # --- CreateTopics --------------------------------------------------------------------------

    def create_topics(
        self, _context: object, request: CreateTopicsRequest, respond: Respond
    ) -> None:
        """Answer a CreateTopics request."""
        counts = Counter(topic.name for topic in request.topics)
        refused: dict[str, ApiError] = {}
        wanted: list[CreatableTopic] = []
        for topic in request.topics:
            if topic.name == CLUSTER_METADATA_TOPIC:
                text = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
                refused[topic.name] = ApiError(ErrorCode.INVALID_REQUEST, text)
            elif counts[topic.name] > 1:
                refused[topic.name] = _DUPLICATE
            else:
                wanted.append(topic)

        def decide(view: View) -> Decision[list[CreatableTopicResult]]:
            return self._replication.create_topics(view, wanted, request.validate_only)

        def reply(outcome: list[CreatableTopicResult] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                names = [topic.name for topic in request.topics]
                respond(CreateTopicsResponse(topics=[refused_topic(n, outcome) for n in names]))
                return
            refusals = [refused_topic(name, error) for name, error in refused.items()]
            respond(CreateTopicsResponse(topics=[*outcome, *refusals]))

        self._timeouts.submit("create topics", decide, reply, request.timeout_ms)

    # --- DeleteTopics --------------------------------------------------------------------------

    def delete_topics(self, context: Any, request: DeleteTopicsRequest, respond: Respond) -> None:
        """Answer a DeleteTopics request."""
        if context.api_version >= _NAMES_IN_STATES_FROM:
            states = list(request.topics)
        else:
            states = [DeleteTopicState(name) for name in request.topic_names]
        if not self._settings.delete_topic_enable:
            old = context.api_version < 3
            code = ErrorCode.INVALID_REQUEST if old else ErrorCode.TOPIC_DELETION_DISABLED
            respond(_all_refused(states, ApiError(code, "Topic deletion is disabled.")))
            return

        def reply(outcome: list[DeletableTopicResult] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(_all_refused(states, outcome))
            else:
                respond(DeleteTopicsResponse(responses=outcome))

        self._timeouts.submit(
            "delete topics", partial(self._decide_deletion, states), reply, request.timeout_ms
        )

    def _decide_deletion(
        self, states: Sequence[DeleteTopicState], view: View
    ) -> Decision[list[DeletableTopicResult]]:
        topics = view.image.topics
        results: list[DeletableTopicResult] = []
        doomed: list[bytes] = []
        answered: list[object] = []
        counts: Counter[object] = Counter()
        for state in states:
            by_name = topics.get(state.name) if state.name is not None else None
            counts[by_name.id if by_name is not None else state.name or state.topic_id] += 1
        for state in states:
            error = _state_error(state)
            topic = topics.get_by_id(state.topic_id)
            if state.name is not None:
                topic = topics.get(state.name)
            key = topic.id if topic is not None else state.name or state.topic_id
            if error is None and counts[key] > 1 and key in answered:
                continue
            answered.append(key)
            if error is None and counts[key] > 1:
                shown = "topic name" if state.name is not None else "topic id"
                error = ApiError(ErrorCode.INVALID_REQUEST, f"Duplicate {shown}.")
            if error is None and topic is None:
                error = _UNKNOWN_ID if state.name is None else _UNKNOWN_NAME
            if error is not None:
                results.append(_refused_deletion(state, error))
            elif topic is not None:
                doomed.append(topic.id)
                results.append(DeletableTopicResult(topic.name, topic.id))
        decision = self._replication.delete_topics(view, doomed)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        return Decision(results, decision.records)

    # --- CreatePartitions ----------------------------------------------------------------------

    def create_partitions(
        self, _context: object, request: CreatePartitionsRequest, respond: Respond
    ) -> None:
        """Answer a CreatePartitions request."""
        counts = Counter(topic.name for topic in request.topics)
        wanted = [topic for topic in request.topics if counts[topic.name] == 1]
        duplicates = [name for name, count in counts.items() if count > 1]

        def decide(view: View) -> Decision[list[CreatePartitionsTopicResult]]:
            return self._replication.create_partitions(view, wanted, request.validate_only)

        def reply(outcome: list[CreatePartitionsTopicResult] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                results = [_refused_growth(topic, outcome) for topic in request.topics]
                respond(CreatePartitionsResponse(results=results))
                return
            refusals = [
                CreatePartitionsTopicResult(name, _DUPLICATE.code, _DUPLICATE.message)
                for name in duplicates
            ]
            respond(CreatePartitionsResponse(results=[*outcome, *refusals]))

        self._timeouts.submit("create partitions", decide, reply, request.timeout_ms)


_UNKNOWN_NAME = ApiError(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)
_UNKNOWN_ID = ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")


def _state_error(state: DeleteTopicState) -> ApiError | None:
    if state.name is None and state.topic_id == ZERO_UUID:
        return ApiError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if state.name is not None and state.topic_id != ZERO_UUID:
        text = "You may not specify both topic name and topic id."
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    return None


def _refused_deletion(state: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    return DeletableTopicResult(state.name, state.topic_id, error.code, error.message)


def _all_refused(states: Sequence[DeleteTopicState], error: ApiError) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(responses=[_refused_deletion(state, error) for state in states])


def _refused_growth(topic: CreatePartitionsTopic, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(topic.name, error.code, error.message)

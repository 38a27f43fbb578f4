"""CreateTopics, DeleteTopics and CreatePartitions as commands.

CreateTopics 2-7    v4: -1 for the defaults; v5: partitions, replication factor and configs in the
                    answer (KIP-525; `configs` is a list then, never null); v7: topic ids
DeleteTopics 1-6    v6: by name or id, name and id in the answer (KIP-516)
CreatePartitions 0-3

Rights: Create on the cluster or the topic, and DescribeConfigs on the topic for its configs in the
answer; Alter on the topic for more partitions; of deletions `topic_deletion` knows.

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
from controller.requests.rights import Limited
from controller.requests.topic_creation import TopicCreation
from controller.requests.topic_deletion import refused_deletion, sort_out
from controller.settings import ControllerSettings
from ottla.plugins.authorizer import Operation, Resource
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
from storage.log.sliced_work import Steps

Respond = Callable[[Any], None]

_DUPLICATE = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_MAY_NOT_GROW = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_NAMES_IN_STATES_FROM = 6


class TopicRequests:
    """Handlers of the three requests."""

    def __init__(
        self, settings: ControllerSettings, controller: QuorumController, timeouts: RequestTimeouts
    ) -> None:
        self._settings = settings
        self._controller = controller
        self._replication = controller.replication
        self._timeouts = timeouts

    # --- CreateTopics --------------------------------------------------------------------------

    def create_topics(
        self, context: Limited, request: CreateTopicsRequest, respond: Respond
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

        def reply(outcome: list[CreatableTopicResult] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                names = [topic.name for topic in request.topics]
                respond(CreateTopicsResponse(topics=[refused_topic(n, outcome) for n in names]))
                return
            refusals = [refused_topic(name, error) for name, error in refused.items()]
            respond(CreateTopicsResponse(topics=[*outcome, *refusals]))

        creation = TopicCreation(
            self._controller,
            context.rights,
            wanted,
            request.validate_only,
            context.quota,
            context.api_version,
        )
        create = partial(creation.run, self._settings.policies)
        self._timeouts.within(request.timeout_ms, reply, create)

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
            "delete topics",
            partial(self._decide_deletion, context, states),
            reply,
            request.timeout_ms,
        )

    def _decide_deletion(
        self, context: Limited, states: Sequence[DeleteTopicState], view: View
    ) -> Decision[list[DeletableTopicResult]]:
        results, doomed = sort_out(context.rights, view.image.topics, states)
        decision = self._replication.delete_topics(view, doomed, context.quota)
        if isinstance(decision.reply, ApiError):
            return Decision(decision.reply)
        refusals = decision.reply
        results = [
            DeletableTopicResult(one.name, one.topic_id, refusal.code, refusal.message)
            if (refusal := refusals.get(one.topic_id)) is not None and not one.error_code
            else one
            for one in results
        ]
        return Decision(results, decision.records)

    # --- CreatePartitions ----------------------------------------------------------------------

    def create_partitions(
        self, context: Limited, request: CreatePartitionsRequest, respond: Respond
    ) -> None:
        """Answer a CreatePartitions request."""
        counts = Counter(topic.name for topic in request.topics)
        wanted = [topic for topic in request.topics if counts[topic.name] == 1]
        refused = {name: _DUPLICATE for name, count in counts.items() if count > 1}

        def decide(view: View) -> Steps[Decision[list[CreatePartitionsTopicResult]]]:
            names = [one.name for one in wanted]
            allowed = context.rights.allowed(Operation.ALTER, Resource.TOPIC, names)
            refused.update((name, _MAY_NOT_GROW) for name in names if name not in allowed)
            asked = [one for one in wanted if one.name in allowed]
            return (
                yield from self._replication.create_partitions(
                    view, asked, request.validate_only, context.quota
                )
            )

        def reply(outcome: list[CreatePartitionsTopicResult] | ApiError) -> None:
            if isinstance(outcome, ApiError):
                results = [_refused_growth(topic, outcome) for topic in request.topics]
                respond(CreatePartitionsResponse(results=results))
                return
            refusals = [
                CreatePartitionsTopicResult(name, error.code, error.message)
                for name, error in refused.items()
            ]
            respond(CreatePartitionsResponse(results=[*outcome, *refusals]))

        self._timeouts.submit("create partitions", decide, reply, request.timeout_ms)


def _all_refused(states: Sequence[DeleteTopicState], error: ApiError) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(responses=[refused_deletion(state, error) for state in states])


def _refused_growth(topic: CreatePartitionsTopic, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(topic.name, error.code, error.message)

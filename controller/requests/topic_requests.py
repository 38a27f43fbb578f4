"""CreateTopics, DeleteTopics and CreatePartitions as commands.

CreateTopics 2-7    v4: -1 for the defaults; v5: partitions, replication factor and configs in the
                    response (KIP-525; `configs` is a list then, never null); v7: topic ids
DeleteTopics 1-6    v6: by name or id, name and id in the response (KIP-516)
CreatePartitions 0-3

Rights: Create on the cluster or the topic, and DescribeConfigs on the topic for its configs in the
response; Alter on the topic for more partitions; for deletions see `topic_deletion`.

Owns: duplicates inside a request, and responses to a request that is rejected whole. Never: repeats
the checks of `replication_control`. Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from controller.authorization.rights import Rights
from controller.decisions.decision import Decision, DecisionView
from controller.decisions.mutation_quota import MutationQuota
from controller.decisions.replication_control import refused_topic
from controller.metadata.topic_names import CLUSTER_METADATA_TOPIC
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, Settle, map_in_slices
from controller.requests.rights import SenderWithQuota, allowed_in_slices
from controller.requests.topic_creation import TopicCreation
from controller.requests.topic_deletion import TopicDeletion, refused_deletion
from controller.settings import ControllerSettings
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
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

Respond = Callable[[Any], None]

_DUPLICATE = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
_MAY_NOT_GROW = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_NAMES_IN_STATES_FROM = 6


class TopicRequests:
    """The handlers of the three requests."""

    def __init__(
        self, settings: ControllerSettings, controller: QuorumController, long: LongRequests
    ) -> None:
        self._settings = settings
        self._controller = controller
        self._replication = controller.replication
        self._long = long

    # --- CreateTopics --------------------------------------------------------------------------

    def create_topics(
        self, context: SenderWithQuota, request: CreateTopicsRequest, respond: Respond
    ) -> None:
        """Create topics, or only validate them, and respond after the commit. Each topic has its
        own result: a repeated or internal name is INVALID_REQUEST, a topic that the client may not
        create TOPIC_AUTHORIZATION_FAILED. After `timeout_ms` all are REQUEST_TIMED_OUT."""
        refused: dict[str, ApiError] = {}
        valid_topics: list[CreatableTopic] = []

        def prepare() -> Steps[None]:
            """Put internal and repeated topics into `refused` with their error, and the others into
            `valid_topics`. Judge the rights to many topics now."""
            counts = Counter[str]()
            yield from in_bulk(counts.update, (topic.name for topic in request.topics))
            pace = Pace(BULK_AT_ONCE)
            for topic in request.topics:
                if pace.is_full():
                    yield None
                if topic.name == CLUSTER_METADATA_TOPIC:
                    text = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
                    refused[topic.name] = ApiError(ErrorCode.INVALID_REQUEST, text)
                elif counts[topic.name] > 1:
                    refused[topic.name] = _DUPLICATE
                else:
                    valid_topics.append(topic)
            yield from creation.judge_ahead()

        def answer(outcome: list[CreatableTopicResult] | ApiError) -> Steps[CreateTopicsResponse]:
            """Return the response: the results of the decision and the refused topics, or `outcome`
            as the error of every topic."""
            if isinstance(outcome, ApiError):
                topics = yield from map_in_slices(
                    request.topics, lambda topic: refused_topic(topic.name, outcome)
                )
                return CreateTopicsResponse(topics=topics)
            refusals = yield from map_in_slices(
                refused.items(), lambda refusal: refused_topic(*refusal)
            )
            return CreateTopicsResponse(topics=[*outcome, *refusals])

        creation = TopicCreation(
            self._controller,
            context.rights,
            valid_topics,
            request.validate_only,
            context.quota,
            context.api_version,
        )
        create = partial(creation.run, self._settings.policies)
        self._long.run("create topics", prepare(), create, answer, respond, request.timeout_ms)

    # --- DeleteTopics --------------------------------------------------------------------------

    def delete_topics(self, context: Any, request: DeleteTopicsRequest, respond: Respond) -> None:
        """Delete the topics on which the client has Delete, and respond after the commit, with a
        result for each. After `timeout_ms` all are REQUEST_TIMED_OUT. If `delete.topic.enable` is
        false, respond with that error for every topic."""
        deletion = TopicDeletion(self._controller, context.rights, context.quota)

        def prepare() -> Steps[None]:
            """Pass the topics of the request to `deletion`; those of old versions are names. Do
            nothing if deletion is disabled."""
            if not self._settings.delete_topic_enable:
                return
            states = request.topics
            if context.api_version < _NAMES_IN_STATES_FROM:
                states = yield from map_in_slices(request.topic_names, DeleteTopicState)
            yield from deletion.prepare(states)

        def answer(outcome: list[DeletableTopicResult] | ApiError) -> Steps[DeleteTopicsResponse]:
            """Return the response: the results of the decision, or `outcome` as the error of every
            topic."""
            if not isinstance(outcome, ApiError):
                return DeleteTopicsResponse(responses=outcome)
            by_name = (DeleteTopicState(name) for name in request.topic_names)
            is_new = context.api_version >= _NAMES_IN_STATES_FROM
            refusals = yield from map_in_slices(
                request.topics if is_new else by_name,
                lambda state: refused_deletion(state, outcome),
            )
            return DeleteTopicsResponse(responses=refusals)

        def begin(settle: Settle[list[DeletableTopicResult]]) -> None:
            """Submit the deletion; `settle` gets an error if deletion is disabled."""
            if self._settings.delete_topic_enable:
                self._controller.submit("delete topics", deletion.decide, settle)
                return
            old = context.api_version < 3
            code = ErrorCode.INVALID_REQUEST if old else ErrorCode.TOPIC_DELETION_DISABLED
            settle(ApiError(code, "Topic deletion is disabled."))

        # If deletion is disabled, the client gets that error however short its time-out is.
        timeout_ms = request.timeout_ms if self._settings.delete_topic_enable else None
        self._long.run("delete topics", prepare(), begin, answer, respond, timeout_ms)

    # --- CreatePartitions ----------------------------------------------------------------------

    def create_partitions(
        self, context: SenderWithQuota, request: CreatePartitionsRequest, respond: Respond
    ) -> None:
        """Add partitions to topics, or only validate that, and respond after the commit. Each topic
        has its own result: a repeated name is INVALID_REQUEST, a topic that the client may not
        alter TOPIC_AUTHORIZATION_FAILED. After `timeout_ms` all are REQUEST_TIMED_OUT."""
        growth = _Growth(self._controller, request, context.rights, context.quota)

        def answer(
            outcome: list[CreatePartitionsTopicResult] | ApiError,
        ) -> Steps[CreatePartitionsResponse]:
            """Return the response: the results of the decision and the refused topics, or `outcome`
            as the error of every topic."""
            if isinstance(outcome, ApiError):
                results = yield from map_in_slices(
                    request.topics, lambda topic: _refused_growth(topic.name, outcome)
                )
                return CreatePartitionsResponse(results=results)
            refusals = yield from map_in_slices(
                growth.refused.items(), lambda refusal: _refused_growth(*refusal)
            )
            return CreatePartitionsResponse(results=[*outcome, *refusals])

        def begin(settle: Settle[list[CreatePartitionsTopicResult]]) -> None:
            """Submit the request's decision to the controller."""
            self._controller.submit("create partitions", growth.decide, settle)

        self._long.run(
            "create partitions", growth.prepare(), begin, answer, respond, request.timeout_ms
        )


class _Growth:
    """A CreatePartitions request."""

    def __init__(
        self,
        controller: QuorumController,
        request: CreatePartitionsRequest,
        rights: Rights,
        quota: MutationQuota | None,
    ) -> None:
        self._controller = controller
        self._request = request
        self._rights = rights
        self._quota = quota
        self._topics: list[CreatePartitionsTopic] = []
        """The topics to decide on, as far as they are judged."""
        self._epoch: int | None = None
        """The epoch of the rights under which they were last judged."""
        self.refused: dict[str, ApiError] = {}

    def prepare(self) -> Steps[None]:
        """Refuse topics that are named twice. If there are many topics, refuse those that the
        client may not alter too, but only on the active controller: others may not have replayed
        every ACL."""
        counts = Counter[str]()
        topics = self._request.topics
        yield from in_bulk(counts.update, (topic.name for topic in topics))
        yield from self._accept(topics, lambda name: counts[name] == 1, _DUPLICATE)
        if len(self._topics) > PIECES_AT_ONCE and self._controller.is_active:
            yield from self._judge()

    def decide(self, view: DecisionView) -> Steps[Decision[list[CreatePartitionsTopicResult]]]:
        """Return the decision that adds partitions to the topics that the client may alter. Judge
        the rights first, unless that was done and no ACL has changed."""
        if self._epoch is None or not self._rights.unchanged_since(self._epoch):
            yield from self._judge()
        return (
            yield from self._controller.replication.create_partitions(
                view, self._topics, self._request.validate_only, self._quota
            )
        )

    def _judge(self) -> Steps[None]:
        """Refuse the topics that the client may not alter, by the present ACLs, and keep the epoch
        of these rights."""
        self._epoch, topics, self._topics = self._rights.epoch, self._topics, []
        names = (topic.name for topic in topics)
        allowed = yield from allowed_in_slices(self._rights, Operation.ALTER, Resource.TOPIC, names)
        yield from self._accept(topics, allowed.__contains__, _MAY_NOT_GROW)

    def _accept(
        self,
        topics: Iterable[CreatePartitionsTopic],
        is_accepted: Callable[[str], object],
        error: ApiError,
    ) -> Steps[None]:
        """Add the topics whose name is accepted to `_topics`, and the others to `refused` with
        `error`."""
        pace = Pace(BULK_AT_ONCE)
        for topic in topics:
            if pace.is_full():
                yield None
            if is_accepted(topic.name):
                self._topics.append(topic)
            else:
                self.refused[topic.name] = error


def _refused_growth(name: str, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name, error.code, error.message)

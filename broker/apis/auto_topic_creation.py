"""Automatic creation of topics that clients name in requests.

Owns the topics that are being created now, so that a client which retries every 100 ms causes one
request to the controller, not hundreds. The client is answered with UNKNOWN_TOPIC_OR_PARTITION,
which it retries, until the topic is in the metadata.

Never decides whether a topic may be created: the caller checks `auto.create.topics.enable` and the
request, the controller everything else.

Follows Kafka's `AutoTopicCreationManager` and the configs that `GroupCoordinatorService`,
`TransactionCoordinator` and `ShareCoordinator` give their own topics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from broker.config.values import BrokerConfig
from broker.requests.context import Handle, RequestContext
from controller.decisions.decision import MAX_PARTITIONS_PER_REQUEST
from controller.metadata.topic_names import topic_name_fault
from ground.sliced_work import Pace, Steps
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_log = logging.getLogger(f"ottla.{__name__}")

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
SHARE_TOPIC = "__share_group_state"

_CREATE_TOPICS_VERSION = 7
TOPICS_AT_ONCE = MAX_PARTITIONS_PER_REQUEST + 1
"""The most topics in one request: one more than the controller accepts, so that the controller
rejects a request for too many."""
_CREATED = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

Refused = Callable[[], None]
AskAsNode = Callable[[CreateTopicsRequest, Callable[[CreateTopicsResponse | None], None]], None]


class AutoTopicCreation:
    """A broker's requests to the controller for topics, one at a time for each topic."""

    def __init__(self, config: BrokerConfig, create_topics: Handle, as_node: AskAsNode) -> None:
        """`create_topics` handles CreateTopics, here or by forwarding it to the controller.

        `as_node` does so with the rights of this node.
        """
        self._config = config
        self._create_topics = create_topics
        self._as_node = as_node
        self._logged_message = ""
        self._being_created: dict[str, list[Refused]] = {}
        """The callbacks to call if a topic is not created, by the topic's name."""

    def create_internal(self, name: str, refused: Refused) -> None:
        """Begin to create an internal topic, with the node's rights instead of the client's. If its
        creation has begun already, only add `refused` to it.

        `refused()` is called if the controller does not create it.
        """
        if name in self._being_created:
            self._being_created[name].append(refused)
        else:
            self._request_creation([self._topic_to_create(name)], None, refused)

    def create(
        self, names: Iterable[str], may_create: Container[str], context: RequestContext
    ) -> Steps[dict[str, ErrorCode]]:
        """Begin to create those of `names` that are valid and in `may_create`, unless that has
        begun already. Return, in slices, the error code to answer for each name:
        UNKNOWN_TOPIC_OR_PARTITION while the topic is being created."""
        answers: dict[str, ErrorCode] = {}
        wanted: dict[str, CreatableTopic] = {}
        pace = Pace()
        for name in names:
            if pace.is_full():
                yield None
            if name not in may_create:
                answers[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic_name_fault(name) is not None:
                answers[name] = ErrorCode.INVALID_TOPIC_EXCEPTION
            else:
                answers[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if name not in self._being_created and len(wanted) < TOPICS_AT_ONCE:
                    wanted[name] = self._topic_to_create(name)
        # Other requests may have begun to create some of them between the slices.
        topics = [topic for name, topic in wanted.items() if name not in self._being_created]
        if topics:
            self._request_creation(topics, context)
        return answers

    def _request_creation(
        self, topics: list[CreatableTopic], context: RequestContext | None, *refused: Refused
    ) -> None:
        """Send a CreateTopics with the rights of the client of `context`; None: with the node's.
        Call `refused` for each topic that is not created."""
        names = [topic.name for topic in topics]
        self._being_created.update((name, list(refused)) for name in names)

        def done(response: CreateTopicsResponse | None) -> None:
            """Log a rejection because of a limit, call `refused` for each topic that was not
            created, and allow further requests for the topics."""
            if response is not None:
                self._log_rejected(response)
            # Created or rejected: either way a client's next request may try again.
            results = response.topics if response is not None else ()
            created = {result.name for result in results if result.error_code in _CREATED}
            for name in names:
                for on_refused in self._being_created.pop(name, ()):
                    if name not in created:
                        on_refused()

        request = CreateTopicsRequest(topics, self._config.request_timeout_ms)
        if context is None:
            self._as_node(request, done)
            return
        creation_context = replace(
            context, api_key=int(ApiKey.CREATE_TOPICS), api_version=_CREATE_TOPICS_VERSION
        )
        self._create_topics(creation_context, request, done)

    def _log_rejected(self, response: CreateTopicsResponse) -> None:
        """Log at WARNING a rejection because of a limit, unless its message is that of the last
        one.

        The client only gets UNKNOWN_TOPIC_OR_PARTITION, and retries many times.
        """
        for topic in response.topics:
            message = topic.error_message or ""
            if topic.error_code == ErrorCode.POLICY_VIOLATION and message != self._logged_message:
                self._logged_message = message
                _log.warning("topic %s is not created: %s", topic.name, message)

    def _topic_to_create(self, name: str) -> CreatableTopic:
        """Return the topic with the settings of an internal topic, or else with the broker's
        defaults.
        """
        config = self._config
        if name == OFFSETS_TOPIC:
            return _internal_topic(
                name,
                config.offsets_topic_num_partitions,
                config.offsets_topic_replication_factor,
                {
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    "segment.bytes": str(config.offsets_topic_segment_bytes),
                },
            )
        if name == TRANSACTION_TOPIC:
            return _internal_topic(
                name,
                config.transaction_state_log_num_partitions,
                config.transaction_state_log_replication_factor,
                {
                    "cleanup.policy": "compact",
                    "compression.type": "uncompressed",
                    "min.insync.replicas": str(config.transaction_state_log_min_isr),
                    "segment.bytes": str(config.transaction_state_log_segment_bytes),
                    "unclean.leader.election.enable": "false",
                },
            )
        if name == SHARE_TOPIC:
            return _internal_topic(
                name,
                config.share_coordinator_state_topic_num_partitions,
                config.share_coordinator_state_topic_replication_factor,
                {
                    "cleanup.policy": "delete",
                    "compression.type": "producer",
                    "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
                    "retention.ms": "-1",
                    "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
                },
            )
        return CreatableTopic(name, config.num_partitions, config.default_replication_factor)


def _internal_topic(
    name: str, partitions: int, replication_factor: int, configs: dict[str, str]
) -> CreatableTopic:
    return CreatableTopic(
        name,
        partitions,
        replication_factor,
        configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
    )

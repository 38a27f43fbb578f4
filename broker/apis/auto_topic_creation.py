"""Topics that come into being because a client asked for them.

Owns which topics are being created right now, so that a client that asks again every 100 ms makes
one request to the controller, not hundreds. The client is told UNKNOWN_TOPIC_OR_PARTITION, which it
retries, until the topic is in the metadata.

Never decides whether a topic may be created: the caller looks at `auto.create.topics.enable` and at
the request, the controller at everything else.

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
"""More are refused by the controller, and so are these."""
_MADE = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

Refused = Callable[[], None]
AskAsNode = Callable[[CreateTopicsRequest, Callable[[CreateTopicsResponse | None], None]], None]


class AutoTopicCreation:
    """Asks the controller for topics, one request at a time for each of them."""

    def __init__(self, config: BrokerConfig, create_topics: Handle, as_node: AskAsNode) -> None:
        """`create_topics` answers CreateTopics: here, or wherever the controller is. `as_node` does
        so with the rights of this node."""
        self._config = config
        self._create_topics = create_topics
        self._as_node = as_node
        self._told = ""
        self._under_way: dict[str, list[Refused]] = {}
        """Those who are to hear of it where a topic is not made."""

    def create_internal(self, name: str, refused: Refused) -> None:
        """Begin to create one of the internal topics, which a client needs that may itself create
        none; `refused()` where the controller does not."""
        if name in self._under_way:
            self._under_way[name].append(refused)
        else:
            self._ask([self._described(name)], None, refused)

    def create(
        self, names: Iterable[str], may_create: Container[str], context: RequestContext
    ) -> Steps[dict[str, ErrorCode]]:
        """Begin to create those of `names` that may be; what to tell of each meanwhile."""
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
                if name not in self._under_way and len(wanted) < TOPICS_AT_ONCE:
                    wanted[name] = self._described(name)
        # Others may have asked for some of them since.
        topics = [topic for name, topic in wanted.items() if name not in self._under_way]
        if topics:
            self._ask(topics, context)
        return answers

    def _ask(
        self, topics: list[CreatableTopic], context: RequestContext | None, *refused: Refused
    ) -> None:
        """`context`: of the client whose rights are to be enough; None: the node asks."""
        names = [topic.name for topic in topics]
        self._under_way.update((name, list(refused)) for name in names)

        def done(response: CreateTopicsResponse | None) -> None:
            if response is not None:
                self._tell_refused(response)
            # Created or refused: either way the next request of a client may try again.
            results = response.topics if response is not None else ()
            made = {one.name for one in results if one.error_code in _MADE}
            for name in names:
                for hear in self._under_way.pop(name, ()):
                    if name not in made:
                        hear()

        request = CreateTopicsRequest(topics, self._config.request_timeout_ms)
        if context is None:
            self._as_node(request, done)
            return
        asking = replace(
            context, api_key=int(ApiKey.CREATE_TOPICS), api_version=_CREATE_TOPICS_VERSION
        )
        self._create_topics(asking, request, done)

    def _tell_refused(self, response: CreateTopicsResponse) -> None:
        """The client is told that the topic is unknown, and asks again at once, many times. Of a
        limit that is reached somebody else has to hear, once."""
        for topic in response.topics:
            why = topic.error_message or ""
            if topic.error_code == ErrorCode.POLICY_VIOLATION and why != self._told:
                self._told = why
                _log.warning("topic %s is not created: %s", topic.name, why)

    def _described(self, name: str) -> CreatableTopic:
        config = self._config
        if name == OFFSETS_TOPIC:
            return _internal(
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
            return _internal(
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
            return _internal(
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


def _internal(
    name: str, partitions: int, replication_factor: int, configs: dict[str, str]
) -> CreatableTopic:
    return CreatableTopic(
        name,
        partitions,
        replication_factor,
        configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
    )

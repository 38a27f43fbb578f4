"""The requests that the active controller answers: each becomes a command.

    CreateTopics 2-7   DeleteTopics 1-6   CreatePartitions 0-3   AlterConfigs 0-2
    IncrementalAlterConfigs 0-1   AllocateProducerIds 0   BrokerRegistration 0-4
    BrokerHeartbeat 0-2

Owns: the checks on a whole request (duplicates, names given twice) and the form of the answers.
On a combined node the broker calls `handle` directly; a later release forwards requests in
Envelopes. Never: looks at metadata outside a decision, so that an answer fits the order of the log.

Follows Kafka's `ControllerApis`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from controller.cluster_control import HeartbeatReply
from controller.config_requests import ConfigRequests
from controller.decision import Decision, View
from controller.producer_ids_control import ProducerIdsBlock, allocate_producer_ids
from controller.quorum_controller import QuorumController
from controller.request_timeout import RequestTimeouts
from controller.settings import ControllerSettings
from controller.topic_requests import TopicRequests
from protocol.errors import ApiError, ErrorCode
from protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.create_partitions import CreatePartitionsRequest
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from storage.ports import Scheduler

Respond = Callable[[Any], None]


class RequestContext(Protocol):
    """What a handler needs to know of the connection."""

    @property
    def api_version(self) -> int:
        """Version of the request."""


class ControllerApis:
    """Handlers by request class."""

    def __init__(
        self, settings: ControllerSettings, controller: QuorumController, scheduler: Scheduler
    ) -> None:
        self._controller = controller
        timeouts = RequestTimeouts(controller, scheduler)
        topics = TopicRequests(settings, controller, timeouts)
        configs = ConfigRequests(controller)
        self._handlers: dict[type, Callable[[RequestContext, Any, Respond], None]] = {
            CreateTopicsRequest: topics.create_topics,
            DeleteTopicsRequest: topics.delete_topics,
            CreatePartitionsRequest: topics.create_partitions,
            AlterConfigsRequest: configs.alter_configs,
            IncrementalAlterConfigsRequest: configs.incremental_alter_configs,
            AllocateProducerIdsRequest: self._allocate_producer_ids,
            BrokerRegistrationRequest: self._register_broker,
            BrokerHeartbeatRequest: self._broker_heartbeat,
        }

    @property
    def api_keys(self) -> Sequence[int]:
        """The APIs that `handle` takes."""
        return [int(cls.API_KEY) for cls in self._handlers]  # type: ignore[attr-defined]

    def handle(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """Answer `request`, now or once its decision is committed."""
        self._handlers[type(request)](context, request, respond)

    def _allocate_producer_ids(
        self, _context: RequestContext, request: AllocateProducerIdsRequest, respond: Respond
    ) -> None:
        def decide(view: View) -> Decision[ProducerIdsBlock]:
            return allocate_producer_ids(view, request.broker_id, request.broker_epoch)

        def reply(outcome: ProducerIdsBlock | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(AllocateProducerIdsResponse(error_code=outcome.code))
            else:
                respond(
                    AllocateProducerIdsResponse(
                        producer_id_start=outcome.first, producer_id_len=outcome.size
                    )
                )

        self._controller.submit("allocate producer ids", decide, reply)

    def _register_broker(
        self, _context: RequestContext, request: BrokerRegistrationRequest, respond: Respond
    ) -> None:
        def reply(outcome: int | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(BrokerRegistrationResponse(error_code=outcome.code))
            else:
                respond(BrokerRegistrationResponse(broker_epoch=outcome))

        self._controller.submit(
            "register broker", partial(self._decide_registration, request), reply
        )

    def _decide_registration(self, request: BrokerRegistrationRequest, view: View) -> Decision[int]:
        return self._controller.cluster.register(view, request)

    def _broker_heartbeat(
        self, _context: RequestContext, request: BrokerHeartbeatRequest, respond: Respond
    ) -> None:
        def decide(view: View) -> Decision[HeartbeatReply]:
            return self._controller.cluster.heartbeat(view, request)

        def reply(outcome: HeartbeatReply | ApiError) -> None:
            if isinstance(outcome, ApiError):
                respond(BrokerHeartbeatResponse(error_code=outcome.code))
                return
            respond(
                BrokerHeartbeatResponse(
                    error_code=ErrorCode.NONE,
                    is_caught_up=outcome.is_caught_up,
                    is_fenced=outcome.is_fenced,
                    should_shut_down=outcome.should_shut_down,
                )
            )

        self._controller.submit("broker heartbeat", decide, reply)

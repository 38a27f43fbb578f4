"""ConsumerGroupHeartbeat v0-1, ConsumerGroupDescribe v0-1: groups of the consumer protocol.

Behaviour: see `broker.groups.consumer` (KIP-848). If `group.version` is 0, or
`group.coordinator.rebalance.protocols` does not contain `consumer`, both fail with
UNSUPPORTED_VERSION but stay in ApiVersions.

Rights: ConsumerGroupHeartbeat needs READ on the group (GROUP_AUTHORIZATION_FAILED) and DESCRIBE on
each topic that it names (TOPIC_AUTHORIZATION_FAILED, whether the topic exists or not). Topics that
match its regular expression are left out if the client may not DESCRIBE them.
`broker.apis.described_groups` has those of ConsumerGroupDescribe, for the current and the target
assignments.

Versions: ConsumerGroupHeartbeat v1 regular expressions, and member ids made by clients (KIP-1082).
ConsumerGroupDescribe v1 member types (KIP-1099).
"""

from __future__ import annotations

from functools import partial

from broker.apis.described_groups import DescribedGroups, type_with_assignments
from broker.apis.prepared_heartbeat import PreparedHeartbeat, prepare_heartbeat
from broker.groups.consumer.heartbeat import refusal
from broker.groups.consumer.membership import Beat, HeartbeatSender
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.rights import split_in_slices
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

DESCRIBED_TYPE = type_with_assignments(
    DescribedGroup,
    ConsumerGroupDescribeResponse,
    lambda member: [member.assignment, member.target_assignment],
)


class ConsumerGroupsApi:
    """The handlers of the two APIs, which pass requests on to the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator, answers: SlicedAnswers) -> None:
        self._coordinator = coordinator
        self._answers = answers
        self._described = DescribedGroups(DESCRIBED_TYPE, coordinator.describe_consumers, answers)

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, self.heartbeat, prepare=self.prepare),
            Api(
                ApiKey.CONSUMER_GROUP_DESCRIBE,
                *(0, 1),
                self._described.handle,
                self._described.refuse,
            ),
        ]

    def heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, respond: Respond
    ) -> None:
        """Pass the heartbeat to the coordinator, which responds, if the client may READ the group.

        It must also have DESCRIBE on every topic that it subscribes to by name. Otherwise respond
        with the authorization error.
        """
        rights, names = context.rights, request.subscribed_topic_names
        if not rights.allows(Operation.READ, Resource.GROUP, request.group_id):
            respond(refusal(ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED)))
            return

        def judged(topics: tuple[list[str], list[str]]) -> None:
            """Pass the heartbeat to the coordinator, or respond TOPIC_AUTHORIZATION_FAILED if a
            topic is denied. `topics` has the allowed and the denied names."""
            _, denied = topics
            if denied:
                respond(refusal(ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
                return
            beat = Beat(request, *_client_of(context))
            if not rights.unlimited:
                described = partial(rights.allowed, Operation.DESCRIBE, Resource.TOPIC)
                beat = beat._replace(may_describe=described)
            self._coordinator.consumer_heartbeat(beat, context.api_version, respond)

        if not names or rights.unlimited:
            judged(([], []))
            return
        steps = split_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
        self._answers.judge(context, request, steps, judged, respond, _refuse_heartbeat)

    def prepare(
        self, context: RequestContext, frame: memoryview, request: ConsumerGroupHeartbeatRequest
    ) -> PreparedHeartbeat | None:
        """Return a shortcut for a member's next heartbeats that repeat this one. None if this
        request has further fields, or no positive epoch."""
        sender = HeartbeatSender(
            request.group_id, request.member_id, request.instance_id, *_client_of(context)
        )
        return prepare_heartbeat(self._coordinator, context.api_version, frame, request, sender)


def _client_of(context: RequestContext) -> tuple[str, str]:
    """Return the client id and host in the form that the group stores."""
    # Java prints an address without a host name in this form, and Kafka's tools show it.
    return context.client_id or "", f"/{context.client_host}"


def _refuse_heartbeat(
    _request: ConsumerGroupHeartbeatRequest, code: ErrorCode
) -> ConsumerGroupHeartbeatResponse:
    return refusal(ApiError(code))

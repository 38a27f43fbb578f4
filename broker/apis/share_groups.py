"""ShareGroupHeartbeat v1, ShareGroupDescribe v1: the members of share groups.

Behaviour: see `broker.groups.share` (KIP-932). If `share.version` is 0, both fail with
UNSUPPORTED_VERSION but stay in ApiVersions.

Rights: ShareGroupHeartbeat needs READ on the group (GROUP_AUTHORIZATION_FAILED) and DESCRIBE on
each topic that it names (TOPIC_AUTHORIZATION_FAILED, whether the topic exists or not).
`broker.apis.described_groups` has those of ShareGroupDescribe.
"""

from __future__ import annotations

from broker.apis.described_groups import DescribedGroups, type_with_assignments
from broker.groups.group_coordinator import GroupCoordinator
from broker.groups.share.heartbeat import ShareBeat, is_member_id, refused
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.rights import split_in_slices
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

DESCRIBED_TYPE = type_with_assignments(
    DescribedGroup, ShareGroupDescribeResponse, lambda member: [member.assignment]
)


class ShareGroupsApi:
    """The handlers of the two APIs, which pass requests on to the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator, answers: SlicedAnswers) -> None:
        self._shares = coordinator.shares
        self._answers = answers
        self._described = DescribedGroups(DESCRIBED_TYPE, self._shares.describe, answers)

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, self.heartbeat, refuse_heartbeat),
            Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, self.describe, self._described.refuse),
        ]

    def heartbeat(
        self, context: RequestContext, request: ShareGroupHeartbeatRequest, respond: Respond
    ) -> None:
        """Pass the heartbeat to the coordinator, which responds, if the client may READ the group.

        It must also have DESCRIBE on every topic that it names. Otherwise respond with the
        authorization error.
        """
        rights, names = context.rights, request.subscribed_topic_names
        error = ErrorCode.NONE
        if not self._shares.are_enabled():
            error = ErrorCode.UNSUPPORTED_VERSION
        elif not rights.allows(Operation.READ, Resource.GROUP, request.group_id):
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
        elif not is_member_id(request.member_id):
            error = ErrorCode.INVALID_REQUEST
        if error is not ErrorCode.NONE:
            respond(refuse_heartbeat(request, error))
            return

        def judged(topics: tuple[list[str], list[str]]) -> None:
            """Pass the heartbeat to the coordinator, or respond TOPIC_AUTHORIZATION_FAILED if a
            topic is denied. `topics` has the allowed and the denied names."""
            _, denied = topics
            if denied:
                respond(refuse_heartbeat(request, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
                return
            # Java prints an address without a host name in this form, and Kafka's tools show it.
            beat = ShareBeat(request, context.client_id or "", f"/{context.client_host}")
            self._shares.heartbeat(beat, respond)

        if not names or rights.unlimited:
            judged(([], []))
            return
        steps = split_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
        self._answers.judge(context, request, steps, judged, respond, refuse_heartbeat)

    def describe(
        self, context: RequestContext, request: ShareGroupDescribeRequest, respond: Respond
    ) -> None:
        """Respond with the description of each group, or with UNSUPPORTED_VERSION for all."""
        if self._shares.are_enabled():
            self._described.handle(context, request, respond)
        else:
            respond(self._described.refuse(request, ErrorCode.UNSUPPORTED_VERSION))


def refuse_heartbeat(
    _request: ShareGroupHeartbeatRequest, code: ErrorCode
) -> ShareGroupHeartbeatResponse:
    """Return a response with `code`."""
    return refused(ApiError(code)).response

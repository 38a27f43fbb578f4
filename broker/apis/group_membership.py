"""JoinGroup v0-9, SyncGroup v0-5, Heartbeat v0-4, LeaveGroup v0-5: the members of classic groups.

Behaviour: see `broker.groups.classic.group_state` for the answers in each state. JoinGroup waits in
the group until the generation is complete, SyncGroup until the assignment has arrived.

Rights: each of them needs READ on the group, otherwise it is GROUP_AUTHORIZATION_FAILED.

Versions: JoinGroup v1 rebalance time-out, v4 MEMBER_ID_REQUIRED (KIP-394), v5 static members
(KIP-345), v6 flexible, v7 protocol type (KIP-559), v8 reason (KIP-800), v9 skip assignment
(KIP-814). SyncGroup v3 static members, v4 flexible, v5 protocol type and name, which are required.
Heartbeat v3 static members, v4 flexible. LeaveGroup v3 several members, v4 flexible, v5 reason.
"""

from __future__ import annotations

from broker.groups.classic.joining import Joining
from broker.groups.classic.member import join_refusal, sync_refusal
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message import replace
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from protocol.messages.sync_group import SyncGroupRequest

NULLABLE_PROTOCOL_FROM = 7
PROTOCOL_REQUIRED_FROM = 5
SEVERAL_MEMBERS_FROM = 3


class GroupMembershipApi:
    """The handlers of the four APIs, which pass requests on to the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.JOIN_GROUP, 0, 9, self.join),
            Api(ApiKey.SYNC_GROUP, 0, 5, self.sync),
            Api(ApiKey.HEARTBEAT, 0, 4, self.heartbeat),
            Api(ApiKey.LEAVE_GROUP, 0, 5, self.leave),
        ]

    def join(self, context: RequestContext, request: JoinGroupRequest, respond: Respond) -> None:
        """Let the coordinator add the member to its group; it responds after the join phase.

        Without READ on the group, respond GROUP_AUTHORIZATION_FAILED.
        """

        def reply(response: JoinGroupResponse) -> None:
            """Respond. A missing protocol name is null from v7 on, and empty before."""
            # A missing protocol and a protocol with an empty name are answered alike.
            if not response.protocol_name:
                nullable = context.api_version >= NULLABLE_PROTOCOL_FROM
                response = replace(response, protocol_name=None if nullable else "")
            respond(response)

        if not _may_be_member(context, request.group_id):
            reply(join_refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED))
            return
        self._coordinator.join(
            Joining(
                request,
                context.api_version,
                context.client_id or "",
                # Java prints an address without a host name in this form; Kafka's tools show it.
                f"/{context.client_host}",
                reply,
            )
        )

    def sync(self, context: RequestContext, request: SyncGroupRequest, respond: Respond) -> None:
        """Pass the request to the coordinator, which responds after the leader's assignment is
        committed.

        From v5 on, a request without protocol type or name gets INCONSISTENT_GROUP_PROTOCOL.
        Without READ on the group, respond GROUP_AUTHORIZATION_FAILED.
        """
        named = request.protocol_type is not None and request.protocol_name is not None
        if context.api_version >= PROTOCOL_REQUIRED_FROM and not named:
            respond(sync_refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        elif _may_be_member(context, request.group_id):
            self._coordinator.sync(request, respond)
        else:
            respond(sync_refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED))

    def heartbeat(
        self, context: RequestContext, request: HeartbeatRequest, respond: Respond
    ) -> None:
        """Pass the heartbeat to the coordinator, and respond with its error code, or with
        GROUP_AUTHORIZATION_FAILED without READ on the group."""

        def done(error: ErrorCode) -> None:
            respond(HeartbeatResponse(error_code=error))

        if _may_be_member(context, request.group_id):
            self._coordinator.heartbeat(request, done)
        else:
            done(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def leave(self, context: RequestContext, request: LeaveGroupRequest, respond: Respond) -> None:
        """Let the coordinator remove the members, and respond. Before v3 there is one member, whose
        error is the response's.

        Without READ on the group, respond GROUP_AUTHORIZATION_FAILED.
        """
        if not _may_be_member(context, request.group_id):
            respond(LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
            return
        if context.api_version >= SEVERAL_MEMBERS_FROM:
            self._coordinator.leave(request, respond)
            return

        def done(response: LeaveGroupResponse) -> None:
            """Respond with the error of the only member, for versions before v3."""
            error = response.error_code or response.members[0].error_code
            respond(LeaveGroupResponse(error_code=error))

        single = replace(request, members=[MemberIdentity(request.member_id)])
        self._coordinator.leave(single, done)


def _may_be_member(context: RequestContext, group_id: str) -> bool:
    """Return whether the client may READ the group."""
    return context.rights.allows(Operation.READ, Resource.GROUP, group_id)

"""ShareGroupHeartbeat v1, ShareGroupDescribe v1: the members of share groups.

Behaviour: see `broker.groups.share` (KIP-932). If `share.version` is 0, both fail with
UNSUPPORTED_VERSION but stay in ApiVersions.

Rights: ShareGroupHeartbeat needs READ on the group (GROUP_AUTHORIZATION_FAILED) and DESCRIBE on
each topic that it names (TOPIC_AUTHORIZATION_FAILED, whether the topic exists or not).
ShareGroupDescribe needs DESCRIBE on the group, and on each topic in a member's assignment;
otherwise the group is answered with an error only.
"""

from __future__ import annotations

from broker.apis.cluster_view import OPERATIONS_NOT_ASKED
from broker.groups.group_coordinator import GroupCoordinator
from broker.groups.share.heartbeat import ShareBeat, is_member_id, refused
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import split_in_slices
from ground.sliced_work import Pace, Steps, drained
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.share_group_describe import (
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

DESCRIBED = 8
"""The pieces of work (`Pace`) that one described group counts as, without its members."""
NAMES_A_PIECE = 8
"""The subscribed topic names that count as one piece of work."""


class ShareGroupsApi:
    """The handlers of the two APIs, which pass requests on to the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator, answers: SlicedAnswers) -> None:
        self._shares = coordinator.shares
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, self.heartbeat, refuse_heartbeat),
            Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, self.describe, refuse_describe),
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
        """Respond with each group's description from the coordinator, or its error. Denied groups
        come first."""
        answers, refuse = self._answers, refuse_describe
        if not self._shares.are_enabled():
            respond(refuse(request, ErrorCode.UNSUPPORTED_VERSION))
            return

        def judged(allowed_and_denied: tuple[list[str], list[str]]) -> None:
            """Collect the descriptions of the allowed groups, and then respond."""
            names, denied = allowed_and_denied

            def described(groups: list[DescribedGroup]) -> None:
                """Respond with the denied groups and these descriptions."""
                steps = _describe_response(context, request, denied, groups)
                answers.give(context, request, steps, respond, refuse)

            describe = self._shares.describe
            answers.gather(context, request, names, describe, described, respond, refuse)

        steps = split_in_slices(
            context.rights, Operation.DESCRIBE, Resource.GROUP, request.group_ids
        )
        answers.judge(context, request, steps, judged, respond, refuse)


def _describe_response(
    context: RequestContext,
    request: ShareGroupDescribeRequest,
    denied: list[str],
    described: list[DescribedGroup],
) -> Steps[ShareGroupDescribeResponse]:
    """Return the denied groups with an error, then the others as far as the client may see them.

    Empties `described`.
    """
    pace, groups = Pace(), Items[DescribedGroup](context.api_version)
    for group_id in denied:
        if pace.is_full():
            yield None
        groups.add(_group_with_error(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    for group in drained(described):
        if pace.is_full(DESCRIBED):
            yield None
        shown = _visible_group(context.rights, group, request.include_authorized_operations)
        members = Items[Member](context.api_version)
        for member in shown.members:
            pieces = _pieces_of(member)
            if pace.is_full(pieces):
                yield None
            members.add(member, pieces)
        shown.members = members.array()
        groups.add(shown, 1 + members.pieces)
    return ShareGroupDescribeResponse(groups=groups.array())


def _visible_group(rights: Rights, group: DescribedGroup, operations: bool) -> DescribedGroup:
    """Return `group`, with its authorized operations if `operations`.

    A client that may not DESCRIBE each of the assigned topics gets an error instead. A group with
    an error is returned as it is.
    """
    group.authorized_operations = OPERATIONS_NOT_ASKED
    if group.error_code != ErrorCode.NONE:
        return group
    if not rights.unlimited:
        topics = _topics_of(group)
        described = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics)
        if any(topic not in described for topic in topics):
            return _group_with_error(
                group.group_id,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                "The group has described topic(s) that the client is not authorized to describe.",
            )
    if operations:
        group.authorized_operations = rights.operations(Resource.GROUP, group.group_id)
    return group


def _pieces_of(member: Member) -> int:
    """Return the pieces of work (`Pace`) that a described member counts as."""
    name_pieces = len(member.subscribed_topic_names) // NAMES_A_PIECE
    return 2 + name_pieces + len(member.assignment.topic_partitions)


def _topics_of(group: DescribedGroup) -> list[str]:
    """Return the topics of the members' assignments, each once."""
    names: dict[str, None] = {}
    for member in group.members:
        names.update((topic.topic_name, None) for topic in member.assignment.topic_partitions)
    return list(names)


def _group_with_error(
    group_id: str, error: ErrorCode, message: str | None = None
) -> DescribedGroup:
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        authorized_operations=OPERATIONS_NOT_ASKED,
    )


def refuse_heartbeat(
    _request: ShareGroupHeartbeatRequest, code: ErrorCode
) -> ShareGroupHeartbeatResponse:
    """Return a response with `code`."""
    return refused(ApiError(code)).response


def refuse_describe(
    request: ShareGroupDescribeRequest, code: ErrorCode
) -> ShareGroupDescribeResponse:
    """Return a response with `code` for every group."""
    return ShareGroupDescribeResponse(
        groups=[DescribedGroup(error_code=code, group_id=name) for name in request.group_ids]
    )

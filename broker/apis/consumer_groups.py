"""ConsumerGroupHeartbeat v0-1, ConsumerGroupDescribe v0-1: groups of the consumer protocol.

Behaviour: see `broker.groups.consumer` (KIP-848). If `group.version` is 0, or
`group.coordinator.rebalance.protocols` does not contain `consumer`, both fail with
UNSUPPORTED_VERSION but stay in ApiVersions.

Rights: ConsumerGroupHeartbeat needs READ on the group (GROUP_AUTHORIZATION_FAILED) and DESCRIBE on
each topic that it names (TOPIC_AUTHORIZATION_FAILED, whether the topic exists or not). Topics that
match its regular expression are left out if the client may not DESCRIBE them. ConsumerGroupDescribe
needs DESCRIBE on the group, and on each topic in a member's current or target assignment; otherwise
the group is answered with an error only.

Versions: ConsumerGroupHeartbeat v1 regular expressions, and member ids made by clients (KIP-1082).
ConsumerGroupDescribe v1 member types (KIP-1099).
"""

from __future__ import annotations

from functools import partial

from broker.apis.cluster_view import OPERATIONS_NOT_ASKED
from broker.apis.prepared_heartbeat import PreparedHeartbeat, prepare_heartbeat
from broker.groups.consumer.heartbeat import refusal
from broker.groups.consumer.membership import Beat, HeartbeatSender
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import split_in_slices
from ground.sliced_work import Pace, Steps, drained
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ApiError, ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
)
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

DESCRIBED = 8
"""The pieces of work (`Pace`) that one described group counts as, without its members."""
NAMES_A_PIECE = 8
"""The subscribed topic names that count as one piece of work."""


class ConsumerGroupsApi:
    """The handlers of the two APIs, which pass requests on to the group coordinator."""

    def __init__(self, coordinator: GroupCoordinator, answers: SlicedAnswers) -> None:
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, self.heartbeat, prepare=self.prepare),
            Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, self.describe, refuse_describe),
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

    def describe(
        self, context: RequestContext, request: ConsumerGroupDescribeRequest, respond: Respond
    ) -> None:
        """Respond with each group's description from the coordinator, or its error. Denied groups
        come first."""
        answers, refuse = self._answers, refuse_describe

        def judged(allowed_and_denied: tuple[list[str], list[str]]) -> None:
            """Collect the descriptions of the allowed groups, and then respond."""
            names, denied = allowed_and_denied

            def described(groups: list[DescribedGroup]) -> None:
                """Respond with the denied groups and these descriptions."""
                steps = self._describe_response(context, request, denied, groups)
                answers.give(context, request, steps, respond, refuse)

            describe = self._coordinator.describe_consumers
            answers.gather(context, request, names, describe, described, respond, refuse)

        steps = split_in_slices(
            context.rights, Operation.DESCRIBE, Resource.GROUP, request.group_ids
        )
        answers.judge(context, request, steps, judged, respond, refuse)

    def _describe_response(
        self,
        context: RequestContext,
        request: ConsumerGroupDescribeRequest,
        denied: list[str],
        described: list[DescribedGroup],
    ) -> Steps[ConsumerGroupDescribeResponse]:
        """Return the denied groups with an error, then the others as far as the client may see
        them.

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
            shown = self._visible_group(
                context.rights, group, request.include_authorized_operations
            )
            members = Items[Member](context.api_version)
            for member in shown.members:
                pieces = _pieces_of(member)
                if pace.is_full(pieces):
                    yield None
                members.add(member, pieces)
            shown.members = members.array()
            groups.add(shown, 1 + members.pieces)
        return ConsumerGroupDescribeResponse(groups=groups.array())

    def _visible_group(
        self, rights: Rights, group: DescribedGroup, operations: bool
    ) -> DescribedGroup:
        """Return `group`, with its authorized operations if `operations`.

        A client that may not DESCRIBE each of the group's topics gets an error instead. A group
        with an error is returned as it is.
        """
        group.authorized_operations = OPERATIONS_NOT_ASKED
        if group.error_code != ErrorCode.NONE:
            return group
        topics = _topics_of(group)
        if not rights.unlimited:
            described = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics)
            if any(topic not in described for topic in topics):
                return _group_with_error(
                    group.group_id,
                    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                    "The group has described topic(s) that the client is not authorized to "
                    "describe.",
                )
        if operations:
            group.authorized_operations = rights.operations(Resource.GROUP, group.group_id)
        return group


def _client_of(context: RequestContext) -> tuple[str, str]:
    """Return the client id and host in the form that the group stores."""
    # Java prints an address without a host name in this form, and Kafka's tools show it.
    return context.client_id or "", f"/{context.client_host}"


def _pieces_of(member: Member) -> int:
    """Return the pieces of work (`Pace`) that a described member counts as."""
    current, target = member.assignment, member.target_assignment
    name_pieces = len(member.subscribed_topic_names) // NAMES_A_PIECE
    return 3 + name_pieces + len(current.topic_partitions) + len(target.topic_partitions)


def _topics_of(group: DescribedGroup) -> list[str]:
    """Return the topics of the members' current and target assignments, each once."""
    names: dict[str, None] = {}
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            names.update((topic.topic_name, None) for topic in assignment.topic_partitions)
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


def _refuse_heartbeat(
    _request: ConsumerGroupHeartbeatRequest, code: ErrorCode
) -> ConsumerGroupHeartbeatResponse:
    return refusal(ApiError(code))


def refuse_describe(
    request: ConsumerGroupDescribeRequest, code: ErrorCode
) -> ConsumerGroupDescribeResponse:
    """Return a response with `code` for every group."""
    return ConsumerGroupDescribeResponse(
        groups=[DescribedGroup(error_code=code, group_id=name) for name in request.group_ids]
    )

"""The Describe APIs of groups with a group epoch: ConsumerGroupDescribe, ShareGroupDescribe.

Owns the answer, which is built in slices, and the rights. Never knows how a group is described: the
group coordinator does.

Rights: DESCRIBE on the group (GROUP_AUTHORIZATION_FAILED), and on each topic that a member is
assigned (TOPIC_AUTHORIZATION_FAILED); otherwise the group is answered with an error only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from broker.apis.cluster_view import OPERATIONS_NOT_ASKED
from broker.requests.context import RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import split_in_slices
from ground.sliced_work import Pace, Steps, drained
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items

if TYPE_CHECKING:
    from protocol.messages import consumer_group_describe, share_group_describe
    from protocol.messages.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
    )
    from protocol.messages.share_group_describe import (
        ShareGroupDescribeRequest,
        ShareGroupDescribeResponse,
    )

DESCRIBED = 8
"""The pieces of work (`Pace`) that one described group counts as, without its members."""
NAMES_A_PIECE = 8
"""The subscribed topic names that count as one piece of work."""

DescribeRequest: TypeAlias = "ConsumerGroupDescribeRequest | ShareGroupDescribeRequest"
DescribeResponse: TypeAlias = "ConsumerGroupDescribeResponse | ShareGroupDescribeResponse"
Assignment: TypeAlias = "consumer_group_describe.Assignment | share_group_describe.Assignment"
M = TypeVar("M")


class DescribedGroup(Protocol[M]):
    """A group in a response."""

    group_id: str
    error_code: int
    members: list[M]
    authorized_operations: int


class Subscriber(Protocol):
    """A described member that subscribes to topics."""

    subscribed_topic_names: list[str]


S = TypeVar("S", bound=Subscriber)


class DescribedType(NamedTuple, Generic[M]):
    """The message classes and the members of a type of groups."""

    group: Callable[..., DescribedGroup[M]]
    """The class of a group in the response."""
    response: Callable[..., DescribeResponse]
    """The class of the response."""
    topics_of: Callable[[DescribedGroup[M]], Sequence[str]]
    """Returns the topics of a described group that the client must be allowed to DESCRIBE."""
    pieces_of: Callable[[M], int]
    """Returns the pieces of work (`Pace`) that a described member counts as."""


class DescribedGroups(Generic[M]):
    """The handler of the Describe API of a type of groups."""

    def __init__(
        self,
        type_: DescribedType[M],
        describe: Callable[[str, Callable[[DescribedGroup[M]], None]], None],
        answers: SlicedAnswers,
    ) -> None:
        """`describe(group_id, take)` asks the coordinator for a group; `take` gets its
        description."""
        self._type = type_
        self._describe = describe
        self._answers = answers

    def handle(self, context: RequestContext, request: DescribeRequest, respond: Respond) -> None:
        """Respond with each group's description from the coordinator, or its error. Denied groups
        come first."""
        answers = self._answers

        def judged(allowed_and_denied: tuple[list[str], list[str]]) -> None:
            """Collect the descriptions of the allowed groups, and then respond."""
            names, denied = allowed_and_denied

            def described(groups: list[DescribedGroup[M]]) -> None:
                """Respond with the denied groups and these descriptions."""
                steps = self._response(context, request, denied, groups)
                answers.give(context, request, steps, respond, self.refuse)

            answers.gather(context, request, names, self._describe, described, respond, self.refuse)

        steps = split_in_slices(
            context.rights, Operation.DESCRIBE, Resource.GROUP, request.group_ids
        )
        answers.judge(context, request, steps, judged, respond, self.refuse)

    def refuse(self, request: DescribeRequest, code: ErrorCode) -> DescribeResponse:
        """Return a response with `code` for every group."""
        groups = [self._type.group(error_code=code, group_id=name) for name in request.group_ids]
        return self._type.response(groups=groups)

    def _response(
        self,
        context: RequestContext,
        request: DescribeRequest,
        denied: list[str],
        described: list[DescribedGroup[M]],
    ) -> Steps[DescribeResponse]:
        """Return the denied groups with an error, then the others as far as the client may see
        them.

        Empties `described`.
        """
        pace, groups = Pace(), Items[Any](context.api_version)
        for group_id in denied:
            if pace.is_full():
                yield None
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            groups.add(self._type.group(error_code=error, group_id=group_id))
        for group in drained(described):
            if pace.is_full(DESCRIBED):
                yield None
            shown = self._visible(context.rights, group, request.include_authorized_operations)
            members = Items[Any](context.api_version)
            for member in shown.members:
                pieces = self._type.pieces_of(member)
                if pace.is_full(pieces):
                    yield None
                members.add(member, pieces)
            shown.members = members.array()
            groups.add(shown, 1 + members.pieces)
        return self._type.response(groups=groups.array())

    def _visible(
        self, rights: Rights, group: DescribedGroup[M], operations: bool
    ) -> DescribedGroup[M]:
        """Return `group`, with its authorized operations if `operations`.

        A client that may not DESCRIBE each of the group's topics gets an error instead. A group
        with an error is returned as it is.
        """
        group.authorized_operations = OPERATIONS_NOT_ASKED
        if group.error_code != ErrorCode.NONE:
            return group
        if not rights.unlimited:
            topics = self._type.topics_of(group)
            described = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics)
            if any(topic not in described for topic in topics):
                return self._type.group(
                    error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                    error_message="The group has described topic(s) that the client is not "
                    "authorized to describe.",
                    group_id=group.group_id,
                )
        if operations:
            group.authorized_operations = rights.operations(Resource.GROUP, group.group_id)
        return group


def type_with_assignments(
    group: Callable[..., DescribedGroup[S]],
    response: Callable[..., DescribeResponse],
    assignments_of: Callable[[S], Sequence[Assignment]],
) -> DescribedType[S]:
    """Return the type of groups whose members have assignments of topic partitions, which
    `assignments_of` returns for a described member."""

    def topics_of(described: DescribedGroup[S]) -> list[str]:
        """Return the topics of the members' assignments, each once."""
        names: dict[str, None] = {}
        for member in described.members:
            for assignment in assignments_of(member):
                names.update((topic.topic_name, None) for topic in assignment.topic_partitions)
        return list(names)

    def pieces_of(member: S) -> int:
        """Return a piece for the member, one for each assignment and topic in it, and those of the
        subscribed names."""
        assignments = assignments_of(member)
        topics = sum(len(assignment.topic_partitions) for assignment in assignments)
        return 1 + len(assignments) + topics + len(member.subscribed_topic_names) // NAMES_A_PIECE

    return DescribedType(group, response, topics_of, pieces_of)

"""DescribeShareGroupOffsets v0-1, AlterShareGroupOffsets v0, DeleteShareGroupOffsets v0.

Behaviour: the offsets of a share group are the start offsets of its share-partitions, which the
share coordinator has (KIP-932). Alter and Delete need a group without members. A partition without
an offset is described with the start offset -1, not with an error. If `share.version` is 0, all
three fail with UNSUPPORTED_VERSION but stay in ApiVersions.

Rights: Describe needs DESCRIBE on the group and on each topic, Alter READ on both, Delete DELETE on
the group and READ on each topic. The errors are GROUP_AUTHORIZATION_FAILED for the whole group, and
TOPIC_AUTHORIZATION_FAILED for each partition or topic, whether it exists or not. If all topics are
described, those that the client may not DESCRIBE are left out.

Versions: DescribeShareGroupOffsets v1 lag (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Protocol, TypeVar

from broker.apis.cluster_view import ImageSource
from broker.groups.group_coordinator import GroupCoordinator
from broker.groups.share.error_texts import text_of
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.metadata.image import TopicsImage
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.message import replace
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)


class NamedTopic(Protocol):
    """A topic in a request or an answer."""

    topic_name: str


T = TypeVar("T", bound=NamedTopic)

NO_OFFSET = -1
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_Described = tuple[
    DescribeShareGroupOffsetsResponseGroup, list[DescribeShareGroupOffsetsRequestTopic]
]
"""A group's answer from the coordinator, and the topics that the client may not describe."""


class ShareGroupOffsetsApi:
    """The handlers of the three APIs, which pass requests on to the group coordinator."""

    def __init__(
        self, metadata: ImageSource, coordinator: GroupCoordinator, answers: SlicedAnswers
    ) -> None:
        self._metadata = metadata
        self._shares = coordinator.shares
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1, self.describe, refuse_describe),
            Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, self.alter, refuse_alter),
            Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, self.delete, refuse_delete),
        ]

    # -- DescribeShareGroupOffsets -------------------------------------------------------------

    def describe(
        self, context: RequestContext, request: DescribeShareGroupOffsetsRequest, respond: Respond
    ) -> None:
        """Respond with the start offsets and lags of each group, or its error."""
        if not self._shares.are_enabled():
            respond(refuse_describe(request, ErrorCode.UNSUPPORTED_VERSION))
            return

        def ask(
            group: DescribeShareGroupOffsetsRequestGroup, take: Callable[[_Described], None]
        ) -> None:
            """Call `take` with the coordinator's answer for a group."""
            rights, group_id = context.rights, group.group_id
            if not rights.allows(Operation.DESCRIBE, Resource.GROUP, group_id):
                take((_group_with_error(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED), []))
                return
            if not group.topics:
                self._describe_group(group, [], take)
                return
            steps = _split(rights, Operation.DESCRIBE, group.topics)

            def judged(
                topics: tuple[
                    list[DescribeShareGroupOffsetsRequestTopic],
                    list[DescribeShareGroupOffsetsRequestTopic],
                ],
            ) -> None:
                """Describe the allowed topics."""
                allowed, denied = topics
                self._describe_group(replace(group, topics=allowed), denied, take)

            self._answers.judge(context, request, steps, judged, respond, refuse_describe)

        def gathered(groups: list[_Described]) -> None:
            """Respond with all groups."""
            steps = _describe_response(context, request, groups)
            self._answers.give(context, request, steps, respond, refuse_describe)

        self._answers.gather(
            context, request, request.groups, ask, gathered, respond, refuse_describe
        )

    def _describe_group(
        self,
        group: DescribeShareGroupOffsetsRequestGroup,
        denied: list[DescribeShareGroupOffsetsRequestTopic],
        take: Callable[[_Described], None],
    ) -> None:
        """Call `take` with the coordinator's answer for a group, and with its denied topics."""
        if group.topics is not None and not group.topics and not denied:
            take((DescribeShareGroupOffsetsResponseGroup(group.group_id), []))
            return
        self._shares.describe_offsets(group, lambda answer: take((answer, denied)))

    # -- AlterShareGroupOffsets ----------------------------------------------------------------

    def alter(
        self, context: RequestContext, request: AlterShareGroupOffsetsRequest, respond: Respond
    ) -> None:
        """Let the coordinator give the allowed partitions other start offsets, and respond with an
        answer for each partition."""
        error = self._error(context, Operation.READ, request.group_id)
        if error is not ErrorCode.NONE:
            respond(refuse_alter(request, error))
            return

        def judged(judgement: _Alterable) -> None:
            """Pass the allowed topics to the coordinator."""
            topics, refused = judgement

            def altered(response: AlterShareGroupOffsetsResponse) -> None:
                """Respond with the refused topics, then with the coordinator's answers. An error
                for all is the whole response."""
                if response.error_code == ErrorCode.NONE:
                    response.responses = [*refused, *response.responses]
                steps = _alter_response(context, response)
                self._answers.give(context, request, steps, respond, refuse_alter)

            self._shares.alter_offsets(replace(request, topics=topics), altered)

        steps = _alterable(context.rights, request, self._metadata.image.topics)
        self._answers.judge(context, request, steps, judged, respond, refuse_alter)

    # -- DeleteShareGroupOffsets ---------------------------------------------------------------

    def delete(
        self, context: RequestContext, request: DeleteShareGroupOffsetsRequest, respond: Respond
    ) -> None:
        """Let the coordinator delete the offsets of the allowed topics, and respond with an answer
        for each topic."""
        error = self._error(context, Operation.DELETE, request.group_id)
        if error is not ErrorCode.NONE:
            respond(refuse_delete(request, error))
            return

        def judged(
            topics: tuple[
                list[DeleteShareGroupOffsetsRequestTopic],
                list[DeleteShareGroupOffsetsRequestTopic],
            ],
        ) -> None:
            """Pass the allowed topics to the coordinator."""
            allowed, denied = topics
            valid = replace(request, topics=allowed)
            self._shares.delete_offsets(valid, partial(self._deleted, respond, denied))

        steps = _split(context.rights, Operation.READ, request.topics)
        self._answers.judge(context, request, steps, judged, respond, refuse_delete)

    def _deleted(
        self,
        respond: Respond,
        denied: list[DeleteShareGroupOffsetsRequestTopic],
        response: DeleteShareGroupOffsetsResponse,
    ) -> None:
        """Respond with the denied topics, then with the coordinator's answers. An error for all is
        the whole response."""
        if response.error_code == ErrorCode.NONE:
            refused = [
                DeleteShareGroupOffsetsResponseTopic(
                    topic.topic_name, error_code=_DENIED, error_message=text_of(_DENIED)
                )
                for topic in denied
            ]
            response.responses = [*refused, *response.responses]
        respond(response)

    def _error(self, context: RequestContext, operation: Operation, group_id: str) -> ErrorCode:
        """Return UNSUPPORTED_VERSION while share groups are not enabled, and
        GROUP_AUTHORIZATION_FAILED without `operation` on the group; else NONE."""
        if not self._shares.are_enabled():
            return ErrorCode.UNSUPPORTED_VERSION
        if not context.rights.allows(operation, Resource.GROUP, group_id):
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
        return ErrorCode.NONE


_Alterable = tuple[
    list[AlterShareGroupOffsetsRequestTopic], list[AlterShareGroupOffsetsResponseTopic]
]
"""The topics for the coordinator, and the answers for the others."""


def _alterable(
    rights: Rights, request: AlterShareGroupOffsetsRequest, topics: TopicsImage
) -> Steps[_Alterable]:
    """Return the topics that exist and that the client may READ, and answers for the others."""
    pace, names = Pace(), [topic.topic_name for topic in request.topics]
    readable = yield from allowed_in_slices(rights, Operation.READ, Resource.TOPIC, names)
    good, refused = list[AlterShareGroupOffsetsRequestTopic](), []
    for topic in request.topics:
        if pace.is_full():
            yield None
        existing = topics.get(topic.topic_name)
        if topic.topic_name not in readable:
            error = _DENIED
        elif existing is None:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            good.append(topic)
            continue
        answer = AlterShareGroupOffsetsResponseTopic(topic.topic_name)
        if existing is not None:
            answer.topic_id = existing.id
        for partition in topic.partitions:
            if pace.is_full():
                yield None
            index = partition.partition_index
            answer.partitions.append(
                AlterShareGroupOffsetsResponsePartition(index, error, text_of(error))
            )
        refused.append(answer)
    return good, refused


def _alter_response(
    context: RequestContext, response: AlterShareGroupOffsetsResponse
) -> Steps[AlterShareGroupOffsetsResponse]:
    """Return the response with its topics encoded in slices."""
    pace, topics = Pace(), Items[AlterShareGroupOffsetsResponseTopic](context.api_version)
    for topic in response.responses:
        if pace.is_full(1 + len(topic.partitions)):
            yield None
        topics.add(topic, 1 + len(topic.partitions))
    response.responses = topics.array()
    return response


def _split(rights: Rights, operation: Operation, topics: list[T]) -> Steps[tuple[list[T], list[T]]]:
    """Return those topics on which `operation` is allowed, and the others."""
    names = [topic.topic_name for topic in topics]
    allowed = yield from allowed_in_slices(rights, operation, Resource.TOPIC, names)
    pace, split = Pace(), (list[T](), list[T]())
    for topic in topics:
        if pace.is_full():
            yield None
        split[topic.topic_name not in allowed].append(topic)
    return split


def _describe_response(
    context: RequestContext,
    request: DescribeShareGroupOffsetsRequest,
    described: list[_Described],
) -> Steps[DescribeShareGroupOffsetsResponse]:
    """Return all groups: of those whose topics were not named, the topics that the client may
    DESCRIBE; of others, the denied topics last."""
    pace, version = Pace(), context.api_version
    groups = Items[DescribeShareGroupOffsetsResponseGroup](version)
    for asked, (group, denied) in zip(request.groups, described, strict=True):
        shown = group.topics
        if asked.topics is None:
            shown, _ = yield from _split(context.rights, Operation.DESCRIBE, shown)
        refused = (_denied_topic(topic) for topic in denied if group.error_code == ErrorCode.NONE)
        topics = Items[DescribeShareGroupOffsetsResponseTopic](version)
        for topic in chain(shown, refused):
            if pace.is_full(1 + len(topic.partitions)):
                yield None
            topics.add(topic, 1 + len(topic.partitions))
        group.topics = topics.array()
        groups.add(group, 1 + topics.pieces)
    return DescribeShareGroupOffsetsResponse(groups=groups.array())


def _denied_topic(
    topic: DescribeShareGroupOffsetsRequestTopic,
) -> DescribeShareGroupOffsetsResponseTopic:
    """Return a topic with TOPIC_AUTHORIZATION_FAILED for each of its partitions."""
    return DescribeShareGroupOffsetsResponseTopic(
        topic.topic_name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                index, NO_OFFSET, error_code=_DENIED, error_message=text_of(_DENIED)
            )
            for index in topic.partitions
        ],
    )


def _group_with_error(group_id: str, error: ErrorCode) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(group_id, error_code=error)


def refuse_describe(
    request: DescribeShareGroupOffsetsRequest, code: ErrorCode
) -> DescribeShareGroupOffsetsResponse:
    """Return a response with `code` for every group."""
    return DescribeShareGroupOffsetsResponse(
        groups=[_group_with_error(group.group_id, code) for group in request.groups]
    )


def refuse_alter(
    _request: AlterShareGroupOffsetsRequest, code: ErrorCode
) -> AlterShareGroupOffsetsResponse:
    """Return a response with `code` for the whole request."""
    return AlterShareGroupOffsetsResponse(0, code, text_of(code))


def refuse_delete(
    _request: DeleteShareGroupOffsetsRequest, code: ErrorCode
) -> DeleteShareGroupOffsetsResponse:
    """Return a response with `code` for the whole request."""
    return DeleteShareGroupOffsetsResponse(0, code, text_of(code))

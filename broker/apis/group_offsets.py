"""OffsetCommit v2-10, OffsetFetch v1-10, OffsetDelete v0: the offsets of groups.

Behaviour: topics and partitions are looked up first, each with its own error; the rest goes to the
group coordinator. A commit is answered when it is committed in `__consumer_offsets`.

OffsetCommit needs READ of the group and of each topic, OffsetFetch DESCRIBE of both, OffsetDelete
DELETE of the group and READ of each topic: GROUP_AUTHORIZATION_FAILED for all of the group,
TOPIC_AUTHORIZATION_FAILED for each partition of a topic, whether there is one or not. Where all
topics are asked for, those that the client may not DESCRIBE are left out.

Versions: OffsetCommit v2-4 retention time, v6 leader epochs, v7 static members, v8 flexible, v9
GROUP_ID_NOT_FOUND and member epochs (KIP-848), v10 topic ids. OffsetFetch v2 top-level error and
null for all topics, v5 leader epochs, v6 flexible, v7 require stable (KIP-447), v8 several groups
(KIP-709), v9 member epochs, v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from broker.apis.cluster_view import ImageSource
from broker.apis.told_offsets import SEVERAL_GROUPS_FROM, TOPIC_IDS_FROM, ToldOffsets
from broker.groups.fetched_offsets import FetchedOffsets, Wanted
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message import replace
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from storage.log.sliced_work import PIECES_AT_ONCE, Pace, Steps

TOP_LEVEL_ERROR_FROM = 2
GROUPS_AT_ONCE = 16
"""Whose offsets are looked up in one slice: PIECES_AT_ONCE of each at most."""
_Fetched = FetchedOffsets | ErrorCode


class GroupOffsetsApi:
    """Commits, reads and deletes offsets."""

    def __init__(
        self, metadata: ImageSource, coordinator: GroupCoordinator, answers: SlicedAnswers
    ) -> None:
        self._metadata = metadata
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        """The three APIs with their ranges."""
        return [
            Api(ApiKey.OFFSET_COMMIT, 2, 10, self.commit, refuse_commit),
            Api(ApiKey.OFFSET_FETCH, 1, 10, self.fetch, refuse_fetch),
            Api(ApiKey.OFFSET_DELETE, 0, 0, self.delete),
        ]

    # -- OffsetCommit --------------------------------------------------------------------------

    def commit(
        self, context: RequestContext, request: OffsetCommitRequest, respond: Respond
    ) -> None:
        """OffsetCommit."""
        if not context.rights.allows(Operation.READ, Resource.GROUP, request.group_id):
            respond(refuse_commit(request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
            return
        known: list[OffsetCommitRequestTopic] = []
        answers: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}
        for topic, error in self._judged(context, request.topics):
            there = () if error else self._partitions(topic.name)
            code = error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            good = [one for one in topic.partitions if one.partition_index in there]
            if len(good) < len(topic.partitions):
                bad = [
                    OffsetCommitResponsePartition(one.partition_index, code)
                    for one in topic.partitions
                    if one.partition_index not in there
                ]
                _merge(answers, OffsetCommitResponseTopic(topic.name, topic.topic_id, bad))
            if good:
                known.append(replace(topic, partitions=good))

        committed = partial(_answer_commit, respond, answers, known)
        if known:
            self._coordinator.commit_offsets(
                replace(request, topics=known), context.api_version, committed
            )
        else:
            committed(ErrorCode.NONE, [])

    def _judged(
        self, context: RequestContext, topics: list[OffsetCommitRequestTopic]
    ) -> list[tuple[OffsetCommitRequestTopic, ErrorCode]]:
        """Each topic as `_named`, where the client may read it."""
        found = [self._named(topic, context.api_version >= TOPIC_IDS_FROM) for topic in topics]
        if context.rights.unlimited:
            return found
        names = [topic.name for topic, error in found if error is not ErrorCode.UNKNOWN_TOPIC_ID]
        denied = set(names) - context.rights.allowed(Operation.READ, Resource.TOPIC, names)
        return [
            (topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED if topic.name in denied else error)
            for topic, error in found
        ]

    def _named(
        self, topic: OffsetCommitRequestTopic, by_id: bool
    ) -> tuple[OffsetCommitRequestTopic, ErrorCode]:
        """The topic with both its name and its id, as far as they are known."""
        topics = self._metadata.image.topics
        if by_id:
            found = topics.get_by_id(topic.topic_id)
            if found is None:
                return topic, ErrorCode.UNKNOWN_TOPIC_ID
            return replace(topic, name=found.name), ErrorCode.NONE
        found = topics.get(topic.name)
        if found is None:
            return topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return replace(topic, topic_id=found.id), ErrorCode.NONE

    def _partitions(self, topic: str) -> Container[int]:
        """Which there are of a topic."""
        known = self._metadata.image.topics.get(topic)
        return () if known is None else known.partitions

    # -- OffsetFetch ---------------------------------------------------------------------------

    def fetch(self, context: RequestContext, request: OffsetFetchRequest, respond: Respond) -> None:
        """OffsetFetch; from v8 on of several groups, answered together."""
        groups, rights = _asked_groups(context.api_version, request), context.rights

        def ask(group: OffsetFetchRequestGroup, told: Callable[[_Fetched], None]) -> None:
            if rights.allows(Operation.DESCRIBE, Resource.GROUP, group.group_id):
                wanted = self._wanted(group, context.api_version)
                self._coordinator.fetch_offsets(group, wanted, request.require_stable, told)
            else:
                told(ErrorCode.GROUP_AUTHORIZATION_FAILED)

        def fetched(found: list[_Fetched]) -> None:
            steps = self._fetched(context, request, groups, found)
            self._answers.give(context, request, steps, respond, refuse_fetch)

        self._answers.gather(
            context, request, groups, ask, fetched, respond, refuse_fetch, GROUPS_AT_ONCE
        )

    def _wanted(self, group: OffsetFetchRequestGroup, version: int) -> Wanted | None:
        """What is to be looked up; all that the group has, where that is less work."""
        wanted: Wanted = []
        count = 0
        for topic in group.topics or ():
            count += 1 + len(topic.partition_indexes)
            if count > PIECES_AT_ONCE:
                return None
            name = topic.name if version < TOPIC_IDS_FROM else self._name_of(topic)
            wanted.append((name, topic.partition_indexes))
        return None if group.topics is None else wanted

    def _name_of(self, topic: OffsetFetchRequestTopics) -> str:
        """Empty where there is no such topic."""
        found = self._metadata.image.topics.get_by_id(topic.topic_id)
        return "" if found is None else found.name

    def _fetched(
        self,
        context: RequestContext,
        request: OffsetFetchRequest,
        groups: list[OffsetFetchRequestGroup],
        found: list[_Fetched],
    ) -> Steps[OffsetFetchResponse]:
        """The answer for all groups, as of the moment when each was `found`."""
        version, told = context.api_version, list[OffsetFetchResponseGroup]()
        image, pace = self._metadata.image, Pace()
        for group, offsets in zip(groups, found, strict=True):
            if pace.is_full():
                yield None
            if isinstance(offsets, ErrorCode):
                told.append(OffsetFetchResponseGroup(group.group_id, [], int(offsets)))
                continue
            telling = ToldOffsets(context, offsets, image)
            asked = group.topics
            yield from telling.all() if asked is None else telling.some(asked)
            topics: Any = telling.topics.array()  # of the class that this version has
            told.append(OffsetFetchResponseGroup(group.group_id, topics))
        if version >= SEVERAL_GROUPS_FROM:
            return OffsetFetchResponse(groups=told)
        (answer,) = told
        if answer.error_code and version < TOP_LEVEL_ERROR_FROM:
            return refuse_fetch(request, ErrorCode(answer.error_code))
        topics = answer.topics
        return OffsetFetchResponse(topics=topics, error_code=answer.error_code)

    # -- OffsetDelete --------------------------------------------------------------------------

    def delete(
        self, context: RequestContext, request: OffsetDeleteRequest, respond: Respond
    ) -> None:
        """OffsetDelete."""
        if not context.rights.allows(Operation.DELETE, Resource.GROUP, request.group_id):
            respond(OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
            return
        names = [topic.name for topic in request.topics]
        readable = context.rights.allowed(Operation.READ, Resource.TOPIC, names)
        known: list[OffsetDeleteRequestTopic] = []
        answers: dict[str, OffsetDeleteResponseTopic] = {}
        for topic in request.topics:
            there = self._partitions(topic.name) if topic.name in readable else ()
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if topic.name not in readable:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            good = []
            for partition in topic.partitions:
                index = partition.partition_index
                if index in there:
                    good.append(partition)
                else:
                    answer = answers.setdefault(topic.name, OffsetDeleteResponseTopic(topic.name))
                    answer.partitions.append(OffsetDeleteResponsePartition(index, error))
            if good:
                known.append(OffsetDeleteRequestTopic(topic.name, good))

        # Asked even when no partition is left: the group's own error comes first.
        deleted = partial(_answer_delete, respond, answers)
        self._coordinator.delete_offsets(replace(request, topics=known), deleted)


def refuse_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """`code` for every partition."""
    return OffsetCommitResponse(topics=_refused_topics(request.topics, code))


def refuse_fetch(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """`code` everywhere that some version looks for it."""
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(index, -1, -1, "", code)
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or []
    ]
    groups = [OffsetFetchResponseGroup(group.group_id, [], code) for group in request.groups]
    return OffsetFetchResponse(topics=topics, error_code=code, groups=groups)


def _asked_groups(version: int, request: OffsetFetchRequest) -> list[OffsetFetchRequestGroup]:
    if version >= SEVERAL_GROUPS_FROM:
        return request.groups
    topics: Any = request.topics  # of the class that these versions have
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _answer_commit(
    respond: Respond,
    answers: dict[tuple[str, bytes], OffsetCommitResponseTopic],
    known: list[OffsetCommitRequestTopic],
    error: ErrorCode,
    topics: list[OffsetCommitResponseTopic],
) -> None:
    """The coordinator has answered for the `known` topics, with `error` for all or `topics`."""
    if error is not ErrorCode.NONE:
        topics = _refused_topics(known, error)
    for topic in topics:
        _merge(answers, topic)
    respond(OffsetCommitResponse(topics=list(answers.values())))


def _answer_delete(
    respond: Respond,
    answers: dict[str, OffsetDeleteResponseTopic],
    response: OffsetDeleteResponse,
) -> None:
    if response.error_code == ErrorCode.NONE:
        for topic in response.topics:
            answer = answers.setdefault(topic.name, OffsetDeleteResponseTopic(topic.name))
            answer.partitions += topic.partitions
        response.topics = list(answers.values())
    respond(response)


def _refused_topics(
    topics: list[OffsetCommitRequestTopic], error: ErrorCode
) -> list[OffsetCommitResponseTopic]:
    return [
        OffsetCommitResponseTopic(
            topic.name,
            topic.topic_id,
            [OffsetCommitResponsePartition(p.partition_index, error) for p in topic.partitions],
        )
        for topic in topics
    ]


def _merge(
    answers: dict[tuple[str, bytes], OffsetCommitResponseTopic], topic: OffsetCommitResponseTopic
) -> None:
    answer = answers.setdefault(
        (topic.name, topic.topic_id), OffsetCommitResponseTopic(topic.name, topic.topic_id)
    )
    answer.partitions += topic.partitions

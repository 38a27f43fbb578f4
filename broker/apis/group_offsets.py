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

from collections.abc import Callable, Sequence
from functools import partial

from broker.apis.cluster_view import ImageSource
from broker.groups.group_coordinator import GroupCoordinator
from broker.groups.offset_store import no_offset
from broker.requests.context import Api, RequestContext, Respond
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
    OffsetFetchResponseTopics,
)
from protocol.primitives import ZERO_UUID
from protocol.rights import Rights

TOPIC_IDS_FROM = 10
TOP_LEVEL_ERROR_FROM = 2
SEVERAL_GROUPS_FROM = 8


class GroupOffsetsApi:
    """Commits, reads and deletes offsets."""

    def __init__(self, metadata: ImageSource, coordinator: GroupCoordinator) -> None:
        self._metadata = metadata
        self._coordinator = coordinator

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
            good = []
            bad = []
            for partition in topic.partitions:
                code = error or self._partition_error(topic.name, partition.partition_index)
                if code is ErrorCode.NONE:
                    good.append(partition)
                else:
                    bad.append(OffsetCommitResponsePartition(partition.partition_index, code))
            if bad:
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

    def _partition_error(self, topic: str, partition: int) -> ErrorCode:
        if self._metadata.image.topics.partition(topic, partition) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    # -- OffsetFetch ---------------------------------------------------------------------------

    def fetch(self, context: RequestContext, request: OffsetFetchRequest, respond: Respond) -> None:
        """OffsetFetch; from v8 on of several groups, answered together."""
        if context.api_version < SEVERAL_GROUPS_FROM:
            self._fetch_one(context, request, respond)
            return
        if not request.groups:
            respond(OffsetFetchResponse())
        answers: dict[int, OffsetFetchResponseGroup] = {}
        for index, group in enumerate(request.groups):
            fetched = partial(_answer_groups, respond, answers, len(request.groups), index)
            self._fetch_group(context, group, request.require_stable, fetched)

    def _fetch_one(
        self, context: RequestContext, request: OffsetFetchRequest, respond: Respond
    ) -> None:
        topics = request.topics
        group = OffsetFetchRequestGroup(
            group_id=request.group_id,
            topics=None
            if topics is None
            else [
                OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
                for t in topics
            ],
        )

        fetched = partial(_answer_one, respond, context.api_version, request)
        self._fetch_group(context, group, request.require_stable, fetched)

    def _fetch_group(
        self,
        context: RequestContext,
        group: OffsetFetchRequestGroup,
        require_stable: bool,
        fetched: Callable[[OffsetFetchResponseGroup], None],
    ) -> None:
        rights = context.rights
        if not rights.allows(Operation.DESCRIBE, Resource.GROUP, group.group_id):
            denied = int(ErrorCode.GROUP_AUTHORIZATION_FAILED)
            fetched(OffsetFetchResponseGroup(group.group_id, [], denied))
            return
        by_id = context.api_version >= TOPIC_IDS_FROM
        all_topics = group.topics is None
        refused: list[OffsetFetchResponseTopics] = []
        if not all_topics and (by_id or not rights.unlimited):
            group, refused = self._resolve(rights, group, by_id)

        def complete(answer: OffsetFetchResponseGroup) -> None:
            if answer.error_code == ErrorCode.NONE:
                topics = answer.topics
                if all_topics and not rights.unlimited:
                    shown = _described(rights, topics)
                    topics = [one for one in topics if one.name in shown]
                answer.topics = [*self._with_ids(topics, by_id), *refused]
            fetched(answer)

        self._coordinator.fetch_offsets(group, require_stable, complete)

    def _resolve(
        self, rights: Rights, group: OffsetFetchRequestGroup, by_id: bool
    ) -> tuple[OffsetFetchRequestGroup, list[OffsetFetchResponseTopics]]:
        """The group's topics with names, as far as the client may know of them; beside them
        TOPIC_AUTHORIZATION_FAILED, and UNKNOWN_TOPIC_ID for those that have none."""
        topics = group.topics or []
        if by_id:
            topics = [self._with_name(topic) for topic in topics]
        shown = _described(rights, [one for one in topics if one.name or not by_id])
        known = []
        refused = []
        for topic in topics:
            if by_id and not topic.name:
                refused.append(_no_offsets(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            elif topic.name not in shown:
                refused.append(_no_offsets(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            else:
                known.append(topic)
        return replace(group, topics=known), refused

    def _with_name(self, topic: OffsetFetchRequestTopics) -> OffsetFetchRequestTopics:
        """Empty where there is no such topic."""
        found = self._metadata.image.topics.get_by_id(topic.topic_id)
        return replace(topic, name="" if found is None else found.name)

    def _with_ids(
        self, topics: list[OffsetFetchResponseTopics], by_id: bool
    ) -> list[OffsetFetchResponseTopics]:
        """Where ids are asked for, topics get theirs; one that is gone has none: left out."""
        if not by_id:
            return topics
        image = self._metadata.image
        named = []
        for topic in topics:
            if topic.topic_id == ZERO_UUID:
                found = image.topics.get(topic.name)
                if found is None:
                    continue
                topic = replace(topic, topic_id=found.id)
            named.append(topic)
        return named

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
            good = []
            for partition in topic.partitions:
                index = partition.partition_index
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                if topic.name in readable:
                    error = self._partition_error(topic.name, index)
                if error is ErrorCode.NONE:
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


def _described(
    rights: Rights, topics: Sequence[OffsetFetchRequestTopics | OffsetFetchResponseTopics]
) -> set[str]:
    """The names of those that the client may know of."""
    return rights.allowed(Operation.DESCRIBE, Resource.TOPIC, [one.name for one in topics])


def _no_offsets(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [no_offset(index, error) for index in topic.partition_indexes]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions)


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


def _answer_groups(
    respond: Respond,
    answers: dict[int, OffsetFetchResponseGroup],
    count: int,
    index: int,
    answer: OffsetFetchResponseGroup,
) -> None:
    """One of several groups has answered; the last one sends the response."""
    answers[index] = answer
    if len(answers) == count:
        respond(OffsetFetchResponse(groups=[answers[one] for one in range(count)]))


def _answer_one(
    respond: Respond, version: int, request: OffsetFetchRequest, answer: OffsetFetchResponseGroup
) -> None:
    if answer.error_code and version < TOP_LEVEL_ERROR_FROM:
        respond(refuse_fetch(request, ErrorCode(answer.error_code)))
    else:
        respond(_single(answer))


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


def _single(answer: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """One group's answer in the form that versions before 8 have."""
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    p.partition_index,
                    p.committed_offset,
                    p.committed_leader_epoch,
                    p.metadata,
                    p.error_code,
                )
                for p in topic.partitions
            ],
        )
        for topic in answer.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=answer.error_code)


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

"""OffsetCommit v2-10, OffsetFetch v1-10, OffsetDelete v0: the offsets of groups.

Behaviour: topics and partitions are looked up first, each with its own error. The group coordinator
gets the valid ones. A commit is answered after it is committed in `__consumer_offsets`.

Rights: OffsetCommit needs READ on the group and on each topic, OffsetFetch DESCRIBE on both,
OffsetDelete DELETE on the group and READ on each topic. The errors are GROUP_AUTHORIZATION_FAILED
for the whole group, and TOPIC_AUTHORIZATION_FAILED for each partition of a topic, whether it exists
or not. If all topics are requested, those that the client may not DESCRIBE are left out.

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
from broker.apis.named_partitions import readable_topics, split_partitions
from broker.apis.offset_fetch_answer import SEVERAL_GROUPS_FROM, TOPIC_IDS_FROM, OffsetFetchAnswer
from broker.groups.fetched_offsets import FetchedOffsets, RequestedPartitions
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, drained, in_one_go
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

TOP_LEVEL_ERROR_FROM = 2
GROUPS_AT_ONCE = 16
"""The most groups whose offsets are looked up in one slice; each counts PIECES_AT_ONCE at most."""
_Fetched = FetchedOffsets | ErrorCode


class GroupOffsetsApi:
    """The handlers of the three APIs."""

    def __init__(
        self, metadata: ImageSource, coordinator: GroupCoordinator, answers: SlicedAnswers
    ) -> None:
        self._metadata = metadata
        self._coordinator = coordinator
        self._answers = answers

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.OFFSET_COMMIT, 2, 10, self.commit, refuse_commit),
            Api(ApiKey.OFFSET_FETCH, 1, 10, self.fetch, refuse_fetch),
            Api(ApiKey.OFFSET_DELETE, 0, 0, self.delete),
        ]

    # -- OffsetCommit --------------------------------------------------------------------------

    def commit(
        self, context: RequestContext, request: OffsetCommitRequest, respond: Respond
    ) -> None:
        """Let the coordinator commit the valid offsets, and respond after they are replicated.
        Others get an error each: all of them without READ on the group."""
        answers = self._answers
        if not context.rights.allows(Operation.READ, Resource.GROUP, request.group_id):
            refused = _refused_commit(request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
            answers.give(context, request, refused, respond, refuse_commit)
            return

        def judged(commit: _Commit) -> None:
            """Let the coordinator commit the valid offsets, and then respond."""

            def committed(error: ErrorCode, topics: list[OffsetCommitResponseTopic]) -> None:
                """Respond with the coordinator's answers and those of the invalid offsets."""
                steps = commit.answered(error, topics)
                answers.give(context, request, steps, respond, refuse_commit)

            if commit.valid:
                valid = replace(request, topics=commit.valid)
                self._coordinator.commit_offsets(valid, context.api_version, committed)
            else:
                committed(ErrorCode.NONE, [])

        steps = self._checked_commit(context, request)
        answers.judge(context, request, steps, judged, respond, refuse_commit)

    def _checked_commit(
        self, context: RequestContext, request: OffsetCommitRequest
    ) -> Steps[_Commit]:
        """Return the commit with the valid topics, and with the answers for the others."""
        topics, by_id = self._metadata.image.topics, context.api_version >= TOPIC_IDS_FROM
        commit, pace = _Commit(), Pace()
        checked = yield from readable_topics(
            request.topics, topics, context.rights, pace, by_id=by_id
        )
        for topic, existing_indexes, error in drained(checked):
            yield from commit.take(topic, existing_indexes, error, pace)
        return commit

    # -- OffsetFetch ---------------------------------------------------------------------------

    def fetch(self, context: RequestContext, request: OffsetFetchRequest, respond: Respond) -> None:
        """Respond with the committed offsets of the group, or from v8 on of several groups, each
        with its own error."""
        groups, rights = _requested_groups(context.api_version, request), context.rights

        def ask(group: OffsetFetchRequestGroup, done: Callable[[_Fetched], None]) -> None:
            """Call `done` with the group's offsets, or with an error. The client needs DESCRIBE on
            the group."""
            if rights.allows(Operation.DESCRIBE, Resource.GROUP, group.group_id):
                requested = self._requested(group, context.api_version)
                self._coordinator.fetch_offsets(group, requested, request.require_stable, done)
            else:
                done(ErrorCode.GROUP_AUTHORIZATION_FAILED)

        def fetched(offsets: list[_Fetched]) -> None:
            """Respond with the offsets or errors, which are in the order of the groups."""
            steps = self._fetched(context, request, groups, offsets)
            self._answers.give(context, request, steps, respond, refuse_fetch)

        self._answers.gather(
            context, request, groups, ask, fetched, respond, refuse_fetch, GROUPS_AT_ONCE
        )

    def _requested(
        self, group: OffsetFetchRequestGroup, version: int
    ) -> RequestedPartitions | None:
        """Return the topics and partitions to look up; None for all offsets of the group.

        A long list is None as well, because copying all offsets is then less work.
        """
        requested: RequestedPartitions = []
        count = 0
        for topic in group.topics or ():
            count += 1 + len(topic.partition_indexes)
            if count > PIECES_AT_ONCE:
                return None
            name = topic.name if version < TOPIC_IDS_FROM else self._name_of(topic)
            requested.append((name, topic.partition_indexes))
        return None if group.topics is None else requested

    def _name_of(self, topic: OffsetFetchRequestTopics) -> str:
        """Return the topic's name, empty if there is no such topic."""
        topic_image = self._metadata.image.topics.get_by_id(topic.topic_id)
        return "" if topic_image is None else topic_image.name

    def _fetched(
        self,
        context: RequestContext,
        request: OffsetFetchRequest,
        groups: list[OffsetFetchRequestGroup],
        fetched: list[_Fetched],
    ) -> Steps[OffsetFetchResponse]:
        """Return the response for all groups, in slices. Empties `fetched`, which has each group's
        offsets at one moment or its error."""
        version, answers = context.api_version, list[OffsetFetchResponseGroup]()
        image, pace = self._metadata.image, Pace()
        for group, offsets in zip(groups, drained(fetched), strict=True):
            if pace.is_full():
                yield None
            if isinstance(offsets, ErrorCode):
                answers.append(OffsetFetchResponseGroup(group.group_id, [], int(offsets)))
                continue
            group_answer = OffsetFetchAnswer(context, offsets, image)
            requested = group.topics
            yield from (
                group_answer.all_topics()
                if requested is None
                else group_answer.named_topics(requested)
            )
            topics: Any = group_answer.topics.array()  # in the message class of this version
            answers.append(OffsetFetchResponseGroup(group.group_id, topics))
        if version >= SEVERAL_GROUPS_FROM:
            return OffsetFetchResponse(groups=answers)
        (answer,) = answers
        if answer.error_code and version < TOP_LEVEL_ERROR_FROM:
            return refuse_fetch(request, ErrorCode(answer.error_code))
        topics = answer.topics
        return OffsetFetchResponse(topics=topics, error_code=answer.error_code)

    # -- OffsetDelete --------------------------------------------------------------------------

    def delete(
        self, context: RequestContext, request: OffsetDeleteRequest, respond: Respond
    ) -> None:
        """Let the coordinator delete the valid offsets, and respond. Others get an error each;
        without DELETE on the group, the whole request does."""
        if not context.rights.allows(Operation.DELETE, Resource.GROUP, request.group_id):
            respond(OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
            return

        def judged(judgement: tuple[list[OffsetDeleteRequestTopic], _Deleted]) -> None:
            """Let the coordinator delete the valid offsets, and then respond."""
            valid, answers = judgement

            def deleted(response: OffsetDeleteResponse) -> None:
                """Respond with the coordinator's answers and those of the invalid offsets."""
                steps = _answer_delete(answers, response)
                self._answers.give(context, request, steps, respond, _refuse_delete)

            # Called even if no partition is left, because the group's own error comes first.
            self._coordinator.delete_offsets(replace(request, topics=valid), deleted)

        steps = self._to_delete(context.rights, request)
        self._answers.judge(context, request, steps, judged, respond, _refuse_delete)

    def _to_delete(
        self, rights: Rights, request: OffsetDeleteRequest
    ) -> Steps[tuple[list[OffsetDeleteRequestTopic], _Deleted]]:
        """Return the valid topics for the coordinator, and the answers for the others."""
        topics, pace = self._metadata.image.topics, Pace()
        readable = yield from allowed_in_slices(
            rights, Operation.READ, Resource.TOPIC, (topic.name for topic in request.topics)
        )
        valid, answers = list[OffsetDeleteRequestTopic](), _Deleted()
        for topic in request.topics:
            topic_image, error = None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
            if topic.name in readable:
                topic_image, error = topics.get(topic.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refuse = partial(OffsetDeleteResponsePartition, error_code=error)
            existing_indexes = () if topic_image is None else topic_image.partitions
            good, refused = yield from split_partitions(
                topic.partitions, existing_indexes, refuse, pace
            )
            if refused:
                answer = answers.setdefault(topic.name, OffsetDeleteResponseTopic(topic.name))
                answer.partitions += refused
            if good:
                valid.append(OffsetDeleteRequestTopic(topic.name, good))
        return valid, answers


_Deleted = dict[str, OffsetDeleteResponseTopic]


class _Commit:
    """An OffsetCommit with its `valid` topics for the coordinator, and answers for the others."""

    def __init__(self) -> None:
        self.valid: list[OffsetCommitRequestTopic] = []
        self._answers: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}

    def take(
        self,
        topic: OffsetCommitRequestTopic,
        existing_indexes: Container[int],
        error: ErrorCode,
        pace: Pace,
    ) -> Steps[None]:
        """Add a topic: its partitions with `existing_indexes` to `valid`, and for each other
        partition an answer with `error`."""
        refuse = partial(OffsetCommitResponsePartition, error_code=error)
        good, refused = yield from split_partitions(
            topic.partitions, existing_indexes, refuse, pace
        )
        if refused:
            self._add_answers(topic, refused)
        if good:
            self.valid.append(replace(topic, partitions=good))

    def answered(
        self, error: ErrorCode, topics: list[OffsetCommitResponseTopic]
    ) -> Steps[OffsetCommitResponse]:
        """Return the response after the coordinator's answer, with the answers for invalid
        partitions.

        `error` is the coordinator's for all valid topics; if it is NONE, `topics` has their
        answers.
        """
        pace = Pace()
        if error is not ErrorCode.NONE:
            for topic in drained(self.valid):
                yield from self.take(topic, (), error, pace)
            topics = []
        for answer in drained(topics):
            if pace.is_full():
                yield None
            self._add_answers(answer, answer.partitions)
        return OffsetCommitResponse(topics=list(self._answers.values()))

    def _add_answers(
        self,
        topic: OffsetCommitRequestTopic | OffsetCommitResponseTopic,
        partitions: list[OffsetCommitResponsePartition],
    ) -> None:
        """Add partitions to the topic's entry in the response, which is created if needed."""
        key = (topic.name, topic.topic_id)
        answer = self._answers.setdefault(key, OffsetCommitResponseTopic(*key))
        answer.partitions += partitions


def refuse_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    """Return a response with `code` for every partition."""
    return in_one_go(_refused_commit(request, code))


def _refused_commit(request: OffsetCommitRequest, code: ErrorCode) -> Steps[OffsetCommitResponse]:
    """Return a response with `code` for every partition."""
    pace, topics = Pace(), list[OffsetCommitResponseTopic]()
    refuse = partial(OffsetCommitResponsePartition, error_code=code)
    for topic in request.topics:
        _, refused = yield from split_partitions(topic.partitions, (), refuse, pace)
        topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, refused))
    return OffsetCommitResponse(topics=topics)


def refuse_fetch(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """Return a response with `code` in each place in which some version has an error."""
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


def _requested_groups(version: int, request: OffsetFetchRequest) -> list[OffsetFetchRequestGroup]:
    """Return the request's groups; old versions have only one."""
    if version >= SEVERAL_GROUPS_FROM:
        return request.groups
    topics: Any = request.topics  # in the message class of these versions
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _answer_delete(
    answers: _Deleted, response: OffsetDeleteResponse
) -> Steps[OffsetDeleteResponse]:
    """Return the coordinator's response, with `answers` added unless it has an error for the whole
    group. Empties `answers`."""
    pace = Pace()
    if response.error_code == ErrorCode.NONE:
        for topic in response.topics:
            if pace.is_full():
                yield None
            answer = answers.setdefault(topic.name, OffsetDeleteResponseTopic(topic.name))
            answer.partitions += topic.partitions
        response.topics = list(answers.values())
    while answers:
        if pace.is_full():
            yield None
        answers.popitem()
    return response


def _refuse_delete(_request: OffsetDeleteRequest, code: ErrorCode) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=int(code))

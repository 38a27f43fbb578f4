"""The requests about share groups of a node's group coordinator.

Owns the steps of a request that asks the group's shard and the share coordinator in turn, and the
form of the answers. Never changes a group: the shard does. Follows the share groups' part of
Kafka's `GroupCoordinatorService` (KIP-932).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar, cast

from broker.coordinator.outcome import Decided, Done, Outcome, ReplyWithError
from broker.groups.share.error_texts import text_of
from broker.groups.share.heartbeat import ShareBeat, heartbeat_fault, refused
from broker.groups.share.initialization import Topics
from broker.groups.share.offset_changes import OffsetAlteration, OffsetDeletion
from broker.groups.share.offset_reading import DescribedOffsets, OffsetReading
from broker.groups.share.ports import EndOffset, SharePorts
from broker.groups.share.protocol import ShareProtocol
from broker.groups.share.state_rounds import StateAnswers, ask_all
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import NO_STATE
from controller.metadata.image import MetadataImage
from controller.metadata.version import SHARE_VERSION
from ground.ordered_work import OrderedWork
from ground.sliced_work import SlicedWork, Steps
from ground.topic_partition import TopicPartition
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponseTopic,
)
from protocol.messages.share_group_describe import DescribedGroup
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")


class Submit(Protocol):
    """A function that runs a decision of the shard of a group, as `GroupCoordinator` does."""

    def __call__(
        self,
        group_id: str,
        decide: Callable[[ShareProtocol], Decided[T]],
        done: ReplyWithError[T],
        refuse: Done,
        *,
        named: bool = True,
    ) -> None: ...


class ShareGroupRequests:
    """The share groups that a node coordinates. `image()` returns the newest metadata."""

    def __init__(
        self,
        image: Callable[[], MetadataImage],
        ports: SharePorts,
        submit: Submit,
        sliced: SlicedWork | None,
    ) -> None:
        """`sliced` runs long work in slices; None: in one go."""
        self._image = image
        self._ports = ports
        self._submit = submit
        self._sliced = sliced

    def are_enabled(self) -> bool:
        """Return whether the cluster has finalized `share.version`."""
        return self._image().features.get(SHARE_VERSION, 0) >= 1

    # -- members -------------------------------------------------------------------------------

    def heartbeat(
        self, beat: ShareBeat, done: Callable[[ShareGroupHeartbeatResponse], None]
    ) -> None:
        """Pass a ShareGroupHeartbeat to its group; `done` gets the response, or one with an
        error."""

        def refuse(error: ErrorCode) -> None:
            done(refused(ApiError(error)).response)

        def respond(error: ErrorCode, response: ShareGroupHeartbeatResponse) -> None:
            """Pass the response to `done`, or a response with the error of its records' commit."""
            if error is ErrorCode.NONE:
                done(response)
            else:
                refuse(error)

        fault = heartbeat_fault(beat.request)
        if fault is not None:
            done(refused(fault).response)
            return
        self._submit(beat.request.group_id, lambda shard: shard.heartbeat(beat), respond, refuse)

    def describe(self, group_id: str, done: Callable[[DescribedGroup], None]) -> None:
        """Describe a share group, for ShareGroupDescribe. An error is in the answer:
        GROUP_ID_NOT_FOUND if there is none."""

        def refuse(error: ErrorCode, message: str | None = None) -> None:
            done(DescribedGroup(error, message, group_id))

        def respond(error: ErrorCode, group: DescribedGroup | ApiError) -> None:
            """Answer with the description, or with the error."""
            if error is not ErrorCode.NONE:
                refuse(error, text_of(error))
            elif isinstance(group, ApiError):
                refuse(group.code, group.message)
            else:
                done(group)

        self._submit(
            group_id,
            lambda shard: shard.describe(group_id),
            respond,
            lambda error: refuse(
                error, None if error is ErrorCode.INVALID_GROUP_ID else text_of(error)
            ),
        )

    # -- offsets -------------------------------------------------------------------------------

    def _make(self, steps: Steps[T], made: Callable[[T], None], refuse: Done) -> None:
        """Do `steps` in slices, and pass their result to `made`. If a later slice fails, log that
        and call `refuse`."""

        def done(result: T | None, error: Exception | None) -> None:
            """Pass the result on, or the error."""
            if error is None:
                made(cast(T, result))
                return
            log.error("offsets of a share group cannot be read", exc_info=error)
            refuse(ErrorCode.UNKNOWN_SERVER_ERROR)

        OrderedWork(self._sliced).take(steps, done)

    def describe_offsets(
        self,
        group: DescribeShareGroupOffsetsRequestGroup,
        done: Callable[[DescribeShareGroupOffsetsResponseGroup], None],
    ) -> None:
        """Read the offsets of a group, for DescribeShareGroupOffsets; without topics, of all its
        partitions that have a state. The group need not exist."""
        group_id = group.group_id

        def read(described: DescribedOffsets) -> None:
            """Read the states and the end offsets, and then answer."""
            reading = OffsetReading(group_id, described, self._ports, self._image().topics)

            def with_keys(keys: list[SharePartitionKey]) -> None:
                reading.read(keys, with_offsets)

            def with_offsets(
                states: StateAnswers, ends: Mapping[TopicPartition, EndOffset]
            ) -> None:
                self._make(reading.answers(states, ends), answer, refuse)

            self._make(reading.keys(), with_keys, refuse)

        def answer(topics: list[DescribeShareGroupOffsetsResponseTopic]) -> None:
            done(DescribeShareGroupOffsetsResponseGroup(group_id, topics))

        def refuse(error: ErrorCode) -> None:
            done(
                DescribeShareGroupOffsetsResponseGroup(
                    group_id, error_code=error, error_message=text_of(error)
                )
            )

        def respond(error: ErrorCode, topics: Topics) -> None:
            """Read the states of the group's partitions, or answer with the error."""
            if error is not ErrorCode.NONE:
                refuse(error)
                return
            read([(topic.name, topic.partitions) for topic in topics.values()])

        if group.topics is not None:
            read([(topic.topic_name, topic.partitions) for topic in group.topics])
        else:
            self._submit(
                group_id, lambda shard: shard.initialized(group_id), respond, refuse, named=False
            )

    def alter_offsets(
        self,
        request: AlterShareGroupOffsetsRequest,
        done: Callable[[AlterShareGroupOffsetsResponse], None],
    ) -> None:
        """Give partitions other start offsets, for AlterShareGroupOffsets; `done` gets an answer
        for each, or the error of all."""
        group_id = request.group_id

        def refuse(error: ErrorCode, message: str | None = None) -> None:
            done(AlterShareGroupOffsetsResponse(0, error, message or text_of(error)))

        def begun(error: ErrorCode, altered: OffsetAlteration | ApiError) -> None:
            """Initialize the partitions, or answer with the error."""
            if error is not ErrorCode.NONE:
                refuse(error)
            elif isinstance(altered, ApiError):
                refuse(altered.code, altered.message)
            elif altered.initialization.start_offsets:
                self._initialize(altered, partial(ended, altered), refuse)
            else:
                ended(altered, ErrorCode.NONE, {})

        def ended(altered: OffsetAlteration, error: ErrorCode, states: StateAnswers) -> None:
            """Answer each partition with the result of its initialization."""
            if error is not ErrorCode.NONE:
                refuse(error)
                return
            _add_failures(altered, states)
            done(AlterShareGroupOffsetsResponse(responses=altered.answers))

        self._submit(
            group_id,
            lambda shard: shard.alter_offsets(group_id, request.topics),
            begun,
            refuse,
        )

    def _initialize(
        self,
        altered: OffsetAlteration,
        ended: Callable[[ErrorCode, StateAnswers], None],
        refuse: Done,
    ) -> None:
        """Let the group's shard initialize partitions. `ended` gets the result, or `refuse` an
        error if the shard is not here any more."""

        def begin(shard: ShareProtocol) -> Decided[None]:
            """Return an outcome without records, after the initialization has begun."""
            shard.initialize(altered.initialization, ended)
            return Outcome(None)

        self._submit(altered.initialization.group_id, begin, _ignore, refuse)

    def delete_offsets(
        self,
        request: DeleteShareGroupOffsetsRequest,
        done: Callable[[DeleteShareGroupOffsetsResponse], None],
    ) -> None:
        """Delete the states of topics, for DeleteShareGroupOffsets; `done` gets an answer for each
        topic, or the error of all."""
        group_id, names = request.group_id, [topic.topic_name for topic in request.topics]

        def refuse(error: ErrorCode, message: str | None = None) -> None:
            done(DeleteShareGroupOffsetsResponse(0, error, message or text_of(error)))

        def begun(error: ErrorCode, deletion: OffsetDeletion | ApiError) -> None:
            """Delete the states, or answer with the error."""
            if error is not ErrorCode.NONE:
                refuse(error)
            elif isinstance(deletion, ApiError):
                refuse(deletion.code, deletion.message)
            else:
                self._delete(deletion.keys, partial(deleted, deletion))

        def deleted(deletion: OffsetDeletion, failures: Mapping[bytes, ErrorCode]) -> None:
            """Let the group forget the topics whose states are gone, and answer then."""
            answers = [
                DeleteShareGroupOffsetsResponseTopic(name, topic_id)
                for topic_id, name in deletion.names.items()
                if topic_id not in failures
            ]
            gone = [answer.topic_id for answer in answers]
            answers += deletion.refused
            answers += [
                DeleteShareGroupOffsetsResponseTopic(name, topic_id, error, text_of(error))
                for topic_id, name in deletion.names.items()
                if (error := failures.get(topic_id, ErrorCode.NONE)) is not ErrorCode.NONE
            ]

            def respond(error: ErrorCode, _: None) -> None:
                """Answer for each topic, or with the error of the last write."""
                if error is ErrorCode.NONE:
                    done(DeleteShareGroupOffsetsResponse(responses=answers))
                else:
                    refuse(error)

            if gone:
                self._submit(
                    group_id, lambda shard: shard.end_deletion(group_id, gone), respond, refuse
                )
            else:
                respond(ErrorCode.NONE, None)

        self._submit(group_id, lambda shard: shard.delete_offsets(group_id, names), begun, refuse)

    # -- deletion of states --------------------------------------------------------------------

    def delete_states(
        self,
        keys: Sequence[SharePartitionKey],
        deleted: Callable[[frozenset[bytes]], None],
        refuse: Done,
    ) -> None:
        """Delete the states of a group that is to be deleted. `deleted` gets the ids of their
        topics, or `refuse` an error."""

        def ended(failures: Mapping[bytes, ErrorCode]) -> None:
            """Go on, or answer with the first error."""
            if failures:
                refuse(next(iter(failures.values())))
            else:
                deleted(frozenset(key.topic_id for key in keys))

        self._delete(keys, ended)

    def _delete(
        self,
        keys: Sequence[SharePartitionKey],
        ended: Callable[[Mapping[bytes, ErrorCode]], None],
    ) -> None:
        """Delete states. `ended` gets an error for each topic with a state that is still there.

        UNKNOWN_TOPIC_OR_PARTITION is none: the share coordinator deletes the states of deleted
        topics by itself.
        """

        def answered(answers: StateAnswers) -> None:
            """Collect the errors by topic."""
            failures: dict[bytes, ErrorCode] = {}
            for key, (error, _) in answers.items():
                if error not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    failures.setdefault(key.topic_id, error)
            ended(failures)

        ask_all(keys, self._ports.states.delete, answered)


def _add_failures(altered: OffsetAlteration, states: StateAnswers) -> None:
    """Set the errors of partitions that could not be initialized in the answers."""
    group_id = altered.initialization.group_id
    for topic in altered.answers:
        for partition in topic.partitions:
            key = SharePartitionKey(group_id, topic.topic_id, partition.partition_index)
            error, state = states.get(key, (ErrorCode.NONE, NO_STATE))
            if error is not ErrorCode.NONE:
                _set_error(partition, error, state.message)


def _set_error(
    partition: AlterShareGroupOffsetsResponsePartition, error: ErrorCode, message: str | None
) -> None:
    """Set the error of a partition's answer, with Kafka's text if there is no message."""
    partition.error_code = error
    partition.error_message = message or text_of(error)


def _ignore(_: ErrorCode, __: None) -> None:
    """Do nothing: another callback gets the result."""

"""The requests of share groups' members to one shard, and the sessions of silent members.

Owns the members' sessions and the initializations of a shard, whose results it submits. The
decisions are those of `heartbeat` and `offset_changes`. Never changes a group: `replay` does.
Follows the share groups' part of Kafka's `GroupMetadataManager` (KIP-932).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import AT_ONCE, NOTHING, Done, Outcome
from broker.groups.group import Group
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_records import ShareGroupKey, ShareGroupValue
from broker.groups.member_deadlines import Again, MemberDeadlines, settle_removal
from broker.groups.share.description import described
from broker.groups.share.heartbeat import (
    LEAVE_EPOCH,
    Decision,
    ShareBeat,
    Surroundings,
    ToInitialize,
    heartbeat,
    leave,
    refused,
    removal,
)
from broker.groups.share.initialization import Topics, state_topics_record
from broker.groups.share.initializer import Initialization, Initializer, Submit
from broker.groups.share.offset_changes import (
    OffsetAlteration,
    OffsetDeletion,
    alteration,
    keys_of_group,
    offset_deletion,
    records_of_group_deletion,
)
from broker.groups.share.ports import ShareStates
from broker.groups.share.settings import ShareGroupSettings, initialize_retry_ms, settings_of
from broker.groups.share.share_group import ShareGroup
from broker.groups.share.state_rounds import StateAnswers
from broker.share.state.share_log import SharePartitionKey
from controller.metadata.image import MetadataImage, ResourceType
from ground.ports import Scheduler
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequestTopic
from protocol.messages.group_records import (
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
)
from protocol.messages.share_group_describe import DescribedGroup
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")


class ShareGroupInputs(NamedTuple):
    """The inputs for all share groups of a node. `image()` returns the newest metadata, and
    `config_in_force()` the configuration with the dynamic configs on top."""

    config: BrokerConfig
    config_in_force: Callable[[], BrokerConfig]
    image: Callable[[], MetadataImage]
    states: Callable[[], ShareStates]

    def settings(self, group_id: str) -> ShareGroupSettings:
        """Return the settings of the group with this id: its own configs, else the broker's."""
        overrides = self.image().config(ResourceType.GROUP, group_id)
        return settings_of(self.config_in_force(), overrides)


class ShareProtocol:
    """The handlers of one shard's share groups.

    `find` returns a group of any kind by its id. `submit` runs the work of timers.
    """

    def __init__(
        self,
        inputs: ShareGroupInputs,
        scheduler: Scheduler,
        find: Callable[[str], Group | None],
        submit: Submit,
        metrics: GroupMetrics,
    ) -> None:
        self._inputs = inputs
        self._scheduler = scheduler
        self._find_any = find
        self._submit = submit
        self._metrics = metrics
        self._sessions = MemberDeadlines(scheduler)
        retry_ms = initialize_retry_ms(inputs.config)
        self._initializer = Initializer(inputs.states, scheduler, retry_ms, self._find, submit)

    def _find(self, group_id: str) -> ShareGroup | None:
        group = self._find_any(group_id)
        return group if isinstance(group, ShareGroup) else None

    def _group(self, group_id: str) -> ShareGroup | ApiError:
        """Return the group, or GROUP_ID_NOT_FOUND if there is none or it is of another kind."""
        group = self._find_any(group_id)
        return group if isinstance(group, ShareGroup) else not_found(group_id, group)

    # -- replay --------------------------------------------------------------------------------

    def replay(
        self, group: Group | None, key: ShareGroupKey, value: ShareGroupValue | None, offset: int
    ) -> Group | None:
        """Apply a record of a share group; `group` is the group of its id, of any kind.

        Return the group that has this id then. The tombstone of a member also ends its session.
        """
        group_id = key.group_id
        if value is None:
            if isinstance(key, ShareGroupMemberMetadataKey):
                self._sessions.cancel((group_id, key.member_id))
            if not isinstance(group, ShareGroup):
                return group
            if isinstance(key, ShareGroupMetadataKey):
                self._initializer.forget(group_id)
                return None
        elif not isinstance(group, ShareGroup):
            group = ShareGroup(group_id)
        if isinstance(key, ShareGroupStatePartitionMetadataKey):
            self._initializer.topics_changed(group_id)
        group.replay(key, value, offset)
        return group

    def resume(self, groups: Iterable[Group]) -> None:
        """Start the sessions of all members, after the log is loaded."""
        for group in groups:
            if isinstance(group, ShareGroup):
                session_ms = self._inputs.settings(group.group_id).session_timeout_ms
                for member_id in group.members:
                    self._extend_session((group.group_id, member_id), session_ms)

    def stop(self) -> None:
        """End all sessions: the shard is unloaded."""
        self._sessions.stop()

    # -- members -------------------------------------------------------------------------------

    def heartbeat(self, beat: ShareBeat) -> Steps[Outcome[ShareGroupHeartbeatResponse]]:
        """Return the outcome of a ShareGroupHeartbeat, by which a member joins, stays or leaves.

        GROUP_ID_NOT_FOUND: the group is of another kind, or there is none and the member does not
        join.
        """
        request, group_id = beat.request, beat.request.group_id
        group = self._group(group_id)
        if isinstance(group, ApiError):
            if not beat.joins or self._find_any(group_id) is not None:
                return Outcome(refused(group).response)
            group = ShareGroup(group_id)
        topics, settings = self._inputs.image().topics, self._inputs.settings(group_id)
        if request.member_epoch == LEAVE_EPOCH:
            return _outcome(group, leave(group, request.member_id, topics))
        retried = self._initializer.retried(group)
        surroundings = Surroundings(settings, topics, self._scheduler.wall_ms(), retried)
        decision = yield from heartbeat(group, beat, surroundings)
        if decision.response.error_code == ErrorCode.NONE:
            self._extend_session((group_id, request.member_id), settings.session_timeout_ms)
        if decision.begins_epoch:
            self._metrics.share_rebalance_began()
        if decision.to_initialize is None:
            return _outcome(group, decision)
        asked = _initialization(group_id, decision.to_initialize)
        return _outcome(group, decision, partial(self._initializer.begin, asked))

    def _extend_session(self, key: tuple[str, str], timeout_ms: int) -> None:
        """Extend a member's session to `timeout_ms` from now."""
        if not self._sessions.extend(key, timeout_ms):
            self._sessions.start(key, timeout_ms, partial(self._session_expired, *key))

    def _session_expired(self, group_id: str, member_id: str, again: Again) -> None:
        """Submit the removal of a member, which sent no heartbeat for too long.

        `again` starts its time-out again if the removal could not be written.
        """
        decide = partial(self._remove, group_id, member_id)
        self._submit(decide, partial(settle_removal, again))

    def _remove(self, group_id: str, member_id: str) -> Outcome[Done]:
        """Return the outcome that removes the member, or nothing if it is gone."""
        group = self._find(group_id)
        if group is None or member_id not in group.members:
            return NOTHING
        log.info("group %s: removing %s: its session expired", group_id, member_id)
        records = removal(group, member_id, self._inputs.image().topics)
        return NOTHING._replace(records=records)

    # -- administration ------------------------------------------------------------------------

    def describe(self, group_id: str) -> Steps[Outcome[DescribedGroup | ApiError]]:
        """Return the outcome that describes a group after its last record is committed, or that has
        GROUP_ID_NOT_FOUND."""
        group = self._group(group_id)
        if isinstance(group, ApiError):
            return Outcome(group)
        assignor = self._inputs.config.group_share_assignors[0]
        answer = yield from described(group, assignor, self._inputs.image().topics)
        return Outcome(answer, after=group.record_offset)

    def initialized(self, group_id: str) -> Outcome[Topics]:
        """Return the outcome with the group's partitions that have a state, after its last record
        is committed; none without a group."""
        group = self._find(group_id)
        if group is None:
            return Outcome({})
        return Outcome(group.state_topics.initialized, after=group.record_offset)

    def alter_offsets(
        self, group_id: str, topics: Sequence[AlterShareGroupOffsetsRequestTopic]
    ) -> Steps[Outcome[OffsetAlteration | ApiError]]:
        """Return the outcome of an AlterShareGroupOffsets, which begins to initialize partitions;
        `initialize` goes on. A group that does not exist is created.

        NON_EMPTY_GROUP: it has members. GROUP_ID_NOT_FOUND: it is of another kind.
        """
        group = self._group(group_id)
        if isinstance(group, ApiError):
            if self._find_any(group_id) is not None:
                return Outcome(group)
            group = ShareGroup(group_id)
        if group.members:
            return Outcome(NON_EMPTY)
        altered = yield from alteration(group, topics, self._inputs.image().topics)
        return _after_commit(group, altered, altered.records)

    def initialize(
        self, asked: Initialization, done: Callable[[ErrorCode, StateAnswers], None]
    ) -> None:
        """Ask the share coordinator to initialize partitions, write the result and call `done`."""
        self._initializer.begin(asked, done)

    def delete_offsets(
        self, group_id: str, names: Sequence[str]
    ) -> Steps[Outcome[OffsetDeletion | ApiError]]:
        """Return the outcome that begins a DeleteShareGroupOffsets; the states of the topics are to
        be deleted, and then `end_deletion` ends it.

        NON_EMPTY_GROUP: the group has members. GROUP_ID_NOT_FOUND: there is no such share group.
        """
        group = self._group(group_id)
        if isinstance(group, ApiError):
            return Outcome(group)
        if group.members:
            return Outcome(NON_EMPTY)
        deletion = yield from offset_deletion(group, names, self._inputs.image().topics)
        return _after_commit(group, deletion, deletion.records)

    def end_deletion(self, group_id: str, topic_ids: Iterable[bytes]) -> Outcome[None]:
        """Return the outcome after the states of topics were deleted."""
        group = self._find(group_id)
        if group is None:
            return Outcome(None)
        topics = group.state_topics.end_deletion(topic_ids)
        return Outcome(None, [state_topics_record(group_id, topics)])

    def states_to_delete(
        self, group: Group, deleted: frozenset[bytes]
    ) -> Steps[tuple[list[SharePartitionKey], Sequence[Record]]]:
        """Return the states to delete before the group is, and the records that begin that.

        Both are empty if nothing is left to do. `deleted`: the ids of topics whose states are gone
        already.
        """
        if not isinstance(group, ShareGroup):
            return [], ()
        topics = self._inputs.image().topics
        keys = yield from keys_of_group(group, topics, deleted)
        return keys, records_of_group_deletion(group, keys, topics) if keys else ()

    def forget_topics(
        self, groups: Iterable[Group], deleted: Mapping[bytes, str]
    ) -> Steps[Outcome[None]]:
        """Return the outcome that removes deleted topics from all share groups. The share
        coordinator deletes their states by itself. `deleted`: the topics' names by id."""
        pace, records = Pace(), list[Record]()
        for group in list(groups):
            if pace.is_full():
                yield None
            if not isinstance(group, ShareGroup):
                continue
            topics = group.state_topics.forget(deleted)
            if topics != group.state_topics:
                records.append(state_topics_record(group.group_id, topics))
        return Outcome(None, records, after=AT_ONCE, atomic=False)


NON_EMPTY = ApiError(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")


def not_found(group_id: str, other: Group | None) -> ApiError:
    """Return the error for a group that is not there, or that is `other`, of another kind."""
    text = f"Group {group_id} not found."
    if other is not None:
        text = f"Group {group_id} is not a share group."
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, text)


def _outcome(
    group: ShareGroup, decision: Decision, committed: Callable[[], None] | None = None
) -> Outcome[ShareGroupHeartbeatResponse]:
    """Return the outcome of a decision; `committed` is called when its records are committed."""
    response = decision.response
    if response.error_code != ErrorCode.NONE:
        return Outcome(response)
    return _after_commit(group, response, decision.records)._replace(committed=committed)


def _after_commit(group: ShareGroup, reply: T, records: Sequence[Record]) -> Outcome[T]:
    """Return the outcome whose reply waits until all that it says of the group is committed: its
    own records, or those that other requests have appended."""
    return Outcome(reply, records) if records else Outcome(reply, after=group.record_offset)


def _initialization(group_id: str, asked: ToInitialize) -> Initialization:
    """Return what the share coordinator has to initialize for a heartbeat."""
    starts = {
        SharePartitionKey(group_id, topic_id, partition): asked.start_offset(topic_id)
        for topic_id, topic in asked.topics.items()
        for partition in topic.partitions
    }
    return Initialization(group_id, asked.state_epoch, starts)

"""The groups and offsets of one partition of `__consumer_offsets`.

Owns both, and the only way to change them: `replay`. A handler serves one group and returns an
`Outcome`, a reply with records. A handler of a member's request may also change soft state.
`CoordinatorRuntime` calls handlers only while the shard is live, and appends the records. A group
is a `Group` here; only members' requests go to the handlers of its kind. Never writes to the log.
Follows Kafka's `GroupCoordinatorShard`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_log import (
    LogRecord,
    Record,
    TransactionalAppend,
    TransactionMarker,
)
from broker.coordinator.coordinator_runtime import ShardContext
from broker.coordinator.outcome import Decided, Done, Outcome, call_reply, no_reply
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import SyncReply, sync_refusal
from broker.groups.classic.protocol import ClassicProtocol, refuse_leavers
from broker.groups.classic.rebalance import Rebalancer
from broker.groups.consumer.heartbeat import refusal
from broker.groups.consumer.membership import Beat, HeartbeatSender
from broker.groups.consumer.protocol import ConsumerProtocol, not_found
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.expiry import expired
from broker.groups.fetched_offsets import FetchedOffsets, RequestedPartitions
from broker.groups.group import Committer, Group, commit_error_without_group
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_records import (
    ConsumerGroupKey,
    ConsumerGroupValue,
    OtherRecord,
    ShareGroupKey,
    ShareGroupValue,
    group_metadata_record,
    read_group_record,
)
from broker.groups.offset_store import COMMITS_A_SLICE, OffsetStore
from broker.groups.removal import ShardRemoval
from ground.ports import Scheduler
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from protocol.messages.describe_groups import DescribedGroup
from protocol.messages.group_records import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberResponse
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponseTopic,
)
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from broker.groups.share.ports import ShareStates
    from broker.groups.share.protocol import ShareProtocol
    from broker.share.state.share_log import SharePartitionKey

log = logging.getLogger(f"ottla.{__name__}")

BECAME_CLASSIC = "it was a consumer group until now"
"""The reason for the rebalance of a group that became a classic one."""
ReadOffsets = Callable[[], FetchedOffsets]
"""A function that reads the offsets when the reply is sent."""


class GroupShard:
    """The groups of one partition. Its own work, such as that of timers, goes to `context`."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        random_bytes: Callable[[int], bytes],
        surroundings: ConsumerGroupInputs,
        share_states: Callable[[], ShareStates],
        metrics: GroupMetrics,
        context: ShardContext,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._context = context
        self._metrics = metrics
        self._live = False
        self._rebalancer = Rebalancer(
            config, scheduler, lambda work: context.submit(work, call_reply)
        )
        self._protocol = ClassicProtocol(config, self._rebalancer, random_bytes, metrics)
        self._consumers = ConsumerProtocol(
            surroundings,
            scheduler,
            self._consumer_group,
            partial(context.submit, later=True),
            random_bytes,
            self._became_classic,
            metrics,
        )
        self._surroundings = surroundings
        self._share_states = share_states
        self._has_shares = False
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore(config.offset_metadata_max_bytes, lambda: context.high_watermark)
        self._loaded_to = -1
        self._ended: tuple[str, int] | None = None
        """While loading: the consumer group whose tombstone came last, and that record's offset."""
        self._became_classic_last: dict[str, None] = {}
        """While loading: the groups whose latest record turned them from a consumer group into a
        classic one."""
        self._others: dict[str, int] = {}

    @cached_property
    def shares(self) -> ShareProtocol:
        """The handlers of share groups; their modules load at the first use."""
        from broker.groups.share.protocol import ShareGroupInputs, ShareProtocol

        self._has_shares = True
        surroundings = self._surroundings
        in_force, image = surroundings.config_in_force, surroundings.image
        return ShareProtocol(
            ShareGroupInputs(self._config, in_force, image, self._share_states),
            self._scheduler,
            lambda group_id: self.groups.get(group_id),
            partial(self._context.submit, later=True),
            self._metrics,
        )

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Apply one record of the log to the groups or the offsets. An offset without a group
        creates a classic group. Raises ProtocolError if the record cannot be parsed."""
        assert record.key is not None
        parsed = read_group_record(record.key, record.value)
        if isinstance(parsed, OtherRecord):
            self._others[parsed.name] = self._others.get(parsed.name, 0) + 1
            return
        key, value = parsed
        if isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value, record.offset)
        elif isinstance(key, ShareGroupKey):
            assert value is None or isinstance(value, ShareGroupValue)
            self._replay_share_group(key, value, record.offset)
        elif not isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, ConsumerGroupValue)
            self._replay_consumer_group(key, value, record.offset)
        else:
            assert value is None or isinstance(value, OffsetCommitValue)
            if value is not None and key.group not in self.groups:
                # Offsets without a group record: a consumer outside of group management commits.
                self.groups[key.group] = ClassicGroup(key.group, value.commit_timestamp)
            self.offsets.replay(key, value, record.offset, record.producer_id)

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Apply the end of a transaction: its offsets take effect if it committed, else they are
        dropped."""
        self.offsets.replay_marker(marker.producer_id, marker.committed, marker.offset)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, offset: int) -> None:
        """Apply the record of a classic group: install, restore, or remove the group for None.

        A live removal ends the members' waits with REBALANCE_IN_PROGRESS.
        """
        group = self._classic_group(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                if self._live:
                    # Members wait here only if the group becomes a consumer group.
                    self._rebalancer.close(group, ErrorCode.REBALANCE_IN_PROGRESS)
        elif group is not None and self._live:
            group.install(value, offset, self._scheduler.wall_ms())
        else:
            self.groups[group_id] = ClassicGroup.restore(group_id, value, offset)
            self._became_classic_last.pop(group_id, None)
            if value.members and self._ended == (group_id, offset - 1):
                self._became_classic_last[group_id] = None

    def _replay_consumer_group(
        self, key: ConsumerGroupKey, value: ConsumerGroupValue | None, offset: int
    ) -> None:
        """Apply a record of a consumer group, which may create or remove the group.

        The tombstone of a member also stops its timers.
        """
        group_id = key.group_id
        group = self._consumer_group(group_id)
        if value is None:
            if isinstance(key, ConsumerGroupMetadataKey) and not self._live:
                self._ended = (group_id, offset)
            if isinstance(key, ConsumerGroupMemberMetadataKey):
                self._consumers.forget(group_id, key.member_id)
            if group is None:
                return
            if isinstance(key, ConsumerGroupMetadataKey):
                del self.groups[group_id]
                self._consumers.forget_group(group_id)
                return
        elif group is None:
            group = self.groups[group_id] = ConsumerGroup(group_id)
        group.replay(key, value, offset)

    def _replay_share_group(
        self, key: ShareGroupKey, value: ShareGroupValue | None, offset: int
    ) -> None:
        """Apply a record of a share group, which may create or remove the group."""
        group = self.shares.replay(self.groups.get(key.group_id), key, value, offset)
        if group is None:
            self.groups.pop(key.group_id, None)
        else:
            self.groups[key.group_id] = group

    def on_loaded(self) -> None:
        """Start the sessions of all members, because the whole log has been replayed.

        Begins the rebalance of classic groups that exceed `group.max.size`, or whose last record
        converted them from a consumer group. Logs a warning about records that Ottla does not read.
        """
        self._live = True
        self._loaded_to = self._context.last_offset
        for group_id in list(self.groups):
            consumers = self._consumer_group(group_id)
            if consumers is not None:
                self._consumers.resume(consumers)
        if self._has_shares:
            self.shares.resume(self.groups.values())
        for group in self._classic_groups():
            self._context.submit(partial(self._rebalancer.resume, group), call_reply)
            if group.group_id in self._became_classic_last:
                # The previous coordinator stopped before the rebalance, so the partitions of the
                # last consumer have no owner. Kafka does not rebalance here.
                rebalance = partial(self._rebalancer.prepare_or_complete, group, BECAME_CLASSIC)
                self._context.submit(rebalance, call_reply)
        self._ended, self._became_classic_last = None, {}
        if self._others:
            kinds = ", ".join(f"{count} {name}" for name, count in sorted(self._others.items()))
            log.warning(
                "__consumer_offsets-%d holds records that Ottla keeps but does not understand: %s",
                self._context.partition,
                kinds,
            )

    def on_unloaded(self) -> None:
        """Drop all groups and stop their timers; answer waiting members with NOT_COORDINATOR."""
        self._live = False
        self._consumers.stop()
        if self._has_shares:
            self.shares.stop()
        groups = self._classic_groups()
        self.groups = {}
        for group in groups:
            self._rebalancer.close(group, ErrorCode.NOT_COORDINATOR)

    # -- members of classic groups -------------------------------------------------------------

    def _classic_group(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def _classic_groups(self) -> list[ClassicGroup]:
        return [group for group in self.groups.values() if isinstance(group, ClassicGroup)]

    def _is_of_other_kind(self, group_id: str) -> bool:
        """Return whether there is a group of this id that consumers cannot join: a share group."""
        group = self.groups.get(group_id)
        return group is not None and not isinstance(group, ClassicGroup | ConsumerGroup)

    def join(self, joining: Joining) -> Decided[Done]:
        """Return the outcome of a JoinGroup, which may write records or park the request in the
        group.

        If the group is a consumer group with members, the client joins that. If there is no group,
        a new member's classic group is created first; a client with a member id gets
        UNKNOWN_MEMBER_ID. A share group is INCONSISTENT_GROUP_PROTOCOL.
        """
        request = joining.request
        other = self._consumer_group(request.group_id)
        if other is not None and not other.is_idle:
            return self._consumers.join(other, joining)
        group = self._classic_group(request.group_id)
        if group is not None:
            return self._protocol.join(group, joining)
        if self._is_of_other_kind(request.group_id):
            return Outcome(joining.refuse, error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            refuse = partial(joining.refuse, member_id=request.member_id)
            return Outcome(refuse, error=ErrorCode.UNKNOWN_MEMBER_ID)

        def created(error: ErrorCode) -> Outcome[Done]:
            """Return the outcome of joining the new group, or the rejection with the error of its
            creation."""
            if error is not ErrorCode.NONE:
                return Outcome(joining.refuse, error=error)
            group = self._classic_group(request.group_id)
            assert group is not None
            return self._protocol.join(group, joining)

        now = self._scheduler.wall_ms()
        value = GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=now)
        record = group_metadata_record(request.group_id, value)
        # A classic group replaces a consumer group without members.
        before = [] if other is None else other.tombstones()
        return Outcome(no_reply, [*before, record], then=created)

    def sync(self, request: SyncGroupRequest, reply: SyncReply) -> Decided[Done]:
        """Return the outcome of a SyncGroup: `reply` gets the member's assignment, perhaps later,
        or the error. UNKNOWN_MEMBER_ID: there is no such group."""
        consumers = self._consumer_group(request.group_id)
        if consumers is not None:
            return self._consumers.sync(consumers, request, reply)
        group = self._classic_group(request.group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return Outcome(lambda error: reply(sync_refusal(error)), error=unknown)
        return self._protocol.sync(group, request, reply)

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Extend the session of a classic member. Return the error for its Heartbeat, or NONE. A
        Heartbeat never writes records."""
        consumers = self._consumer_group(request.group_id)
        if consumers is not None:
            return self._consumers.classic_heartbeat(consumers, request)
        group = self._classic_group(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return self._protocol.heartbeat(group, request)

    def leave(
        self, request: LeaveGroupRequest, reply: Callable[[list[MemberResponse]], None]
    ) -> Decided[Done]:
        """Return the outcome of a LeaveGroup, which removes its members: `reply` gets an answer for
        each. Without such a group, each answer is UNKNOWN_MEMBER_ID."""
        consumers = self._consumer_group(request.group_id)
        if consumers is not None:
            return self._consumers.leave(consumers, request.members, reply)
        group = self._classic_group(request.group_id)
        if group is not None:
            return self._protocol.leave(group, request.members, reply)
        return refuse_leavers(request, reply)

    # -- members of consumer groups ------------------------------------------------------------

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def consumer_heartbeat(self, beat: Beat) -> Decided[ConsumerGroupHeartbeatResponse]:
        """Return the outcome of a ConsumerGroupHeartbeat: the records that it causes, and the
        response.

        A new member's group is created if there is none. A classic group without members is
        replaced, even if a member id of it is pending; one with members is converted. A member that
        does not join gets GROUP_ID_NOT_FOUND from a classic group, every member from a share group.
        """
        group_id = beat.request.group_id
        if self._is_of_other_kind(group_id):
            return Outcome(refusal(not_found(group_id, is_other=True)))
        classic = self._classic_group(group_id)
        if classic is None:
            return self._consumers.heartbeat(group_id, beat)
        if not beat.joins:
            return Outcome(refusal(not_found(group_id, is_other=True)))
        if not classic.is_empty:
            return self._consumers.upgrade(classic, beat)
        return self._consumers.heartbeat(group_id, beat, classic.tombstones())

    def quiet_heartbeat(self, sender: HeartbeatSender, epoch: int) -> int | None:
        """Extend the sender's session, and return its heartbeat interval in ms; else return None.

        None means that nothing was done, and `consumer_heartbeat` has to decide. The result is
        always None while a decision is in progress, or the group's last record is not committed.
        """
        group, context = self._consumer_group(sender.group_id), self._context
        if group is None or context.is_deciding:
            return None
        if group.record_offset > context.committed_offset:
            return None
        return self._consumers.quiet_heartbeat(group, sender, epoch)

    def _became_classic(self, group_id: str, rebalances: bool) -> None:
        """Start the sessions of a group that became a classic one; rebalance it if `rebalances`. Do
        nothing if it is gone."""
        group = self._classic_group(group_id)
        if group is None:
            return
        self._context.submit(partial(self._rebalancer.resume, group), call_reply)
        if rebalances:
            rebalance = partial(self._rebalancer.rebalance_converted, group, BECAME_CLASSIC)
            self._context.submit(rebalance, call_reply)

    def describe_consumers(
        self, group_id: str
    ) -> Steps[Outcome[DescribedConsumerGroup | ApiError]]:
        """Return the outcome that describes a consumer group after its last record is committed.
        The reply is GROUP_ID_NOT_FOUND if there is no such group."""
        group = self._consumer_group(group_id)
        if group is None:
            error = not_found(group_id, is_other=group_id in self.groups)
            return Outcome(error, after=self._loaded_to)
        described = yield from self._consumers.describe(group)
        return Outcome(described, after=group.record_offset)

    # -- offsets -------------------------------------------------------------------------------

    def commit_offsets(
        self, request: OffsetCommitRequest, api_version: int
    ) -> Steps[Outcome[list[OffsetCommitResponseTopic]]]:
        """Return the outcome of an OffsetCommit: an error for all, or the records and an answer for
        each partition. The commit extends the session of a classic member."""
        generation = request.generation_id_or_member_epoch
        error = self._commit_error(request, generation, api_version)
        if error is not ErrorCode.NONE:
            return Outcome([], error=error)
        group = self._classic_group(request.group_id)
        if group is not None and request.member_id in group.members:
            # A commit extends the session, as a heartbeat does.
            self._rebalancer.extend_session(group, group.members[request.member_id])
        records, answers = yield from self.offsets.commit(request, self._scheduler.wall_ms())
        self._metrics.committed(len(records))
        return Outcome(answers, records)

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, api_version: int, transaction: TransactionalAppend
    ) -> Steps[Outcome[list[TxnOffsetCommitResponseTopic]]]:
        """Return the outcome of a TxnOffsetCommit: an error for all, or an answer for each
        partition and the records, as part of the verified `transaction`."""
        error = self._commit_error(request, request.generation_id_or_member_epoch, api_version)
        if error is not ErrorCode.NONE:
            return Outcome([], error=error)
        now = self._scheduler.wall_ms()
        records, answers = yield from self.offsets.commit_transactional(request, now)
        self._metrics.committed(len(records))
        return Outcome(answers, records, transaction=transaction)

    def _commit_error(
        self,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        generation: int,
        api_version: int,
    ) -> ErrorCode:
        """Return the error for an offset commit, from its group's check of the member, or NONE."""
        group = self.groups.get(request.group_id)
        if group is None:
            return commit_error_without_group(generation, api_version)
        return group.commit_error(
            Committer(
                request.member_id,
                request.group_instance_id,
                generation,
                isinstance(request, TxnOffsetCommitRequest),
                api_version,
                partial(self._partitions_of, request),
            )
        )

    def _partitions_of(
        self, request: OffsetCommitRequest | TxnOffsetCommitRequest
    ) -> Iterator[tuple[bytes, int]]:
        """Yield the topic id and partition of each offset; ZERO_UUID for an unknown topic."""
        topics = self._surroundings.topics()
        for topic in request.topics:
            existing = topics.get(topic.name)
            topic_id = ZERO_UUID if existing is None else existing.id
            for partition in topic.partitions:
                yield topic_id, partition.partition_index

    def fetch_offsets(
        self,
        request: OffsetFetchRequestGroup,
        requested: RequestedPartitions | None,
        require_stable: bool,
    ) -> Outcome[ReadOffsets]:
        """Return the outcome of an OffsetFetch of the partitions `requested`, or of all if that is
        None. The reply is a function that returns the offsets; the group may reject the member.

        With `require_stable`, the reply waits until all earlier appends are committed. Without, the
        committed offsets are sent at once. Only a new leader has to wait until all that it loaded
        is committed, because it does not know the previous leader's high watermark.
        """
        group_id = request.group_id
        group = self.groups.get(group_id)
        if group is not None:
            error = group.fetch_error(request.member_id, request.member_epoch)
            if error is not ErrorCode.NONE:
                return Outcome(partial(FetchedOffsets, group_id, {}), error=error)
        if require_stable:
            stable = self.offsets.fetch(group_id, requested, require_stable=True)
            return Outcome(lambda: stable, after=self._context.last_offset)
        read_offsets = partial(self.offsets.fetch, group_id, requested, require_stable=False)
        return Outcome(read_offsets, after=self._loaded_to)

    def delete_offsets(
        self, request: OffsetDeleteRequest
    ) -> Steps[Outcome[list[OffsetDeleteResponseTopic]]]:
        """Return the outcome of an OffsetDelete: tombstones, and an answer for each partition.

        Topics to which members are subscribed get GROUP_SUBSCRIBED_TO_TOPIC. The error for all is
        GROUP_ID_NOT_FOUND, or the group's.
        """
        group = self.groups.get(request.group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.delete_offsets_error()
        if group is None or error is not ErrorCode.NONE:
            return Outcome([], error=error)
        yield from group.read_subscriptions()
        records: list[Record] = []
        answers = []
        pace = Pace(COMMITS_A_SLICE)
        for topic in request.topics:
            subscribed = group.is_subscribed_to(topic.name)
            refusal = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
            partitions = []
            for partition in topic.partitions:
                if pace.is_full():
                    yield None
                index = partition.partition_index
                partitions.append(OffsetDeleteResponsePartition(index, int(refusal)))
                if not subscribed:
                    records += self.offsets.delete(request.group_id, topic.name, index)
            answers.append(OffsetDeleteResponseTopic(topic.name, partitions))
        self._metrics.deleted(len(records))
        return Outcome(answers, records)

    # -- administration ------------------------------------------------------------------------

    def delete_group(
        self, group_id: str, deleted: frozenset[bytes] = frozenset()
    ) -> Steps[Outcome[Sequence[SharePartitionKey]]]:
        """Return the outcome that deletes a group and its offsets, or that has the error.

        The reply is empty, except for a share group with states in the share coordinator: those
        have to be deleted first. `deleted`: the ids of the topics whose states are gone already.
        """
        group = self.groups.get(group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.delete_error()
        if group is None or error is not ErrorCode.NONE:
            return Outcome((), error=error)
        if self._has_shares:
            states, records = yield from self.shares.states_to_delete(group, deleted)
            if states:
                return Outcome(states, records)
        tombstones = yield from self.offsets.delete_group(group_id)
        return Outcome((), [*tombstones, *group.tombstones()])

    def describe(self, group_id: str) -> DescribedGroup | ApiError:
        """Return the description of a classic group, or GROUP_ID_NOT_FOUND if there is none."""
        group = self._classic_group(group_id)
        if group is not None:
            return group.described()
        what = "is not a classic group" if group_id in self.groups else "not found"
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")

    def expire_offsets(self) -> Steps[Outcome[int]]:
        """Return the outcome that removes offsets older than `offsets.retention.minutes`, and
        groups that are empty then, batch by batch.

        The reply is the number of tombstones, as for `forget_topics`.
        """
        now, groups = self._scheduler.wall_ms(), list(self.groups.values())
        retention_ms = self._config.offsets_retention_minutes * 60_000
        scan = expired(groups, self.offsets, now, retention_ms, self._metrics.expired)
        return ShardRemoval(scan).next_batch()

    def forget_topics(self, topics: Mapping[bytes, str]) -> Steps[Outcome[int]]:
        """Return the outcome that removes the offsets committed for deleted topics, batch by batch.
        The reply is the number of tombstones. `topics`: the topics' names by id."""
        return ShardRemoval(self.offsets.delete_topics(list(topics.values()))).next_batch()

    def forget_shared_topics(self, topics: Mapping[bytes, str]) -> Decided[None]:
        """Return the outcome that removes deleted topics from share groups. `topics`: the topics'
        names by id."""
        if not self._has_shares:
            return Outcome(None)
        return self.shares.forget_topics(self.groups.values(), topics)

"""The groups and offsets of one partition of `__consumer_offsets`.

Owns both, and the one way they change: `replay`. Its methods serve one group each and are called
only while the shard is loaded and led here (`CoordinatorRuntime` sees to that). Follows Kafka's
`GroupCoordinatorShard`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.coordinator.coordinator_log import (
    LogRecord,
    Record,
    TransactionalAppend,
    TransactionMarker,
)
from broker.coordinator.coordinator_runtime import Done, ShardContext
from broker.groups.classic_group import ClassicGroup
from broker.groups.classic_group_state import (
    EMPTY,
    STABLE,
)
from broker.groups.classic_member import ClassicMember
from broker.groups.classic_protocol import ClassicProtocol
from broker.groups.coordinator_config import GroupCoordinatorConfig
from broker.groups.group_records import (
    OtherRecord,
    group_metadata_record,
    group_tombstone,
    read_group_record,
)
from broker.groups.joining import Joining
from broker.groups.offset_protocol import (
    commit_error,
    commit_error_without_group,
    delete_group_error,
    delete_offsets_error,
    expiry_clock,
)
from broker.groups.offset_store import OffsetStore
from broker.groups.rebalance import Rebalancer
from protocol.errors import ErrorCode
from protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from protocol.messages.list_groups import ListedGroup
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponseTopic,
)
from storage.ports import Scheduler

log = logging.getLogger(f"ottla.{__name__}")

CLASSIC = "classic"
TOMBSTONES_PER_APPEND = 1_000
"""Expiry and deletion of topics write in slices, so that no batch outgrows max.message.bytes."""


class GroupShard:
    """One shard. `context` is its way to the log."""

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        scheduler: Scheduler,
        random_bytes: Callable[[int], bytes],
        context: ShardContext,
    ) -> None:
        self._config = config
        self._scheduler = scheduler
        self._context = context
        self._live = False
        self._rebalancer = Rebalancer(config, scheduler, context)
        self.protocol = ClassicProtocol(config, self._rebalancer, context, random_bytes)
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore(config.offset_metadata_max_bytes, lambda: context.high_watermark)
        self._loaded_to = -1
        self._others: dict[str, int] = {}

    # -- replay --------------------------------------------------------------------------------

    def replay(self, record: LogRecord) -> None:
        """Apply one record of the log."""
        assert record.key is not None
        found = read_group_record(record.key, record.value)
        if isinstance(found, OtherRecord):
            self._others[found.name] = self._others.get(found.name, 0) + 1
            return
        key, value = found
        if isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value, record.offset)
        else:
            assert isinstance(key, OffsetCommitKey)
            assert value is None or isinstance(value, OffsetCommitValue)
            if value is not None and key.group not in self.groups:
                # Offsets without members: a simple consumer's group, which has no record.
                self.groups[key.group] = ClassicGroup(key.group, value.commit_timestamp)
            self.offsets.replay(key, value, record.offset, record.producer_id)

    def replay_marker(self, marker: TransactionMarker) -> None:
        """Apply the end of a transaction that committed offsets."""
        self.offsets.replay_marker(marker.producer_id, marker.committed, marker.offset)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None, offset: int) -> None:
        group = self.groups.get(group_id)
        if value is None:
            if group is not None:
                del self.groups[group_id]
                if self._live:
                    self._rebalancer.bury(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif group is not None and self._live:
            group.install(value, offset, self._scheduler.wall_ms())
        else:
            self.groups[group_id] = ClassicGroup.restore(group_id, value, offset)

    def on_loaded(self) -> None:
        """The log is replayed: expect signs of life from all members."""
        self._live = True
        self._loaded_to = self._context.last_offset
        for group in list(self.groups.values()):
            self._rebalancer.resume(group)
        if self._others:
            kinds = ", ".join(f"{count} {name}" for name, count in sorted(self._others.items()))
            log.warning(
                "__consumer_offsets-%d holds records that Ottla keeps but does not understand: %s",
                self._context.partition,
                kinds,
            )

    def on_unloaded(self) -> None:
        """Led elsewhere: everybody who waits looks for the new coordinator."""
        self._live = False
        groups, self.groups = self.groups, {}
        for group in groups.values():
            self._rebalancer.bury(group, ErrorCode.NOT_COORDINATOR)

    def after_commit(self, done: Done, offset: int | None = None) -> None:
        """See `ShardContext.after_commit`."""
        self._context.after_commit(done, offset)

    # -- members -------------------------------------------------------------------------------

    def join(self, joining: Joining) -> None:
        """JoinGroup; a new member's group is made on the way."""
        request = joining.request
        group = self.groups.get(request.group_id)
        if group is None:
            if request.member_id:
                joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
                return
            now = self._scheduler.wall_ms()
            value = GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=now)
            error = self._context.append([group_metadata_record(request.group_id, value)])
            if error is not ErrorCode.NONE:
                joining.refuse(error)
                return
            group = self.groups[request.group_id]
        self.protocol.join(group, joining)

    # -- offsets -------------------------------------------------------------------------------

    def commit_offsets(
        self,
        request: OffsetCommitRequest,
        api_version: int,
        done: Callable[[ErrorCode, list[OffsetCommitResponseTopic]], None],
    ) -> None:
        """OffsetCommit: `done` with an error for all, or an answer for each partition."""
        group = self.groups.get(request.group_id)
        generation = request.generation_id_or_member_epoch
        if group is None:
            error = commit_error_without_group(generation, api_version)
        else:
            error = commit_error(group, request.member_id, request.group_instance_id, generation)
            self._extend_session_by_commit(group, request.member_id, error)
        if error is not ErrorCode.NONE:
            done(error, [])
            return
        records, answers = self.offsets.commit(request, self._scheduler.wall_ms())
        error = self._context.append(records)
        if error is not ErrorCode.NONE or not records:
            done(error, answers)
        else:
            self._context.after_commit(lambda committed: done(committed, answers))

    def _extend_session_by_commit(
        self, group: ClassicGroup, member_id: str, error: ErrorCode
    ) -> None:
        member = group.members.get(member_id)
        if error is ErrorCode.NONE and member is not None:
            self._rebalancer.extend_session(group, member)

    def commit_transactional_offsets(
        self,
        request: TxnOffsetCommitRequest,
        api_version: int,
        transaction: TransactionalAppend,
        done: Callable[[ErrorCode, list[TxnOffsetCommitResponseTopic]], None],
    ) -> None:
        """TxnOffsetCommit, whose transaction was verified: answered as `commit_offsets` is."""
        group = self.groups.get(request.group_id)
        generation = request.generation_id
        if group is None:
            error = commit_error_without_group(generation, api_version)
        else:
            error = commit_error(
                group,
                request.member_id,
                request.group_instance_id,
                generation,
                is_transactional=True,
            )
        if error is not ErrorCode.NONE:
            done(error, [])
            return
        records, answers = self.offsets.commit_transactional(request, self._scheduler.wall_ms())
        error = self._context.append(records, transaction)
        if error is not ErrorCode.NONE or not records:
            done(error, answers)
        else:
            self._context.after_commit(lambda committed: done(committed, answers))

    def fetch_offsets(
        self,
        request: OffsetFetchRequestGroup,
        require_stable: bool,
        done: Callable[[OffsetFetchResponseGroup], None],
    ) -> None:
        """OffsetFetch of one group.

        With `require_stable` answered when all is committed that was appended before. Without, it
        tells at once what is committed, but on a new leader, which does not know yet how far the
        one before had come: all that it loaded has to be committed first.
        """
        group_id, asked = request.group_id, request.topics

        def answer(error: ErrorCode, topics: list[OffsetFetchResponseTopics]) -> None:
            if error is ErrorCode.NONE:
                done(OffsetFetchResponseGroup(group_id, topics))
            else:
                # Consumers before 3.9 do not retry COORDINATOR_NOT_AVAILABLE here.
                done(OffsetFetchResponseGroup(group_id, [], int(ErrorCode.NOT_COORDINATOR)))

        if require_stable:
            stable = self.offsets.fetch(group_id, asked, require_stable=True)
            self._context.after_commit(lambda error: answer(error, stable))
            return

        def loaded(error: ErrorCode) -> None:
            answer(error, self.offsets.fetch(group_id, asked, require_stable=False))

        self._context.after_commit(loaded, self._loaded_to)

    def delete_offsets(
        self, request: OffsetDeleteRequest, done: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """OffsetDelete: refused for topics that the group's members are subscribed to."""
        group = self.groups.get(request.group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else delete_offsets_error(group)
        if group is None or error is not ErrorCode.NONE:
            done(OffsetDeleteResponse(error_code=int(error)))
            return
        records: list[Record] = []
        answers = []
        for topic in request.topics:
            subscribed = group.is_subscribed_to(topic.name)
            refusal = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
            partitions = []
            for partition in topic.partitions:
                index = partition.partition_index
                partitions.append(OffsetDeleteResponsePartition(index, int(refusal)))
                if not subscribed:
                    records += self.offsets.delete(request.group_id, topic.name, index)
            answers.append(OffsetDeleteResponseTopic(topic.name, partitions))

        def committed(code: ErrorCode) -> None:
            good = code is ErrorCode.NONE
            done(OffsetDeleteResponse(error_code=int(code), topics=answers if good else []))

        self._append_then(records, committed)

    # -- administration ------------------------------------------------------------------------

    def delete_group(self, group_id: str, done: Done) -> None:
        """DeleteGroups of one group: it and its offsets are gone."""
        group = self.groups.get(group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else delete_group_error(group)
        if error is not ErrorCode.NONE:
            done(error)
            return
        offsets = self.offsets.delete_group(group_id)
        self._append_then([*offsets, group_tombstone(group_id)], done)

    def describe(self, group_id: str) -> DescribedGroup | None:
        """DescribeGroups of one group; None where it does not exist."""
        group = self.groups.get(group_id)
        if group is None:
            return None
        protocol = group.protocol_name if group.state is STABLE else None
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=protocol or "",
            members=[_described(member, protocol) for member in group.members.values()],
        )

    def list_groups(self) -> list[ListedGroup]:
        """ListGroups: all groups of the shard."""
        return [
            ListedGroup(group.group_id, group.protocol_type or "", group.state.value, CLASSIC)
            for group in self.groups.values()
        ]

    def expire_offsets(self) -> None:
        """Remove offsets older than `offsets.retention.minutes`, and groups that are empty then."""
        now = self._scheduler.wall_ms()
        retention = self._config.offsets_retention_minutes * 60_000
        records: list[Record] = []
        for group in self.groups.values():
            clock = expiry_clock(group)
            if clock is None:
                continue
            expired, nothing_left = self.offsets.expire(
                group.group_id, group.is_subscribed_to, clock, now, retention
            )
            records += expired
            if nothing_left and group.state is EMPTY and not group.pending_members:
                records.append(group_tombstone(group.group_id))
        self._append_in_slices(records, "expired offsets and groups")

    def forget_topic(self, topic: str) -> None:
        """A topic was deleted: so are the offsets committed for it."""
        self._append_in_slices(self.offsets.delete_topic(topic), f"offsets of deleted {topic}")

    def _append_in_slices(self, records: list[Record], what: str) -> None:
        for start in range(0, len(records), TOMBSTONES_PER_APPEND):
            error = self._context.append(records[start : start + TOMBSTONES_PER_APPEND])
            if error is not ErrorCode.NONE:
                log.warning("%s not removed: %s", what, error.name)
                return
        if records:
            log.info("removed %s: %d tombstones", what, len(records))

    def _append_then(self, records: list[Record], done: Done) -> None:
        error = self._context.append(records)
        if error is not ErrorCode.NONE or not records:
            done(error)
        else:
            self._context.after_commit(done)


def _described(member: ClassicMember, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.metadata(protocol),
        member_assignment=member.assignment,
    )

"""The group coordinator: finds a group's shard, or returns the error if it is not here.

A group belongs to the partition of `__consumer_offsets` that its id hashes to, and that partition's
leader serves it. Owns the shards (through `CoordinatorRuntime`), the checks that need no group, and
the timer of offset expiry. Never changes a group: `GroupShard` does. Follows Kafka's
`GroupCoordinatorService`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from broker.config.values import BrokerConfig
from broker.coordinator.coordinator_log import (
    CoordinatorLog,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
)
from broker.coordinator.coordinator_partitions import partition_for
from broker.coordinator.coordinator_runtime import CoordinatorRuntime, ShardState
from broker.coordinator.outcome import Decided, Done, Outcome, ReplyWithError, call_reply
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import SyncReply, sync_refusal
from broker.groups.consumer.heartbeat import refusal
from broker.groups.consumer.membership import Beat, HeartbeatSender
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.consumer.validation import heartbeat_fault
from broker.groups.fetched_offsets import FetchedOffsets, RequestedPartitions
from broker.groups.group import Group
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_shard import GroupShard, ReadOffsets
from broker.groups.listing import listed
from broker.groups.offset_table import PartitionOffset
from broker.verification.transaction_verification import txn_offset_commit_operation
from ground.ports import Scheduler, Timer
from ground.sliced_work import SlicedWork, Steps
from protocol.errors import ApiError, ErrorCode
from protocol.message import replace
from protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from protocol.messages.describe_groups import DescribedGroup
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponseTopic
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponseTopic,
)
from protocol.primitives import uuid_to_string

if TYPE_CHECKING:
    from broker.groups.share.ports import SharePorts, ShareStates
    from broker.groups.share.protocol import ShareProtocol
    from broker.groups.share.requests import ShareGroupRequests
    from broker.share.state.share_log import SharePartitionKey

log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

OFFSETS_TOPIC = "__consumer_offsets"

PROTOCOLS_MAX = 1_000
"""The limit for a member's protocols: each join compares them with those of other members."""
COUNTED_FOR_MS = 1_000
"""The time for which a count of all groups is reused."""


class GroupCoordinator:
    """The group coordinator of a broker.

    `partition_count()` is the number of partitions of `__consumer_offsets`, also before that topic
    exists. `random_bytes(n)` is for member ids. `share_ports()` returns the ports of share groups;
    the first share group calls it. `sliced` runs long work in slices; None: in one go.
    """

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        coordinator_log: CoordinatorLog,
        random_bytes: Callable[[int], bytes],
        partition_count: Callable[[], int],
        surroundings: ConsumerGroupInputs,
        share_ports: Callable[[], SharePorts],
        sliced: SlicedWork | None = None,
    ) -> None:
        """Create a coordinator without partitions; `on_elected` loads them."""
        self._config = config
        self._scheduler = scheduler
        self._partition_count = partition_count
        self._random_bytes = random_bytes
        self._surroundings = surroundings
        self._share_ports = share_ports
        self._stopped = False
        self._expiry: Timer | None = None
        self._sliced = sliced
        self.metrics = metrics = GroupMetrics()
        self._counts: Counter[tuple[str, str]] | None = None
        self._counted_ms = 0.0
        self._runtime = CoordinatorRuntime(
            "group coordinator",
            coordinator_log,
            scheduler,
            lambda context: GroupShard(
                *(config, scheduler, random_bytes, surroundings),
                self._share_states,
                metrics,
                context,
            ),
            config.offsets_commit_timeout_ms,
            sliced,
        )

    def _share_states(self) -> ShareStates:
        return self._share_ports().states

    @cached_property
    def shares(self) -> ShareGroupRequests:
        """The requests about share groups; their modules load at the first use."""
        from broker.groups.share.requests import ShareGroupRequests

        def submit(
            group_id: str,
            decide: Callable[[ShareProtocol], Decided[T]],
            done: ReplyWithError[T],
            refuse: Done,
            *,
            named: bool = True,
        ) -> None:
            """Run a decision of the group's shard, as `_submit` does."""
            self._submit(group_id, lambda shard: decide(shard.shares), done, refuse, named=named)

        return ShareGroupRequests(
            self._surroundings.image, self._share_ports(), submit, self._sliced
        )

    # -- leadership ----------------------------------------------------------------------------

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        """Load the groups of a partition of `__consumer_offsets`, which this broker now leads. The
        first call also starts the timer of offset expiry."""
        self._runtime.on_elected(partition, leader_epoch)
        if self._expiry is None and not self._stopped:
            self._schedule_expiry()

    def on_resigned(self, partition: int, leader_epoch: int | None = None) -> None:
        """Unload the groups of `partition`, which this broker no longer leads. Ignore a
        `leader_epoch` that is older than the loaded one."""
        self._runtime.on_resigned(partition, leader_epoch)

    def on_topics_deleted(self, topics: Mapping[bytes, str]) -> None:
        """Remove the offsets committed for deleted topics, in later turns of the loop, by
        tombstones in every loaded partition. The result is only logged. Share groups forget the
        topics. `topics`: their names by id."""
        subject = f"offsets of deleted {', '.join(topics.values())}"
        forget = partial(GroupShard.forget_topics, topics=topics)
        self._runtime.submit_to_all(forget, partial(_log_removal, subject))
        self._runtime.submit_to_all(
            partial(GroupShard.forget_shared_topics, topics=topics), _log_forgotten
        )

    def marker_error(self, partition: int) -> ErrorCode:
        """Return NONE if a marker may be written to `partition` of `__consumer_offsets`.

        Else return the error: only a live shard can replay the marker, and the transaction
        coordinator retries until there is one.
        """
        if self._stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self._runtime.shard(partition)
        return shard if isinstance(shard, ErrorCode) else ErrorCode.NONE

    def on_transaction_marker(self, partition: int, marker: TransactionMarker) -> None:
        """Replay `marker`, which WriteTxnMarkers has appended to a partition of the topic, if its
        shard is live."""
        self._runtime.on_marker(partition, marker)

    def shutdown(self) -> None:
        """Unload all groups and stop the timer. Parked requests get NOT_COORDINATOR, later ones
        COORDINATOR_NOT_AVAILABLE."""
        self._stopped = True
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._runtime.shutdown()

    def _schedule_expiry(self) -> None:
        """Set the timer for the next removal of expired offsets
        (`offsets.retention.check.interval.ms`)."""
        self._expiry = self._scheduler.call_later(
            self._config.offsets_retention_check_interval_ms, self._expire
        )

    def _expire(self) -> None:
        """Schedule the next removal. Remove expired offsets and empty groups of all live shards, in
        later turns of the loop, and log the result."""
        self._schedule_expiry()
        done = partial(_log_removal, "expired offsets and groups")
        self._runtime.submit_to_all(GroupShard.expire_offsets, done)

    # -- finding -------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that holds `group_id`."""
        return partition_for(group_id, self._partition_count())

    def serves(self, group_id: str) -> bool:
        """Return whether this broker leads the partition of `group_id`, and has loaded it."""
        return not isinstance(self._shard_for(group_id), ErrorCode)

    def _shard_for(self, group_id: str) -> GroupShard | ErrorCode:
        """Return the live shard of `group_id`, or the error to answer with."""
        if self._stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._runtime.shard(self.partition_for(group_id))

    def _error_of(self, group_id: str) -> ErrorCode:
        """Return COORDINATOR_NOT_AVAILABLE after `shutdown`, INVALID_GROUP_ID for an empty id, else
        NONE."""
        if self._stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID

    def _submit(
        self,
        group_id: str,
        decide: Callable[[GroupShard], Decided[T]],
        done: ReplyWithError[T],
        refuse: Done,
        *,
        named: bool = True,
    ) -> None:
        """Run a decision of the group's shard; `done` gets its reply.

        Call `refuse` instead after `shutdown`, if no shard is live here, or, with `named`, for an
        empty group id.
        """
        error = self._error_of(group_id)
        if error is not ErrorCode.NONE and (named or self._stopped):
            refuse(error)
        else:
            self._runtime.submit(self.partition_for(group_id), decide, done, refuse)

    # -- members -------------------------------------------------------------------------------

    def join(self, joining: Joining) -> None:
        """Pass a JoinGroup to its group, which answers by `joining`, perhaps after others have
        joined.

        Rejects an empty group id, a session time-out outside the configured limits
        (INVALID_SESSION_TIMEOUT), and more than PROTOCOLS_MAX protocols
        (INCONSISTENT_GROUP_PROTOCOL).
        """
        request = joining.request
        shortest = self._config.group_min_session_timeout_ms
        longest = self._config.group_max_session_timeout_ms
        error = self._error_of(request.group_id)
        if error is ErrorCode.NONE and not shortest <= request.session_timeout_ms <= longest:
            error = ErrorCode.INVALID_SESSION_TIMEOUT
        if error is ErrorCode.NONE and len(request.protocols) > PROTOCOLS_MAX:
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if error is not ErrorCode.NONE:
            joining.refuse(error, request.member_id)
        else:
            self._submit(
                request.group_id, lambda shard: shard.join(joining), call_reply, joining.refuse
            )

    def sync(self, request: SyncGroupRequest, reply: SyncReply) -> None:
        """Pass a SyncGroup to its group: `reply` gets the member's assignment, perhaps later, or an
        error."""
        self._submit(
            request.group_id,
            lambda shard: shard.sync(request, reply),
            call_reply,
            lambda error: reply(sync_refusal(error)),
        )

    def heartbeat(self, request: HeartbeatRequest, done: Done) -> None:
        """Extend the session of a member that sent a Heartbeat: `done` gets NONE or the error.
        While the group is still loading, the answer is NONE."""

        def refuse(error: ErrorCode) -> None:
            """Answer with `error`, but with NONE while the group is loading."""
            loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            done(ErrorCode.NONE if loading else error)

        # Submit it in order with the decisions: during a conversion the group is incomplete.
        self._submit(
            request.group_id,
            lambda shard: Outcome(None, error=shard.heartbeat(request)),
            lambda error, _: done(error),
            refuse,
        )

    def leave(self, request: LeaveGroupRequest, done: Callable[[LeaveGroupResponse], None]) -> None:
        """Remove the members of a LeaveGroup, one or more (`request.members` in every version).
        `done` gets an error for all, or the answer for each member."""
        self._submit(
            request.group_id,
            lambda shard: shard.leave(
                request, lambda members: done(LeaveGroupResponse(members=members))
            ),
            call_reply,
            lambda error: done(LeaveGroupResponse(error_code=error)),
        )

    def consumer_heartbeat(
        self, beat: Beat, api_version: int, done: Callable[[ConsumerGroupHeartbeatResponse], None]
    ) -> None:
        """Pass a ConsumerGroupHeartbeat to its group; `done` gets the response. A member without an
        id gets one.

        Rejects an invalid request, and any request while consumer groups are not enabled
        (UNSUPPORTED_VERSION).
        """
        if not self._surroundings.serves_consumer_groups():
            done(refusal(ApiError(ErrorCode.UNSUPPORTED_VERSION)))
            return
        request = beat.request
        fault = heartbeat_fault(request, api_version, self._surroundings.assignors.names)
        if fault is not None:
            done(refusal(fault))
            return
        if not request.member_id:
            with_id = replace(request, member_id=uuid_to_string(self._random_bytes(16)))
            beat = beat._replace(request=with_id)

        def respond(error: ErrorCode, response: ConsumerGroupHeartbeatResponse) -> None:
            """Pass the response to `done`, or a response with the error of its records' commit."""
            done(refusal(ApiError(error)) if error is not ErrorCode.NONE else response)

        self._submit(
            request.group_id,
            lambda shard: shard.consumer_heartbeat(beat),
            respond,
            lambda error: done(refusal(ApiError(error))),
        )

    def quiet_heartbeat(self, sender: HeartbeatSender, epoch: int) -> int | None:
        """Extend the session of a member whose heartbeat has only `epoch`, if that changes no
        group.

        Return the interval until the next heartbeat, in ms. Return None if nothing was done: the
        request then needs `consumer_heartbeat`.
        """
        if not self._surroundings.serves_consumer_groups():
            return None
        shard = self._shard_for(sender.group_id)
        return None if isinstance(shard, ErrorCode) else shard.quiet_heartbeat(sender, epoch)

    # -- offsets -------------------------------------------------------------------------------

    def commit_offsets(
        self,
        request: OffsetCommitRequest,
        api_version: int,
        done: ReplyWithError[list[OffsetCommitResponseTopic]],
    ) -> None:
        """Commit the offsets of an OffsetCommit: `done` gets an error for all, or NONE and topic
        answers. The group id may be empty."""
        self._submit(
            request.group_id,
            lambda shard: shard.commit_offsets(request, api_version),
            done,
            lambda error: done(error, []),
            named=False,
        )

    def commit_transactional_offsets(
        self,
        request: TxnOffsetCommitRequest,
        api_version: int,
        done: ReplyWithError[list[TxnOffsetCommitResponseTopic]],
    ) -> None:
        """Append the offsets of a TxnOffsetCommit to its transaction, with an answer as from
        `commit_offsets`.

        The transaction coordinator first checks that the group's partition of `__consumer_offsets`
        is in the transaction, or adds it (KIP-890).
        """
        group_id = request.group_id
        error = self._error_of(group_id)
        shard = self._shard_for(group_id) if error is ErrorCode.NONE else error
        if isinstance(shard, ErrorCode):
            done(shard, [])
            return

        def verified(permission: TransactionalAppend | ErrorCode) -> None:
            """Commit the offsets with this permission, or answer with its error."""
            if isinstance(permission, ErrorCode):
                done(permission, [])
                return
            self._submit(
                group_id,
                lambda shard: shard.commit_transactional_offsets(request, api_version, permission),
                done,
                lambda error: done(error, []),
            )

        self._runtime.verify_transaction(
            self.partition_for(group_id),
            TransactionalProducer(
                request.transactional_id, request.producer_id, request.producer_epoch
            ),
            txn_offset_commit_operation(api_version),
            verified,
        )

    def fetch_offsets(
        self,
        group: OffsetFetchRequestGroup,
        requested: RequestedPartitions | None,
        require_stable: bool,
        done: Callable[[FetchedOffsets | ErrorCode], None],
    ) -> None:
        """Read a group's offsets, for an OffsetFetch: of the partitions `requested`, or of all if
        None.

        `done` gets the offsets or an error, perhaps after earlier commits are replicated. Of
        `group`, only the group id and the member are used; its topics are ignored.
        """

        def respond(error: ErrorCode, read_offsets: ReadOffsets) -> None:
            """Read the offsets and pass them to `done`, or pass the error.
            COORDINATOR_NOT_AVAILABLE becomes NOT_COORDINATOR."""
            if error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                # Consumers before 3.9 do not retry COORDINATOR_NOT_AVAILABLE here.
                error = ErrorCode.NOT_COORDINATOR
            done(read_offsets() if error is ErrorCode.NONE else error)

        self._submit(
            group.group_id,
            lambda shard: shard.fetch_offsets(group, requested, require_stable),
            respond,
            done,
            named=False,
        )

    def delete_offsets(
        self, request: OffsetDeleteRequest, done: Callable[[OffsetDeleteResponse], None]
    ) -> None:
        """Delete offsets of a group, for an OffsetDelete; `done` gets an error for all, or topic
        answers."""

        def respond(error: ErrorCode, topics: list[OffsetDeleteResponseTopic]) -> None:
            """Answer with the topics, or, if there is an error, with that alone."""
            good = error is ErrorCode.NONE
            done(OffsetDeleteResponse(error_code=int(error), topics=topics if good else []))

        self._submit(
            request.group_id,
            lambda shard: shard.delete_offsets(request),
            respond,
            lambda error: respond(error, []),
        )

    # -- administration ------------------------------------------------------------------------

    def describe(self, group_id: str) -> Steps[DescribedGroup | ApiError]:
        """Return the description of a classic group, or the error: GROUP_ID_NOT_FOUND if none.

        Waits while an append is replayed only in part: amid its conversion, a group is incomplete.
        """
        yield from self._runtime.wait_until_replayed(self.partition_for(group_id))
        shard = self._shard_for(group_id)
        if isinstance(shard, ErrorCode):
            return ApiError(shard)
        return shard.describe(group_id)

    def describe_consumers(
        self, group_id: str, done: Callable[[DescribedConsumerGroup], None]
    ) -> None:
        """Describe a consumer group, for ConsumerGroupDescribe. An error is in the answer:
        GROUP_ID_NOT_FOUND if there is none."""

        def refuse(error: ErrorCode, message: str | None = None) -> None:
            """Answer with the error; `message` None: without a message."""
            done(DescribedConsumerGroup(error_code=error, error_message=message, group_id=group_id))

        def respond(error: ErrorCode, group: DescribedConsumerGroup | ApiError) -> None:
            """Answer with the description, or with the error."""
            if error is not ErrorCode.NONE:
                refuse(error)
            elif isinstance(group, ApiError):
                refuse(group.code, group.message)
            else:
                done(group)

        if not self._surroundings.serves_consumer_groups():
            refuse(ErrorCode.UNSUPPORTED_VERSION)
            return
        self._submit(group_id, lambda shard: shard.describe_consumers(group_id), respond, refuse)

    def delete(self, group_id: str, done: Done, deleted: frozenset[bytes] = frozenset()) -> None:
        """Delete a group and its offsets, for DeleteGroups; `done` gets NONE when that is
        committed, or the error.

        The states of a share group are deleted first. `deleted`: the ids of the topics whose states
        are gone already.
        """

        def decided(error: ErrorCode, states: Sequence[SharePartitionKey]) -> None:
            """Answer, or delete the states and then the group."""
            if error is ErrorCode.NONE and states:
                self.shares.delete_states(states, partial(self.delete, group_id, done), done)
            else:
                done(error)

        decide = partial(GroupShard.delete_group, group_id=group_id, deleted=deleted)
        self._submit(group_id, decide, decided, done, named=False)

    def group_counts(self) -> Counter[tuple[str, str]]:
        """Return the number of groups on this broker by type and state, named as in ListGroups.

        A count is reused for a second, so that several metrics in a row count only once.
        """
        now_ms = self._scheduler.monotonic_ms()
        if self._counts is None or now_ms - self._counted_ms >= COUNTED_FOR_MS:
            self._counts, self._counted_ms = Counter(), now_ms
            for shard in self._runtime.active_shards():
                for group in shard.groups.values():
                    listed = group.listed()
                    self._counts[listed.group_type, listed.group_state] += 1
        return self._counts

    def offset_count(self) -> int:
        """Return the number of committed offsets on this broker."""
        return sum(shard.offsets.count for shard in self._runtime.active_shards())

    def committed_offsets(self) -> Iterator[tuple[str, str, list[PartitionOffset]]]:
        """Yield the group id, the topic and the committed offsets, for each group and topic here.

        The caller may pause between steps; each result is as of its step.
        """
        for shard in list(self._runtime.active_shards()):
            yield from shard.offsets.all_committed()

    def partition_counts(self) -> Counter[ShardState]:
        """Return the number of partitions of `__consumer_offsets` here, by their shard's state."""
        return self._runtime.partition_counts()

    def list_groups(self, request: ListGroupsRequest) -> Steps[ListGroupsResponse]:
        """Return the answer to ListGroups: the groups here, filtered by state and by type.

        The groups are those of this moment; each state is as of its slice. States and types are
        compared without regard to case, as in Kafka. The answer is an error after `shutdown` and
        while a partition is loading.
        """
        if self._stopped:
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self._runtime.is_loading():
            return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        groups: list[Group] = []
        for partition in self._runtime.partitions():
            yield from self._runtime.wait_until_replayed(partition)
            shard = self._runtime.shard(partition)
            groups += [] if isinstance(shard, ErrorCode) else shard.groups.values()
        return ListGroupsResponse(groups=(yield from listed(groups, request)))


def _log_removal(subject: str, error: ErrorCode, tombstones: int) -> None:
    """Log the error of a removal at WARNING, or the number of tombstones, if there are any, at
    INFO."""
    if error is not ErrorCode.NONE:
        log.warning("%s not removed: %s", subject, error.name)
    elif tombstones:
        log.info("removed %s: %d tombstones", subject, tombstones)


def _log_forgotten(error: ErrorCode, _: None) -> None:
    """Log at WARNING that share groups could not forget deleted topics."""
    if error is not ErrorCode.NONE:
        log.warning("share groups still have deleted topics: %s", error.name)

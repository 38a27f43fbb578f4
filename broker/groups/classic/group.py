"""A classic group: its state, members, generation and protocol vote, without clock, log or replies.

Owns the present state of a group; `group_state` has the states. Durable are the protocol, the
generation, the leader, and the members with their assignments, as in the last GroupMetadata record.
`restore` creates a group from a record, `install` applies a live group's own record. The rest is
soft: which members have joined or synced, and parked requests. For its shard (`Group`) it checks
commits, reads and deletions of offsets, and dates the start of their retention. Never sends, writes
or waits: `protocol` and `rebalance` do.

Follows Kafka's `ClassicGroup`; KIP-211 (expiry), KIP-345 (static members), KIP-394 (pending
members), KIP-814.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.coordinator.coordinator_log import Record
from broker.groups.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
    GroupEvent,
)
from broker.groups.classic.member import ClassicMember, JoinReply
from broker.groups.committed_offset import CommittedOffset
from broker.groups.deadline import Deadline
from broker.groups.group import Committer
from broker.groups.group_records import group_tombstone
from ground.sliced_work import Pace, Steps, in_bulk
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_steps
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.describe_groups import DescribedGroup
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponseMember
from protocol.messages.list_groups import ListedGroup

CLASSIC = "classic"
"""The type of these groups in ListGroups."""
CONSUMER_PROTOCOL = "consumer"
BYTES_A_PIECE = 64
"""The bytes of a subscription that count as one more piece of a slice."""


class ClassicGroup:
    """A classic group. `state_timestamp_ms` is −1 if an old record has no such time."""

    def __init__(self, group_id: str, state_timestamp_ms: int = -1) -> None:
        """Create an Empty group of generation 0, without members."""
        self.group_id = group_id
        self.state = EMPTY
        self.previous_state = DEAD
        self.state_timestamp_ms = state_timestamp_ms
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        self.subscribed_topics: dict[str, None] | None = None
        """The topics of all members' subscriptions. None before `read_subscriptions`, and if the
        metadata is unreadable or not that of consumers."""
        self._subscriptions: list[bytes] | None = None
        """The metadata of this generation's members, until `read_subscriptions` parses it."""
        self.record_offset = -1
        """The offset of the last GroupMetadata record; answers wait for its commit."""
        self.pending_members: dict[str, Deadline] = {}
        """The member ids that were sent to clients that have not joined yet (KIP-394)."""
        self.pending_sync: dict[str, None] = {}
        self._has_grown = False
        self.awaiting_join_count = 0
        self._protocol_counts: dict[str, int] = {}
        self._join_deadline: Deadline | None = None
        self._sync_deadline: Deadline | None = None

    # -- state ---------------------------------------------------------------------------------

    def can(self, event: GroupEvent) -> bool:
        """Return whether `event` is legal in this state."""
        return event in TRANSITIONS[self.state]

    def fire(self, event: GroupEvent, now_ms: int) -> None:
        """Change the state by `event`, and set its time to `now_ms`, wall-clock time. Raises
        AssertionError if the event is illegal in this state."""
        assert self.can(event), f"group {self.group_id}: {event.value} in {self.state.value}"
        self.previous_state = self.state
        self.state = TRANSITIONS[self.state][event]
        self.state_timestamp_ms = now_ms

    @property
    def is_simple(self) -> bool:
        """True if the group only has offsets, because no member ever joined."""
        return self.protocol_type is None

    @property
    def uses_consumer_protocol(self) -> bool:
        """True if the members are consumers, whose subscriptions can be parsed."""
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance time-out of any member."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- membership ----------------------------------------------------------------------------

    def add(self, member: ClassicMember) -> None:
        """Add `member`, whose id is then no longer pending. The first member becomes the leader and
        sets the protocol type."""
        assert member.member_id not in self.members
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if self.state is PREPARING_REBALANCE and self.previous_state is EMPTY:
            self._has_grown = True
        self._count_protocols(member, 1)
        self.awaiting_join_count += member.is_awaiting_join
        self.forget_pending(member.member_id)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Remove a member, or a pending member id, and stop its timer. If it was the leader, the
        next member becomes the leader.

        Return the member, which keeps its parked replies; None if there was no such member.
        """
        self.forget_pending(member_id)
        self.pending_sync.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self._count_protocols(member, -1)
        self.awaiting_join_count -= member.is_awaiting_join
        if member.session is not None:
            member.session.cancel()
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        return member

    def forget_pending(self, member_id: str) -> None:
        """Remove `member_id` if it is pending, and stop its timer."""
        deadline = self.pending_members.pop(member_id, None)
        if deadline is not None:
            deadline.cancel()

    def replace_static_member(
        self, instance_id: str, old_member_id: str, new_member_id: str
    ) -> ClassicMember:
        """Replace a static member by a copy with a new member id, in the same position of the
        group. Return the new member.

        It stays the leader if it was, and has no session yet; the old session is cancelled.
        """
        old = self.members[old_member_id]
        assert old.group_instance_id == instance_id
        assert not old.is_awaiting_join
        new = ClassicMember(
            member_id=new_member_id,
            group_instance_id=instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            session_timeout_ms=old.session_timeout_ms,
            protocol_type=old.protocol_type,
            protocols=old.protocols,
            assignment=old.assignment,
        )
        # The new id has the old assignment, so the sync phase does not wait for it.
        self.pending_sync.pop(old_member_id, None)
        self.members = {
            new_member_id if member is old else key: new if member is old else member
            for key, member in self.members.items()
        }
        if old.session is not None:
            old.session.cancel()
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self.static_members[instance_id] = new_member_id
        return new

    def validate_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Return NONE if the group has this member, else UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID
        if the instance id belongs to another member."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # -- the vote ------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: list[JoinGroupRequestProtocol]) -> bool:
        """Return whether a member with these protocols may join.

        One of them must be common to all members, and the type the same; an Empty group accepts any
        type and protocols that are not empty.
        """
        if self.state is EMPTY:
            return bool(protocol_type) and bool(protocols)
        if self.protocol_type != protocol_type:
            return False
        member_count = len(self.members)
        return any(
            self._protocol_counts.get(protocol.name, 0) == member_count for protocol in protocols
        )

    def select_protocol(self) -> str:
        """Return the protocol with the most votes, among those that all members support.

        Each member votes for the protocol that it prefers. In a tie, the first that got a vote
        wins.
        """
        candidates = self._common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def _common_protocols(self) -> dict[str, int]:
        """Return the protocols that all members support, with their counts."""
        member_count = len(self.members)
        return {
            name: count for name, count in self._protocol_counts.items() if count == member_count
        }

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        """Add `change` to the number of members that support each of the member's protocols."""
        for name in dict.fromkeys(protocol.name for protocol in member.protocols):
            count = self._protocol_counts.get(name, 0) + change
            if count:
                self._protocol_counts[name] = count
            else:
                del self._protocol_counts[name]

    # -- the join phase ------------------------------------------------------------------------

    @property
    def has_all_members_joined(self) -> bool:
        """True if all members have (re)joined, and no member id is pending."""
        return not self.pending_members and self.awaiting_join_count == len(self.members)

    def park_join(self, member: ClassicMember, reply: JoinReply) -> JoinReply | None:
        """Park a JoinGroup of `member`. Return the reply that was parked before, or None."""
        before = self.take_join(member)
        member.park_join(reply)
        self.awaiting_join_count += 1
        return before

    def take_join(self, member: ClassicMember) -> JoinReply | None:
        """Remove and return the reply of a member's parked JoinGroup; None if none is parked."""
        reply = member.park_join(None)
        if reply is not None and member.member_id in self.members:
            self.awaiting_join_count -= 1
        return reply

    def take_growth(self) -> bool:
        """Return whether members joined an empty group's first join phase since the last call of
        this method."""
        grown, self._has_grown = self._has_grown, False
        return grown

    def expect_joins(self, deadline: Deadline | None) -> None:
        """Set the deadline of the join phase, and cancel the previous; None: the phase ended."""
        if self._join_deadline is not None:
            self._join_deadline.cancel()
        self._join_deadline = deadline

    def expect_syncs(self, deadline: Deadline | None) -> None:
        """Set the deadline of the sync phase, and cancel the previous; None: the phase ended."""
        if self._sync_deadline is not None:
            self._sync_deadline.cancel()
        self._sync_deadline = deadline

    def elect_joined_leader(self) -> bool:
        """Make the first joined member the leader, unless the leader has joined. Return False if no
        member has joined or there is no leader."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        for member in self.members.values():
            if member.is_awaiting_join:
                self.leader_id = member.member_id
                return True
        return False

    def begin_generation(self, now_ms: int) -> None:
        """Increment the generation, choose its protocol, and change to CompletingRebalance. A
        SyncGroup is then pending for every member."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol()
        self._keep_subscriptions()
        self.fire(GroupEvent.JOINED, now_ms)
        self.pending_sync = dict.fromkeys(self.members)

    def update_member(
        self,
        member: ClassicMember,
        protocols: list[JoinGroupRequestProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Replace a member's protocols and time-outs with those of its latest JoinGroup."""
        self._count_protocols(member, -1)
        member.declare(protocols, rebalance_timeout_ms, session_timeout_ms)
        self._count_protocols(member, 1)

    def join_members(self) -> list[JoinGroupResponseMember]:
        """Return all members with their metadata, for the leader's JoinGroup answer."""
        assert self.protocol_name is not None
        return [
            JoinGroupResponseMember(
                member.member_id, member.group_instance_id, member.metadata(self.protocol_name)
            )
            for member in self.members.values()
        ]

    # -- durable state -------------------------------------------------------------------------

    def record(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        """Return the record value of this generation, with `assignments` by member id.

        A member that is not in `assignments` gets an empty one.
        """
        assert self.protocol_name is not None
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=self.state_timestamp_ms,
            members=[
                member.record(self.protocol_name, assignments.get(member.member_id, b""))
                for member in self.members.values()
            ],
        )

    def empty_record(self, now_ms: int) -> GroupMetadataValue:
        """Return the record value of the next generation, without members."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id + 1,
            protocol=None,
            leader=None,
            current_state_timestamp=now_ms,
        )

    def install(self, value: GroupMetadataValue, offset: int, now_ms: int) -> None:
        """Apply the record, at `offset` in the log, that this live group decided.

        With members, set their assignments, and the state is Stable. Without, set the generation,
        and the state is Empty.
        """
        self.record_offset = offset
        if value.members:
            assert [m.member_id for m in value.members] == list(self.members)
            for member in value.members:
                self.members[member.member_id].assign(member.assignment)
            self.fire(GroupEvent.ASSIGNED, now_ms)
            return
        assert not self.members
        self.generation_id = value.generation
        self.protocol_name = None
        self.leader_id = None
        self._keep_subscriptions()
        self.fire(GroupEvent.NOBODY_JOINED, value.current_state_timestamp)

    @staticmethod
    def restore(group_id: str, value: GroupMetadataValue, offset: int) -> ClassicGroup:
        """Return the group that a record describes: Stable with members, else Empty."""
        group = ClassicGroup(group_id, value.current_state_timestamp)
        for member in value.members:
            group.add(ClassicMember.from_record(member, value.protocol_type, value.protocol))
        group.state = STABLE if value.members else EMPTY
        group.record_offset = offset
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.generation_id = value.generation
        if not value.members or value.leader in group.members:
            group.leader_id = value.leader
        group._keep_subscriptions()
        return group

    # -- for the shard (`Group`) ---------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """True if the group has no members. Clients may be about to join (KIP-394)."""
        return self.state is EMPTY

    @property
    def is_idle(self) -> bool:
        """True if the group has no members and none about to join."""
        return self.is_empty and not self.pending_members

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Return NONE if this member, in this generation, may commit offsets, else the error.

        A commit with generation −1 and no member id comes from an administrator, or from a consumer
        outside of group management. It is accepted while the group is empty. A transactional commit
        of an old client, which looks the same, is always accepted. Another generation gets
        ILLEGAL_GENERATION. REBALANCE_IN_PROGRESS: the leader computes the assignment.
        """
        member_id, instance_id, generation_id, is_transactional, _, _ = committer
        if self.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation_id < 0 and self.state is EMPTY:
            return ErrorCode.NONE
        if generation_id >= 0 or member_id or instance_id is not None:
            error = self.validate_member(member_id, instance_id)
            if error is not ErrorCode.NONE:
                return error
            if generation_id != self.generation_id:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if self.state is COMPLETING_REBALANCE and not is_transactional:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE: a classic group does not check the member."""
        return ErrorCode.NONE

    def delete_offsets_error(self) -> ErrorCode:
        """Return NONE if offsets of topics without subscribers may be deleted, else the error.

        A group with members allows that only if they are consumers.
        """
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.state is not EMPTY and not self.uses_consumer_protocol:
            return ErrorCode.NON_EMPTY_GROUP
        return ErrorCode.NONE

    def delete_error(self) -> ErrorCode:
        """Return NONE if the whole group may be deleted, else the error."""
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if self.state is EMPTY else ErrorCode.NON_EMPTY_GROUP

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """Return a function that gives the start of an offset's retention, in ms since the epoch.

        * no member ever (simple consumer): the commit of the offset
        * Empty: the time at which the group became empty, or the commit if that time is unknown
        * Stable consumers: the commit; only for topics without subscribers

        In all other states no offset expires: None.
        """
        if self.is_simple:
            return _committed_at
        if self.state is EMPTY:
            since = self.state_timestamp_ms
            return _committed_at if since == -1 else lambda committed: since
        knows_topics = self.uses_consumer_protocol and self.subscribed_topics is not None
        return _committed_at if self.state is STABLE and knows_topics else None

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether members consume `topic`; True if consumers' subscriptions are unknown."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def tombstones(self) -> list[Record]:
        """Return the record that deletes the group."""
        return [group_tombstone(self.group_id)]

    def listed(self) -> ListedGroup:
        """Return the group's entry for ListGroups."""
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, CLASSIC)

    def described(self) -> DescribedGroup:
        """Return the group's entry for DescribeGroups."""
        protocol = self.protocol_name if self.state is STABLE else None
        return DescribedGroup(
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=protocol or "",
            members=[member.described(protocol) for member in self.members.values()],
        )

    def _keep_subscriptions(self) -> None:
        """Store the members' metadata, which `read_subscriptions` parses later, and forget the
        subscribed topics. Metadata of other protocol types than consumers' is not stored."""
        name = self.protocol_name
        self.subscribed_topics = self._subscriptions = None
        if self.uses_consumer_protocol and (name is not None or not self.members):
            self._subscriptions = [member.metadata(name or "") for member in self.members.values()]

    def read_subscriptions(self) -> Steps[None]:
        """Set `subscribed_topics` from the metadata of this generation's members, unless that is
        done already. It stays None if some metadata is unreadable.

        Each may be megabytes long, so that this runs in slices.
        """
        subscriptions = self._subscriptions
        if subscriptions is None:
            return
        topics: dict[str, None] = {}
        pace = Pace()
        for metadata in subscriptions:
            if pace.is_full(1 + len(metadata) // BYTES_A_PIECE):
                yield None
            try:
                # After two bytes of version come version 0's fields, which begin every version.
                subscription = yield from decode_steps(
                    ConsumerProtocolSubscription, memoryview(metadata), 2, 0
                )
            except ProtocolError:
                self._subscriptions = None
                return
            assert isinstance(subscription, ConsumerProtocolSubscription)
            yield from in_bulk(lambda part: topics.update(dict.fromkeys(part)), subscription.topics)
        self.subscribed_topics, self._subscriptions = topics, None


def _committed_at(committed: CommittedOffset) -> int:
    return committed.commit_timestamp_ms

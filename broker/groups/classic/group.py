"""A classic group: its state, its members, generation and vote. No clock, no log, no reply.

Owns what a group is at this moment; its states are in `group_state`. Durable are protocol,
generation, leader and members with their assignments, as the last GroupMetadata record holds them:
`restore` makes a group of a record, `install` lets a live group follow its own record. All else is
soft: who has joined, who has synced, who waits. Answers its shard's questions (`Group`): who may
commit, read and delete offsets, and when they grow old. Never sends, writes or waits;
`protocol` and `rebalance` do.

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
"""The type of these groups, as ListGroups says."""
CONSUMER_PROTOCOL = "consumer"
BYTES_A_PIECE = 64
"""Of a subscription that is read in slices."""


class ClassicGroup:
    """One group. `state_timestamp_ms` is −1 where an old record did not say."""

    def __init__(self, group_id: str, state_timestamp_ms: int = -1) -> None:
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
        """Topics of all members' subscriptions, where `read_subscriptions` has read them; None
        where this group's metadata is not ours."""
        self._subscriptions: list[bytes] | None = None
        """What the members of this generation have sent of themselves, until it is read."""
        self.record_offset = -1
        """Where its last GroupMetadata record is: answers wait until that is committed."""
        self.pending_members: dict[str, Deadline] = {}
        """Member ids that were given out and are still to join with (KIP-394)."""
        self.pending_sync: dict[str, None] = {}
        self._has_grown = False
        self.awaiting_join_count = 0
        self._protocol_counts: dict[str, int] = {}
        self._join_deadline: Deadline | None = None
        self._sync_deadline: Deadline | None = None

    # -- state ---------------------------------------------------------------------------------

    def can(self, event: GroupEvent) -> bool:
        """Whether `event` may happen in this state."""
        return event in TRANSITIONS[self.state]

    def fire(self, event: GroupEvent, now_ms: int) -> None:
        """Let `event` happen; `now_ms` is wall-clock time."""
        assert self.can(event), f"group {self.group_id}: {event.value} in {self.state.value}"
        self.previous_state = self.state
        self.state = TRANSITIONS[self.state][event]
        self.state_timestamp_ms = now_ms

    @property
    def is_simple(self) -> bool:
        """Whether it only holds offsets: no member ever joined."""
        return self.protocol_type is None

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether its members are consumers, so that their subscriptions can be read."""
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- membership ----------------------------------------------------------------------------

    def add(self, member: ClassicMember) -> None:
        """Take `member` in; the first becomes the leader."""
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
        """Let a member (or a pending member id) go, its timers with it; its replies stay on it."""
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
        """A pending member id joined, left or expired."""
        deadline = self.pending_members.pop(member_id, None)
        if deadline is not None:
            deadline.cancel()

    def replace_static_member(
        self, instance_id: str, old_member_id: str, new_member_id: str
    ) -> ClassicMember:
        """Let `instance_id` go on under a new member id, in the same place of the group."""
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
        # A member that has not synced is not chased under its new id: it has the old assignment.
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
        """Whether a request of that member may be served: NONE, or what to answer."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # -- the vote ------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: list[JoinGroupRequestProtocol]) -> bool:
        """Whether a member with these protocols fits in: one of them is everybody's."""
        if self.state is EMPTY:
            return bool(protocol_type) and bool(protocols)
        if self.protocol_type != protocol_type:
            return False
        everybody = len(self.members)
        return any(
            self._protocol_counts.get(protocol.name, 0) == everybody for protocol in protocols
        )

    def select_protocol(self) -> str:
        """Every member votes for its most wanted among the common ones; the first wins a tie."""
        candidates = self._common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def _common_protocols(self) -> dict[str, int]:
        everybody = len(self.members)
        return {name: count for name, count in self._protocol_counts.items() if count == everybody}

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in dict.fromkeys(protocol.name for protocol in member.protocols):
            count = self._protocol_counts.get(name, 0) + change
            if count:
                self._protocol_counts[name] = count
            else:
                del self._protocol_counts[name]

    # -- the join phase ------------------------------------------------------------------------

    @property
    def has_all_members_joined(self) -> bool:
        """Whether nobody is still to (re)join."""
        return not self.pending_members and self.awaiting_join_count == len(self.members)

    def park_join(self, member: ClassicMember, reply: JoinReply) -> JoinReply | None:
        """Let a JoinGroup of `member` wait; returns one that waited before."""
        before = self.take_join(member)
        member.park_join(reply)
        self.awaiting_join_count += 1
        return before

    def take_join(self, member: ClassicMember) -> JoinReply | None:
        """The parked JoinGroup of a member, to be answered now; None where there is none."""
        reply = member.park_join(None)
        if reply is not None and member.member_id in self.members:
            self.awaiting_join_count -= 1
        return reply

    def has_grown(self) -> bool:
        """Whether members came in a first join phase since this was asked last."""
        grown, self._has_grown = self._has_grown, False
        return grown

    def expect_joins(self, deadline: Deadline | None) -> None:
        """The join phase ends at `deadline`, not at the one before; None: it is over."""
        if self._join_deadline is not None:
            self._join_deadline.cancel()
        self._join_deadline = deadline

    def expect_syncs(self, deadline: Deadline | None) -> None:
        """As `expect_joins`, of the sync phase."""
        if self._sync_deadline is not None:
            self._sync_deadline.cancel()
        self._sync_deadline = deadline

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who has joined; False where nobody has."""
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
        """The join phase ended with members: vote, count on, wait for the leader's assignment."""
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
        """A member said anew what it supports and how long it takes."""
        self._count_protocols(member, -1)
        member.declare(protocols, rebalance_timeout_ms, session_timeout_ms)
        self._count_protocols(member, 1)

    def join_members(self) -> list[JoinGroupResponseMember]:
        """All members with their metadata, as the leader gets them."""
        assert self.protocol_name is not None
        return [
            JoinGroupResponseMember(
                member.member_id, member.group_instance_id, member.metadata(self.protocol_name)
            )
            for member in self.members.values()
        ]

    # -- durable state -------------------------------------------------------------------------

    def record(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        """This generation with `assignments` by member id; who is missing gets nothing."""
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
        """The next generation, in which nobody is left."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id + 1,
            protocol=None,
            leader=None,
            current_state_timestamp=now_ms,
        )

    def install(self, value: GroupMetadataValue, offset: int, now_ms: int) -> None:
        """Follow the record that this live group decided on; `offset` is where it is in the log."""
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
        """The group that a record describes: Stable with members, else Empty."""
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

    # -- what its shard asks (`Group`) ---------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nobody is in it or about to join."""
        return self.state is EMPTY and not self.pending_members

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Whether this member, in this generation, may commit offsets.

        Generation −1 and no member id is an administrator or a consumer outside of group
        management: accepted while the group is empty (transactional commits of old clients always).
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
        """Everybody is told, whatever member they say that they are."""
        return ErrorCode.NONE

    def delete_offsets_error(self) -> ErrorCode:
        """Whether offsets may be deleted: with members only topic by topic, if consumers."""
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.state is not EMPTY and not self.uses_consumer_protocol:
            return ErrorCode.NON_EMPTY_GROUP
        return ErrorCode.NONE

    def delete_error(self) -> ErrorCode:
        """Whether the whole group may be deleted."""
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if self.state is EMPTY else ErrorCode.NON_EMPTY_GROUP

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """From when an offset's retention counts (ms since the epoch); None: nothing expires now.

        * no member ever (simple consumer): since the offset's commit
        * Empty: since the group became so; since the commit where the record does not say when
        * Stable consumers: since the commit, for topics nobody is subscribed to
        """
        if self.is_simple:
            return _committed_at
        if self.state is EMPTY:
            since = self.state_timestamp_ms
            return _committed_at if since == -1 else lambda committed: since
        knows_topics = self.uses_consumer_protocol and self.subscribed_topics is not None
        return _committed_at if self.state is STABLE and knows_topics else None

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members consume `topic`. Where that cannot be known, consumers might."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def tombstones(self) -> list[Record]:
        """The record that deletes it."""
        return [group_tombstone(self.group_id)]

    def listed(self) -> ListedGroup:
        """As ListGroups shows it."""
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, CLASSIC)

    def described(self) -> DescribedGroup:
        """As DescribeGroups shows it."""
        protocol = self.protocol_name if self.state is STABLE else None
        return DescribedGroup(
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=protocol or "",
            members=[member.described(protocol) for member in self.members.values()],
        )

    def _keep_subscriptions(self) -> None:
        name = self.protocol_name
        self.subscribed_topics = self._subscriptions = None
        if self.uses_consumer_protocol and (name is not None or not self.members):
            self._subscriptions = [one.metadata(name or "") for one in self.members.values()]

    def read_subscriptions(self) -> Steps[None]:
        """Read what the members of this generation are subscribed to, if that is not read yet. Each
        may have sent megabytes."""
        subscriptions = self._subscriptions
        if subscriptions is None:
            return
        topics: dict[str, None] = {}
        pace = Pace()
        for metadata in subscriptions:
            if pace.is_full(1 + len(metadata) // BYTES_A_PIECE):
                yield None
            try:
                # Two bytes of version, then version 0's fields, which open every version.
                said = yield from decode_steps(
                    ConsumerProtocolSubscription, memoryview(metadata), 2, 0
                )
            except ProtocolError:
                self._subscriptions = None
                return
            assert isinstance(said, ConsumerProtocolSubscription)
            yield from in_bulk(lambda part: topics.update(dict.fromkeys(part)), said.topics)
        self.subscribed_topics, self._subscriptions = topics, None


def _committed_at(committed: CommittedOffset) -> int:
    return committed.commit_timestamp_ms

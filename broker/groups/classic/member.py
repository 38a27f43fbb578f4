"""A member of a classic group: its protocols, its assignment, and its parked requests.

Owns soft state: a member is durable only through a GroupMetadata record that has it. Never writes.
Follows Kafka's `ClassicGroupMember`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from broker.groups.deadline import Deadline
from protocol.errors import ErrorCode
from protocol.messages.describe_groups import DescribedGroupMember
from protocol.messages.group_records import MemberMetadata
from protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse

JoinReply = Callable[[JoinGroupResponse], None]
SyncReply = Callable[[SyncGroupResponse], None]


def join_refusal(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return the answer that rejects a JoinGroup."""
    return JoinGroupResponse(error_code=error, protocol_name=None, member_id=member_id)


def sync_refusal(error: ErrorCode) -> SyncGroupResponse:
    """Return the answer that rejects a SyncGroup."""
    return SyncGroupResponse(error_code=error)


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member of a classic group; its `protocols` are in the order of its preference."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    assignment: bytes = b""
    is_new: bool = False
    """True until its first JoinGroup is answered; before, the client cannot send heartbeats."""
    join_reply: JoinReply | None = field(default=None, repr=False)
    sync_reply: SyncReply | None = field(default=None, repr=False)
    session: Deadline | None = field(default=None, repr=False)

    @property
    def is_static(self) -> bool:
        """True if the member has a `group.instance.id` (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """True while a JoinGroup of the member is parked."""
        return self.join_reply is not None

    @property
    def satisfies_heartbeat(self) -> bool:
        """True while the broker owes the member an answer; its session does not expire meanwhile.

        A new member can expire even then. Else clients that disconnect and join again with a new
        id would pile up (KAFKA-7610).
        """
        waiting = self.join_reply is not None or self.sync_reply is not None
        return waiting and not self.is_new

    def declare(
        self,
        protocols: list[JoinGroupRequestProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Replace the member's protocols and time-outs with those of its latest JoinGroup."""
        self.protocols = protocols
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms

    def assign(self, assignment: bytes) -> None:
        """Set the member's assignment in the current generation."""
        self.assignment = assignment

    def park_join(self, reply: JoinReply | None) -> JoinReply | None:
        """Park the reply of a JoinGroup, or None to clear it. Return the previous reply."""
        before, self.join_reply = self.join_reply, reply
        return before

    def park_sync(self, reply: SyncReply | None) -> SyncReply | None:
        """Park the reply of a SyncGroup, or None to clear it. Return the previous reply."""
        before, self.sync_reply = self.sync_reply, reply
        return before

    def set_session(self, session: Deadline) -> None:
        """Set the deadline of the member's session, whose expiry removes the member."""
        self.session = session

    def become_known(self) -> None:
        """Mark the member's first JoinGroup as answered: it can send heartbeats now."""
        self.is_new = False

    def metadata(self, protocol_name: str) -> bytes:
        """Return the member's metadata for a protocol. Raises KeyError if it does not support
        that."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise KeyError(protocol_name)

    def matches(self, protocols: list[JoinGroupRequestProtocol]) -> bool:
        """Return whether `protocols` are equal to the member's present ones."""
        return self.protocols == protocols

    def vote(self, candidates: dict[str, int]) -> str:
        """Return the candidate that the member prefers. Raises AssertionError if it supports none
        of them."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise AssertionError(f"member {self.member_id} supports none of {list(candidates)}")

    def record(self, protocol_name: str, assignment: bytes) -> MemberMetadata:
        """Return the member's part of a GroupMetadata record. Raises KeyError if it does not
        support the protocol."""
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata(protocol_name),
            assignment=assignment,
        )

    def described(self, protocol_name: str | None) -> DescribedGroupMember:
        """Return the member's entry for DescribeGroups. `protocol_name` is None unless Stable."""
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=b"" if protocol_name is None else self.metadata(protocol_name),
            member_assignment=self.assignment,
        )

    @staticmethod
    def from_record(
        record: MemberMetadata, protocol_type: str, protocol_name: str | None
    ) -> ClassicMember:
        """Return the member that `record` describes."""
        rebalance_timeout = record.rebalance_timeout
        return ClassicMember(
            member_id=record.member_id,
            group_instance_id=record.group_instance_id,
            client_id=record.client_id,
            client_host=record.client_host,
            rebalance_timeout_ms=(
                record.session_timeout if rebalance_timeout == -1 else rebalance_timeout
            ),
            session_timeout_ms=record.session_timeout,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(protocol_name or "", record.subscription)],
            assignment=record.assignment,
        )

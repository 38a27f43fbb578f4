"""One member of a classic group: what it declared, what it was assigned, and what it waits for.

Owns nothing durable: a member becomes durable when a GroupMetadata record names it. Follows Kafka's
`ClassicGroupMember`.
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
    """The answer to a JoinGroup that is refused."""
    return JoinGroupResponse(error_code=error, protocol_name=None, member_id=member_id)


def sync_refusal(error: ErrorCode) -> SyncGroupResponse:
    """The answer to a SyncGroup that is refused."""
    return SyncGroupResponse(error_code=error)


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member; `protocols` is its list of assignment protocols, the most wanted first."""

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
    """Joined for the first time and not answered yet: it cannot send heartbeats."""
    join_reply: JoinReply | None = field(default=None, repr=False)
    sync_reply: SyncReply | None = field(default=None, repr=False)
    session: Deadline | None = field(default=None, repr=False)

    @property
    def is_static(self) -> bool:
        """Whether it has a `group.instance.id` (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether a JoinGroup of it is parked."""
        return self.join_reply is not None

    @property
    def satisfies_heartbeat(self) -> bool:
        """Whether its session cannot expire now: it waits for us, not we for it.

        A new member can expire even while it waits, else clients that give up and come back as
        somebody else would pile up (KAFKA-7610).
        """
        waiting = self.join_reply is not None or self.sync_reply is not None
        return waiting and not self.is_new

    def declare(
        self,
        protocols: list[JoinGroupRequestProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """It said anew what it supports and how long it takes."""
        self.protocols = protocols
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms

    def assign(self, assignment: bytes) -> None:
        """This is its share of the current generation."""
        self.assignment = assignment

    def park_join(self, reply: JoinReply | None) -> JoinReply | None:
        """Let a JoinGroup wait, or none any more; returns the one that waited before."""
        before, self.join_reply = self.join_reply, reply
        return before

    def park_sync(self, reply: SyncReply | None) -> SyncReply | None:
        """As `park_join`, of a SyncGroup."""
        before, self.sync_reply = self.sync_reply, reply
        return before

    def watch(self, session: Deadline) -> None:
        """Its session ends at `session`, which signs of life extend."""
        self.session = session

    def become_known(self) -> None:
        """Its first JoinGroup is being answered: from now on it can send heartbeats."""
        self.is_new = False

    def metadata(self, protocol_name: str) -> bytes:
        """What it sent along with `protocol_name`; KeyError where it does not know that."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise KeyError(protocol_name)

    def matches(self, protocols: list[JoinGroupRequestProtocol]) -> bool:
        """Whether `protocols` are exactly the ones it declared before."""
        return self.protocols == protocols

    def vote(self, candidates: dict[str, int]) -> str:
        """Its most wanted protocol among the candidates."""
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise AssertionError(f"member {self.member_id} supports none of {list(candidates)}")

    def record(self, protocol_name: str, assignment: bytes) -> MemberMetadata:
        """How a GroupMetadata record holds it."""
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
        """As DescribeGroups shows it; `protocol_name` while the group is Stable."""
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
        """The member that `record` describes."""
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

"""A member of a consumer group: its subscription, and its position towards its target.

Owns nothing: both parts are values, which records of types 5 and 8 replace. Never changes. Follows
Kafka's `ConsumerGroupMember` (KIP-848).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from broker.groups.reconciliation.position import MemberPosition
from protocol.messages.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)

PartitionsPosition: TypeAlias = MemberPosition[bytes]
"""The position of a consumer, with partitions by topic id."""

NOT_SAID = -1
"""The rebalance time-out of a member that has not sent any."""


class Subscription(NamedTuple):
    """The latest subscription and description that a member has sent."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """The names, sorted, each once, of topics that may or may not exist."""
    regex: str = ""
    """The regular expression, in RE2's syntax; empty if there is none."""
    rebalance_timeout_ms: int = NOT_SAID
    assignor: str | None = None
    """The assignor that the member wants for its group."""
    classic: ClassicMemberMetadata | None = None
    """The protocols and session time-out of a member that uses the classic protocol, else None."""

    @staticmethod
    def of(value: ConsumerGroupMemberMetadataValue) -> Subscription:
        """Return the subscription in a record of type 5."""
        return Subscription(
            value.instance_id,
            value.rack_id,
            value.client_id,
            value.client_host,
            tuple(value.subscribed_topic_names),
            value.subscribed_topic_regex or "",
            value.rebalance_timeout_ms,
            value.server_assignor,
            value.classic_member_metadata,
        )

    def value(self) -> ConsumerGroupMemberMetadataValue:
        """Return the value of the record of type 5."""
        return ConsumerGroupMemberMetadataValue(
            self.instance_id,
            self.rack_id,
            self.client_id,
            self.client_host,
            list(self.topics),
            self.regex,
            self.rebalance_timeout_ms,
            self.assignor,
            self.classic,
        )


class ConsumerMember(NamedTuple):
    """A member of a consumer group: its id, subscription and position."""

    member_id: str
    subscription: Subscription = Subscription()
    position: PartitionsPosition = MemberPosition()

    @property
    def uses_classic_protocol(self) -> bool:
        """True if the member joined by JoinGroup."""
        return self.subscription.classic is not None

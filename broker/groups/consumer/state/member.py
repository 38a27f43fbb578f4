"""A member of a group that the broker assigns: what it said of itself, and where it stands.

Owns nothing: both parts are values, made anew by the record that says so (types 5 and 8). Follows
Kafka's `ConsumerGroupMember` (KIP-848).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from broker.groups.reconciliation.position import Position
from protocol.messages.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)

PartitionsPosition: TypeAlias = Position[bytes]
"""Of a consumer: partitions by topic id."""

NOT_SAID = -1
"""For a time-out."""


class Subscription(NamedTuple):
    """What a member said of itself, the last time that it said it."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    """Names, sorted, each once; whether there are such topics or not."""
    regex: str = ""
    """By RE2; empty: none."""
    rebalance_timeout_ms: int = NOT_SAID
    assignor: str | None = None
    """By which it wants its group to be assigned."""
    classic: ClassicMemberMetadata | None = None
    """Of a member that speaks the classic protocol."""

    @staticmethod
    def of(value: ConsumerGroupMemberMetadataValue) -> Subscription:
        """What a record of type 5 says."""
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
        """The record of type 5 that says it."""
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
    """One member."""

    member_id: str
    subscription: Subscription = Subscription()
    position: PartitionsPosition = Position()

    @property
    def uses_classic_protocol(self) -> bool:
        """Whether it joined by JoinGroup."""
        return self.subscription.classic is not None

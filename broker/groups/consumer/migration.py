"""The conversion of a group with members from the classic to the consumer protocol, and back.

Owns the conditions, and the single batch of records that converts a group. Members keep their
partitions. The generation of the classic group becomes the epoch of the consumer group, and the
other way round. Never changes a group. Follows Kafka's `ConsumerGroup.fromClassicGroup`,
`ClassicGroup.fromConsumerGroup` and `ConsumerGroupMigrationPolicy` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.classic.group import CONSUMER_PROTOCOL, ClassicGroup
from broker.groups.classic.member import ClassicMember
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import Subscription
from broker.groups.consumer.state.records import (
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    position_record,
    target_epoch_record,
    target_record,
)
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.consumer.validation import TOPICS_MAX
from broker.groups.group_records import group_metadata_record
from broker.groups.reconciliation.held import Named, with_additions
from broker.groups.reconciliation.member_state import STABLE
from broker.groups.reconciliation.position import MemberPosition
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps, in_bulk, in_order
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode_steps
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.messages.group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    GroupMetadataValue,
    MemberMetadata,
)
from protocol.primitives import MessageBuffer

_VERSION = Struct(">h")
NOT_COMPUTED = 0
"""The time of a target that no assignor computed."""
# The pieces of a slice that a member takes, and the bytes of its metadata that take one more.
_PIECES_A_MEMBER = 20
_BYTES_A_PIECE = 10
PARTITIONS_A_PIECE = 16
"""The partitions of an assignment that take one piece of a slice."""


class MigrationPolicy(Enum):
    """The allowed conversions of groups with members (`group.consumer.migration.policy`)."""

    DISABLED = (False, False)
    UPGRADE = (True, False)
    DOWNGRADE = (False, True)
    BIDIRECTIONAL = (True, True)

    @property
    def upgrades(self) -> bool:
        """True if classic groups may become consumer groups."""
        return self.value[0]

    @property
    def downgrades(self) -> bool:
        """True if consumer groups may become classic groups."""
        return self.value[1]


def version_of(data: bytes) -> int:
    """Return the version of a subscription or assignment. Raises ProtocolError if it has none."""
    try:
        version: int = _VERSION.unpack_from(data)[0]
    except StructError:
        raise ProtocolError("no version of the consumer protocol") from None
    if version < 0:
        raise ProtocolError(f"version {version} of the consumer protocol")
    return version


def read_subscription(metadata: bytes) -> Steps[ConsumerProtocolSubscription]:
    """Return the parsed subscription of a classic consumer.

    Raises ProtocolError if it cannot be parsed, or has more topics than a consumer group's member
    may have.
    """
    version = min(version_of(metadata), ConsumerProtocolSubscription.MAX_VERSION)
    kind = ConsumerProtocolSubscription
    subscription = yield from decode_steps(kind, memoryview(metadata), 2, version)
    assert isinstance(subscription, kind)
    if len(subscription.topics) > TOPICS_MAX:
        raise ProtocolError(f"a subscription to {len(subscription.topics)} topics")
    return subscription


def assignment_bytes(named: Named[bytes], topics: TopicsImage, version: int) -> bytes:
    """Return an assignment in the format of classic consumers, without deleted topics. A `version`
    above the newest is lowered to that."""
    topic_partitions = []
    for topic_id, partitions in named.items():
        topic = topics.get_by_id(topic_id)
        if topic is not None:
            topic_partitions.append(
                ConsumerProtocolAssignmentTopicPartition(topic.name, list(partitions))
            )
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    out = MessageBuffer()
    out += _VERSION.pack(version)
    ConsumerProtocolAssignment(topic_partitions).write(out, version)
    return bytes(out)


def _read_assignment(data: bytes, topics: TopicsImage) -> Steps[Named[bytes]]:
    """Return the partitions of a classic consumer's assignment by topic id, without deleted topics.
    Without data, there are none.

    Raises ProtocolError if it cannot be parsed, or has data of the client's own assignor.
    """
    if not data:
        return {}
    version = min(version_of(data), ConsumerProtocolAssignment.MAX_VERSION)
    kind = ConsumerProtocolAssignment
    assignment = yield from decode_steps(kind, memoryview(data), 2, version)
    assert isinstance(assignment, kind)
    if assignment.user_data:
        raise ProtocolError("an assignor of the client's own")
    listed = ((assigned.topic, assigned.partitions) for assigned in assignment.assigned_partitions)
    return (yield from by_id(listed, topics))


def by_id(
    named: Iterable[tuple[str, Sequence[int]]], topics: TopicsImage
) -> Steps[dict[bytes, tuple[int, ...]]]:
    """Return partitions by topic id, given topic names; those of missing topics are left out."""
    by_topic: dict[bytes, dict[int, None]] = {}
    pace = Pace()
    for name, partitions in named:
        if pace.is_full(1 + len(partitions) // PARTITIONS_A_PIECE):
            yield None
        topic = topics.get(name)
        if topic is not None and partitions:
            by_topic.setdefault(topic.id, {}).update(dict.fromkeys(partitions))
    ordered: dict[bytes, tuple[int, ...]] = {}
    for topic_id, numbers in by_topic.items():
        if pace.is_full(1 + len(numbers) // PARTITIONS_A_PIECE):
            yield None
        ordered[topic_id] = tuple(sorted(numbers))
    return ordered


def classic_subscription(
    current: Subscription, declared: ConsumerProtocolSubscription, classic: ClassicMemberMetadata
) -> Steps[Subscription]:
    """Return the consumer group's subscription of a classic member, based on its current one."""
    topics = yield from in_order(declared.topics)
    return current._replace(
        topics=tuple(dict.fromkeys(topics)),
        regex="",
        rack_id=declared.rack_id or current.rack_id,
        classic=classic,
    )


# -- to a consumer group ---------------------------------------------------------------------------


def upgrade_records(classic: ClassicGroup, topics: TopicsImage) -> Steps[list[Record]]:
    """Return the records that convert `classic` to a consumer group.

    Raises ProtocolError if that is impossible: its members are no consumers, or use an assignor
    with data of its own.
    """
    if classic.protocol_type != CONSUMER_PROTOCOL:
        raise ProtocolError(f"protocol type {classic.protocol_type}")
    group_id, epoch = classic.group_id, classic.generation_id
    names: dict[str, None] = {}
    subscriptions: list[Record] = []
    targets: list[Record] = []
    positions: list[Record] = []
    pace = Pace()
    for member in list(classic.members.values()):
        size = len(member.assignment) + sum(len(first.metadata) for first in member.protocols[:1])
        if pace.is_full(_PIECES_A_MEMBER + size // _BYTES_A_PIECE):
            yield None
        member_id, subscription = member.member_id, (yield from _converted_subscription(member))
        target = yield from _read_assignment(member.assignment, topics)
        position = MemberPosition(epoch, epoch, STABLE, with_additions({}, target, epoch))
        yield from in_bulk(lambda part: names.update(dict.fromkeys(part)), subscription.topics)
        subscriptions.append(member_record(group_id, member_id, subscription))
        targets.append(target_record(group_id, member_id, target))
        positions.append(position_record(group_id, member_id, position))
    return [
        *classic.tombstones(),
        *subscriptions,
        epoch_record(group_id, epoch, metadata_hash(names, topics)),
        *targets,
        target_epoch_record(group_id, epoch, NOT_COMPUTED),
        *positions,
    ]


def _converted_subscription(member: ClassicMember) -> Steps[Subscription]:
    """Return the subscription of a classic member, from its first protocol.

    Raises ProtocolError if the member has no protocol or its metadata is malformed.
    """
    if not member.protocols:
        raise ProtocolError("a member without protocols")
    declared = yield from read_subscription(member.protocols[0].metadata)
    current = Subscription(
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )
    protocols = [ClassicProtocol(offer.name, offer.metadata) for offer in member.protocols]
    metadata = ClassicMemberMetadata(member.session_timeout_ms, protocols)
    return (yield from classic_subscription(current, declared, metadata))


# -- to a classic group ----------------------------------------------------------------------------


class Remaining(NamedTuple):
    """A member of the classic protocol, with the partitions that it holds.

    Kafka writes its target instead. If the group becomes a consumer group again before its members
    have rejoined, the written partitions count as held. With the target, a partition that a member
    must still revoke could then be assigned to another (seed 32 of the simulator).
    """

    member_id: str
    subscription: Subscription
    has: Named[bytes]


def leaves_classic_members(group: ConsumerGroup, leaving: Iterable[str]) -> bool:
    """Return whether there are members besides `leaving`, and all use the classic protocol."""
    leaving_ids = set(leaving)
    rest = [member for member in group.members.values() if member.member_id not in leaving_ids]
    return bool(rest) and all(member.uses_classic_protocol for member in rest)


def replaces_the_last(group: ConsumerGroup, member_id: str) -> bool:
    """Return whether `member_id` is the only member that does not use the classic protocol."""
    return all(
        member.uses_classic_protocol is (member.member_id != member_id)
        for member in group.members.values()
    )


def downgrade_records(
    group: ConsumerGroup,
    leaving: Iterable[str],
    topics: TopicsImage,
    now_ms: int,
    successor: Remaining | None = None,
) -> Steps[list[Record]]:
    """Return the records that convert the group to a classic one, without the members `leaving`.

    `successor` replaces a member that leaves, with records that are written before these. The
    generation is the group's epoch before this change, even if the successor starts the next epoch.
    """
    leaving_ids = set(leaving)
    rest = [
        Remaining(member_id, member.subscription, member.position.has)
        for member_id, member in group.members.items()
        if member_id not in leaving_ids
    ]
    member_ids = list(group.members)
    if successor is not None:
        rest.append(successor)
        member_ids = [remaining.member_id for remaining in rest]
    pace, per_member = Pace(), []
    for member_id in member_ids:
        if pace.is_full():
            yield None
        per_member.append(member_tombstones(group.group_id, member_id))
    target_epoch, *metadata = group_tombstones(group.group_id)
    classic = yield from _classic_record(group, rest, topics, now_ms)
    return [
        *(records[0] for records in per_member),
        *(records[1] for records in per_member),
        target_epoch,
        *(records[2] for records in per_member),
        *metadata,
        classic,
    ]


def _classic_record(
    group: ConsumerGroup, rest: Sequence[Remaining], topics: TopicsImage, now_ms: int
) -> Steps[Record]:
    """Return the record of the classic group that consists of the remaining members.

    The first one leads.
    """
    protocol = _common_protocol([remaining.subscription for remaining in rest])
    pace, members = Pace(), []
    for member_id, subscription, has in rest:
        assert subscription.classic is not None
        if pace.is_full(1 + len(has)):
            yield None
        metadata = _metadata_of(subscription.classic, protocol)
        share = assignment_bytes(has, topics, _version_or_0(metadata))
        members.append(
            MemberMetadata(
                member_id,
                subscription.instance_id,
                subscription.client_id,
                subscription.client_host,
                subscription.rebalance_timeout_ms,
                subscription.classic.session_timeout_ms,
                metadata,
                share,
            )
        )
    value = GroupMetadataValue(
        CONSUMER_PROTOCOL, group.epoch, protocol, rest[0].member_id, now_ms, members
    )
    return group_metadata_record(group.group_id, value)


def _common_protocol(members: Sequence[Subscription]) -> str:
    """Return the first protocol of the first member that all members support; if there is none, its
    first protocol."""
    supported = [
        [protocol.name for protocol in subscription.classic.supported_protocols]
        for subscription in members
        if subscription.classic is not None
    ]
    for name in supported[0]:
        if all(name in names for names in supported):
            return name
    return supported[0][0]


def _metadata_of(classic: ClassicMemberMetadata, protocol: str) -> bytes:
    """Return the member's metadata for `protocol`, or that of its first protocol."""
    for supported in classic.supported_protocols:
        if supported.name == protocol:
            return supported.metadata
    return classic.supported_protocols[0].metadata


def _version_or_0(metadata: bytes) -> int:
    """Return the version of a subscription, or 0 if the bytes have none."""
    try:
        return version_of(metadata)
    except ProtocolError:
        return 0

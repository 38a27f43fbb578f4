"""A group with members goes from the classic protocol to the consumer protocol, and back.

Owns what may be converted, and the one batch of records by which it is. Members keep what they
have: on the way there the group's epoch is its generation, on the way back the other way round.
Changes nothing. Follows Kafka's `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`
and `ConsumerGroupMigrationPolicy` (KIP-848).
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
from broker.groups.reconciliation.held import Named, with_given
from broker.groups.reconciliation.member_state import STABLE
from broker.groups.reconciliation.position import Position
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
"""The time of a target that no assignor gave."""
# Of a slice: what a member takes, and how many bytes of what it has said take one more piece.
_PIECES_A_MEMBER = 20
_BYTES_A_PIECE = 10
PARTITIONS_A_PIECE = 16
"""Of an assignment."""


class MigrationPolicy(Enum):
    """Which way groups with members may go (`group.consumer.migration.policy`)."""

    DISABLED = (False, False)
    UPGRADE = (True, False)
    DOWNGRADE = (False, True)
    BIDIRECTIONAL = (True, True)

    @property
    def upgrades(self) -> bool:
        """Whether classic groups may become consumer groups."""
        return self.value[0]

    @property
    def downgrades(self) -> bool:
        """Whether consumer groups may become classic groups."""
        return self.value[1]


def version_of(data: bytes) -> int:
    """The version of a subscription or assignment. ProtocolError where it has none."""
    try:
        version: int = _VERSION.unpack_from(data)[0]
    except StructError:
        raise ProtocolError("no version of the consumer protocol") from None
    if version < 0:
        raise ProtocolError(f"version {version} of the consumer protocol")
    return version


def read_subscription(metadata: bytes) -> Steps[ConsumerProtocolSubscription]:
    """Read the subscription of a classic consumer.

    Raises ProtocolError where it cannot be read, or has more topics than a member of a consumer
    group may be subscribed to.
    """
    version = min(version_of(metadata), ConsumerProtocolSubscription.MAX_VERSION)
    kind = ConsumerProtocolSubscription
    said = yield from decode_steps(kind, memoryview(metadata), 2, version)
    assert isinstance(said, kind)
    if len(said.topics) > TOPICS_MAX:
        raise ProtocolError(f"a subscription to {len(said.topics)} topics")
    return said


def assignment_bytes(named: Named[bytes], topics: TopicsImage, version: int) -> bytes:
    """An assignment as classic consumers are told it; topics that are gone are left out."""
    found = []
    for topic_id, partitions in named.items():
        topic = topics.get_by_id(topic_id)
        if topic is not None:
            found.append(ConsumerProtocolAssignmentTopicPartition(topic.name, list(partitions)))
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    out = MessageBuffer()
    out += _VERSION.pack(version)
    ConsumerProtocolAssignment(found).write(out, version)
    return bytes(out)


def _read_assignment(data: bytes, topics: TopicsImage) -> Steps[Named[bytes]]:
    """ProtocolError where it cannot be read, or holds an assignor's own data."""
    if not data:
        return {}
    version = min(version_of(data), ConsumerProtocolAssignment.MAX_VERSION)
    kind = ConsumerProtocolAssignment
    assignment = yield from decode_steps(kind, memoryview(data), 2, version)
    assert isinstance(assignment, kind)
    if assignment.user_data:
        raise ProtocolError("an assignor of the client's own")
    listed = ((one.topic, one.partitions) for one in assignment.assigned_partitions)
    return (yield from by_id(listed, topics))


def by_id(
    named: Iterable[tuple[str, Sequence[int]]], topics: TopicsImage
) -> Steps[dict[bytes, tuple[int, ...]]]:
    """Partitions by the ids of their topics, of those that exist."""
    found: dict[bytes, dict[int, None]] = {}
    pace = Pace()
    for name, partitions in named:
        if pace.is_full(1 + len(partitions) // PARTITIONS_A_PIECE):
            yield None
        topic = topics.get(name)
        if topic is not None and partitions:
            found.setdefault(topic.id, {}).update(dict.fromkeys(partitions))
    ordered: dict[bytes, tuple[int, ...]] = {}
    for topic_id, numbers in found.items():
        if pace.is_full(1 + len(numbers) // PARTITIONS_A_PIECE):
            yield None
        ordered[topic_id] = tuple(sorted(numbers))
    return ordered


def classic_subscription(
    known: Subscription, said: ConsumerProtocolSubscription, classic: ClassicMemberMetadata
) -> Steps[Subscription]:
    """What a classic consumer says of itself, as a member of a consumer group."""
    topics = yield from in_order(said.topics)
    return known._replace(
        topics=tuple(dict.fromkeys(topics)),
        regex="",
        rack_id=said.rack_id or known.rack_id,
        classic=classic,
    )


# -- there -----------------------------------------------------------------------------------------


def upgrade_records(classic: ClassicGroup, topics: TopicsImage) -> Steps[list[Record]]:
    """The records by which `classic` is a consumer group. ProtocolError where it cannot become one:
    its members are no consumers, or assign by rules of their own."""
    if classic.protocol_type != CONSUMER_PROTOCOL:
        raise ProtocolError(f"protocol type {classic.protocol_type}")
    group_id, epoch = classic.group_id, classic.generation_id
    names: dict[str, None] = {}
    subscriptions: list[Record] = []
    targets: list[Record] = []
    positions: list[Record] = []
    pace = Pace()
    for member in list(classic.members.values()):
        said = len(member.assignment) + sum(len(one.metadata) for one in member.protocols[:1])
        if pace.is_full(_PIECES_A_MEMBER + said // _BYTES_A_PIECE):
            yield None
        member_id, subscription = member.member_id, (yield from _converted(member))
        target = yield from _read_assignment(member.assignment, topics)
        position = Position(epoch, epoch, STABLE, with_given({}, target, epoch))
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


def _converted(member: ClassicMember) -> Steps[Subscription]:
    if not member.protocols:
        raise ProtocolError("a member without protocols")
    said = yield from read_subscription(member.protocols[0].metadata)
    known = Subscription(
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )
    protocols = [ClassicProtocol(one.name, one.metadata) for one in member.protocols]
    metadata = ClassicMemberMetadata(member.session_timeout_ms, protocols)
    return (yield from classic_subscription(known, said, metadata))


# -- and back --------------------------------------------------------------------------------------


class Remaining(NamedTuple):
    """A member of the classic protocol, and what it has.

    Kafka writes its target, what it shall have. Where the group is a consumer group again before
    its members have come back, it takes what is written for what they have: then what one was
    still to give up could be given to another (seed 32 of the simulator)."""

    member_id: str
    subscription: Subscription
    has: Named[bytes]


def leaves_classic_members(group: ConsumerGroup, leaving: Iterable[str]) -> bool:
    """Whether without `leaving` there are members, and all of them speak the classic protocol."""
    gone = set(leaving)
    rest = [one for one in group.members.values() if one.member_id not in gone]
    return bool(rest) and all(one.uses_classic_protocol for one in rest)


def replaces_the_last(group: ConsumerGroup, member_id: str) -> bool:
    """Whether a classic member in the place of `member_id` makes it a group of classic ones."""
    return all(
        one.uses_classic_protocol is (one.member_id != member_id) for one in group.members.values()
    )


def downgrade_records(
    group: ConsumerGroup,
    leaving: Iterable[str],
    topics: TopicsImage,
    now_ms: int,
    successor: Remaining | None = None,
) -> Steps[list[Record]]:
    """The records by which the group is a classic one, of its members without `leaving`.

    `successor` is in the place of one that leaves, by records that are written before these. The
    generation is the epoch until then, also where the successor brings the next one."""
    gone = set(leaving)
    rest = [
        Remaining(member_id, one.subscription, one.position.has)
        for member_id, one in group.members.items()
        if member_id not in gone
    ]
    there = list(group.members)
    if successor is not None:
        rest.append(successor)
        there = [one.member_id for one in rest]
    pace, per_member = Pace(), []
    for member_id in there:
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
    protocol = _common_protocol([one.subscription for one in rest])
    pace, members = Pace(), []
    for member_id, said, has in rest:
        assert said.classic is not None
        if pace.is_full(1 + len(has)):
            yield None
        metadata = _metadata_of(said.classic, protocol)
        share = assignment_bytes(has, topics, _version_or_0(metadata))
        members.append(
            MemberMetadata(
                member_id,
                said.instance_id,
                said.client_id,
                said.client_host,
                said.rebalance_timeout_ms,
                said.classic.session_timeout_ms,
                metadata,
                share,
            )
        )
    value = GroupMetadataValue(
        CONSUMER_PROTOCOL, group.epoch, protocol, rest[0].member_id, now_ms, members
    )
    return group_metadata_record(group.group_id, value)


def _common_protocol(members: Sequence[Subscription]) -> str:
    """The first that the first member likes, of those that all know."""
    known = [
        [one.name for one in said.classic.supported_protocols]
        for said in members
        if said.classic is not None
    ]
    for name in known[0]:
        if all(name in names for names in known):
            return name
    return known[0][0]


def _metadata_of(classic: ClassicMemberMetadata, protocol: str) -> bytes:
    for one in classic.supported_protocols:
        if one.name == protocol:
            return one.metadata
    return classic.supported_protocols[0].metadata


def _version_or_0(metadata: bytes) -> int:
    try:
        return version_of(metadata)
    except ProtocolError:
        return 0

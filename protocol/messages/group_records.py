"""The messages of group-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_U = Struct(">16s")
_H = Struct(">H")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iib = Struct(">iib")
_iq = Struct(">iq")
_q = Struct(">q")
_qi = Struct(">qi")
_qq = Struct(">qq")


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(Message):
    __slots__ = ("topic_id", "partitions", "assignment_epochs")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
        assignment_epochs: list[int] | None = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions
        self.assignment_epochs = [] if assignment_epochs is NEW else assignment_epochs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, int]:
        partitions: list[int]
        assignment_epochs: list[int] | None
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        assignment_epochs = []
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    assignment_epochs = None
                else:
                    assignment_epochs = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(topic_id, partitions, assignment_epochs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        tagged = []
        if self.assignment_epochs is None or len(self.assignment_epochs):
            value = p.MessageBuffer()
            if self.assignment_epochs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.assignment_epochs) + 1)
                value += Struct(f">{len(self.assignment_epochs)}i").pack(*self.assignment_epochs)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = NEW,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions] = NEW,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions
        self.partitions_pending_revocation = [] if partitions_pending_revocation is NEW else partitions_pending_revocation

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]
        member_epoch, previous_member_epoch, state = _iib.unpack_from(buf, pos)
        pos += 9
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        assigned_partitions = []
        for _ in range(n):
            item_assigned_partitions, pos = ConsumerGroupCurrentMemberAssignmentValueTopicPartitions.read(buf, pos, version)
            assigned_partitions.append(item_assigned_partitions)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        partitions_pending_revocation = []
        for _ in range(n):
            item_partitions_pending_revocation, pos = ConsumerGroupCurrentMemberAssignmentValueTopicPartitions.read(buf, pos, version)
            partitions_pending_revocation.append(item_partitions_pending_revocation)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iib.pack(self.member_epoch, self.previous_member_epoch, self.state)
        out += p.uvarint(len(self.assigned_partitions) + 1)
        for item_assigned_partitions in self.assigned_partitions:
            item_assigned_partitions.write(out, version)
        out += p.uvarint(len(self.partitions_pending_revocation) + 1)
        for item_partitions_pending_revocation in self.partitions_pending_revocation:
            item_partitions_pending_revocation.write(out, version)
        out += b"\0"


class ConsumerGroupMemberMetadataKey(Message):
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupMemberMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ClassicProtocol(Message):
    __slots__ = ("name", "metadata")

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ClassicProtocol, int]:
        name, pos = p.read_compact_string(buf, pos)
        metadata, pos = p.read_compact_bytes(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        p.write_compact_records(out, self.metadata)
        out += b"\0"


class ClassicMemberMetadata(Message):
    __slots__ = ("session_timeout_ms", "supported_protocols")

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = NEW,
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is NEW else supported_protocols

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ClassicMemberMetadata, int]:
        supported_protocols: list[ClassicProtocol]
        (session_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        supported_protocols = []
        for _ in range(n):
            item_supported_protocols, pos = ClassicProtocol.read(buf, pos, version)
            supported_protocols.append(item_supported_protocols)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(session_timeout_ms, supported_protocols), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.session_timeout_ms)
        out += p.uvarint(len(self.supported_protocols) + 1)
        for item_supported_protocols in self.supported_protocols:
            item_supported_protocols.write(out, version)
        out += b"\0"


class ConsumerGroupMemberMetadataValue(Message):
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms", "server_assignor", "classic_member_metadata")

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = NEW,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = ClassicMemberMetadata() if classic_member_metadata is NEW else classic_member_metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
        instance_id: str | None
        rack_id: str | None
        subscribed_topic_names: list[str]
        subscribed_topic_regex: str | None
        server_assignor: str | None
        classic_member_metadata: ClassicMemberMetadata | None
        instance_id, pos = p.read_compact_nullable_string(buf, pos)
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        client_id, pos = p.read_compact_string(buf, pos)
        client_host, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        subscribed_topic_names = []
        for _ in range(n):
            item_subscribed_topic_names, pos = p.read_compact_string(buf, pos)
            subscribed_topic_names.append(item_subscribed_topic_names)
        subscribed_topic_regex, pos = p.read_compact_nullable_string(buf, pos)
        (rebalance_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        server_assignor, pos = p.read_compact_nullable_string(buf, pos)
        classic_member_metadata = ClassicMemberMetadata()
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                n, pos = p.read_uvarint(buf, pos)
                if n == 0:
                    classic_member_metadata = None
                else:
                    classic_member_metadata, pos = ClassicMemberMetadata.read(buf, pos, version)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, classic_member_metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += p.compact_nullable_string(self.instance_id)
        out += p.compact_nullable_string(self.rack_id)
        out += p.compact_string(self.client_id)
        out += p.compact_string(self.client_host)
        out += p.uvarint(len(self.subscribed_topic_names) + 1)
        for item_subscribed_topic_names in self.subscribed_topic_names:
            out += p.compact_string(item_subscribed_topic_names)
        out += p.compact_nullable_string(self.subscribed_topic_regex)
        out += _i.pack(self.rebalance_timeout_ms)
        out += p.compact_nullable_string(self.server_assignor)
        tagged = []
        if self.classic_member_metadata is None or self.classic_member_metadata != ClassicMemberMetadata():
            value = p.MessageBuffer()
            if self.classic_member_metadata is None:
                value += b"\0"
            else:
                value += b"\x01"
                self.classic_member_metadata.write(value, version)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ConsumerGroupMetadataKey(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class ConsumerGroupMetadataValue(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "metadata_hash")

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupMetadataValue, int]:
        (epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        metadata_hash = 0
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (metadata_hash,) = _q.unpack_from(buf, pos)
                pos += 8
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(epoch, metadata_hash), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _i.pack(self.epoch)
        tagged = []
        if self.metadata_hash != 0:
            value = p.MessageBuffer()
            value += _q.pack(self.metadata_hash)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ConsumerGroupPartitionMetadataKey(Message):
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class PartitionMetadata(Message):
    __slots__ = ("partition", "racks")

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = NEW,
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is NEW else racks

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionMetadata, int]:
        racks: list[str]
        (partition,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        racks = []
        for _ in range(n):
            item_racks, pos = p.read_compact_string(buf, pos)
            racks.append(item_racks)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, racks), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition)
        out += p.uvarint(len(self.racks) + 1)
        for item_racks in self.racks:
            out += p.compact_string(item_racks)
        out += b"\0"


class TopicMetadata(Message):
    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is NEW else partition_metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicMetadata, int]:
        partition_metadata: list[PartitionMetadata]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        topic_name, pos = p.read_compact_string(buf, pos)
        (num_partitions,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partition_metadata = []
        for _ in range(n):
            item_partition_metadata, pos = PartitionMetadata.read(buf, pos, version)
            partition_metadata.append(item_partition_metadata)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, topic_name, num_partitions, partition_metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.compact_string(self.topic_name)
        out += _i.pack(self.num_partitions)
        out += p.uvarint(len(self.partition_metadata) + 1)
        for item_partition_metadata in self.partition_metadata:
            item_partition_metadata.write(out, version)
        out += b"\0"


class ConsumerGroupPartitionMetadataValue(Message):
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[TopicMetadata] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
        topics: list[TopicMetadata]
        n, pos = p.read_compact_array_length(buf, pos, 23)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = TopicMetadata.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class ConsumerGroupRegularExpressionKey(Message):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "regular_expression")

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupRegularExpressionKey, int]:
        group_id, pos = p.read_string(buf, pos)
        regular_expression, pos = p.read_string(buf, pos)
        return cls(group_id, regular_expression), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.regular_expression)


class ConsumerGroupRegularExpressionValue(Message):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics", "version", "timestamp")

    def __init__(
        self,
        topics: list[str] = NEW,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.version = version
        self.timestamp = timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupRegularExpressionValue, int]:
        topics: list[str]
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = p.read_compact_string(buf, pos)
            topics.append(item_topics)
        version_, timestamp = _qq.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topics, version_, timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            out += p.compact_string(item_topics)
        out += _qq.pack(self.version, self.timestamp)
        out += b"\0"


class ConsumerGroupTargetAssignmentMemberKey(Message):
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMemberKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ConsumerGroupTargetAssignmentMemberValueTopicPartition(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMemberValueTopicPartition, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class ConsumerGroupTargetAssignmentMemberValue(Message):
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValueTopicPartition] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMemberValue, int]:
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValueTopicPartition]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topic_partitions = []
        for _ in range(n):
            item_topic_partitions, pos = ConsumerGroupTargetAssignmentMemberValueTopicPartition.read(buf, pos, version)
            topic_partitions.append(item_topic_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topic_partitions) + 1)
        for item_topic_partitions in self.topic_partitions:
            item_topic_partitions.write(out, version)
        out += b"\0"


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, int]:
        (assignment_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        assignment_timestamp = 0
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (assignment_timestamp,) = _q.unpack_from(buf, pos)
                pos += 8
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(assignment_epoch, assignment_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _i.pack(self.assignment_epoch)
        tagged = []
        if self.assignment_timestamp != 0:
            value = p.MessageBuffer()
            value += _q.pack(self.assignment_timestamp)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class GroupMetadataKey(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group",)

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[GroupMetadataKey, int]:
        group, pos = p.read_string(buf, pos)
        return cls(group), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group)


class MemberMetadata(Message):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MemberMetadata, int]:
        group_instance_id: str | None
        if version >= 4:
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            client_id, pos = p.read_compact_string(buf, pos)
            client_host, pos = p.read_compact_string(buf, pos)
            rebalance_timeout, session_timeout = _ii.unpack_from(buf, pos)
            pos += 8
            subscription, pos = p.read_compact_bytes(buf, pos)
            assignment, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, group_instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), pos
        member_id, pos = p.read_string(buf, pos)
        if version == 3:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        client_id, pos = p.read_string(buf, pos)
        client_host, pos = p.read_string(buf, pos)
        if version >= 1:
            (rebalance_timeout,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            rebalance_timeout = -1
        (session_timeout,) = _i.unpack_from(buf, pos)
        pos += 4
        subscription, pos = p.read_bytes(buf, pos)
        assignment, pos = p.read_bytes(buf, pos)
        return cls(member_id, group_instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += p.compact_string(self.client_id)
            out += p.compact_string(self.client_host)
            out += _ii.pack(self.rebalance_timeout, self.session_timeout)
            p.write_compact_records(out, self.subscription)
            p.write_compact_records(out, self.assignment)
            out += b"\0"
            return
        out += p.string(self.member_id)
        if version == 3:
            out += p.nullable_string(self.group_instance_id)
        out += p.string(self.client_id)
        out += p.string(self.client_host)
        if version >= 1:
            out += _i.pack(self.rebalance_timeout)
        out += _i.pack(self.session_timeout)
        p.write_records(out, self.subscription)
        p.write_records(out, self.assignment)


class GroupMetadataValue(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = NEW,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is NEW else members

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[GroupMetadataValue, int]:
        protocol: str | None
        leader: str | None
        members: list[MemberMetadata]
        if version >= 4:
            protocol_type, pos = p.read_compact_string(buf, pos)
            (generation,) = _i.unpack_from(buf, pos)
            pos += 4
            protocol, pos = p.read_compact_nullable_string(buf, pos)
            leader, pos = p.read_compact_nullable_string(buf, pos)
            (current_state_timestamp,) = _q.unpack_from(buf, pos)
            pos += 8
            n, pos = p.read_compact_array_length(buf, pos, 15)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                item_members, pos = MemberMetadata.read(buf, pos, version)
                members.append(item_members)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos
        protocol_type, pos = p.read_string(buf, pos)
        (generation,) = _i.unpack_from(buf, pos)
        pos += 4
        protocol, pos = p.read_nullable_string(buf, pos)
        leader, pos = p.read_nullable_string(buf, pos)
        if version >= 2:
            (current_state_timestamp,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            current_state_timestamp = -1
        n, pos = p.read_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        members = []
        for _ in range(n):
            item_members, pos = MemberMetadata.read(buf, pos, version)
            members.append(item_members)
        return cls(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.protocol_type)
            out += _i.pack(self.generation)
            out += p.compact_nullable_string(self.protocol)
            out += p.compact_nullable_string(self.leader)
            out += _q.pack(self.current_state_timestamp)
            out += p.uvarint(len(self.members) + 1)
            for item_members in self.members:
                item_members.write(out, version)
            out += b"\0"
            return
        out += p.string(self.protocol_type)
        out += _i.pack(self.generation)
        out += p.nullable_string(self.protocol)
        out += p.nullable_string(self.leader)
        if version >= 2:
            out += _q.pack(self.current_state_timestamp)
        out += p.array_length(len(self.members))
        for item_members in self.members:
            item_members.write(out, version)


class LegacyOffsetCommitKey(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group", "topic", "partition")

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LegacyOffsetCommitKey, int]:
        group, pos = p.read_string(buf, pos)
        topic, pos = p.read_string(buf, pos)
        (partition,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(group, topic, partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group)
        out += p.string(self.topic)
        out += _i.pack(self.partition)


class LegacyOffsetCommitValue(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("offset", "metadata", "commit_timestamp")

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LegacyOffsetCommitValue, int]:
        (offset,) = _q.unpack_from(buf, pos)
        pos += 8
        metadata, pos = p.read_string(buf, pos)
        (commit_timestamp,) = _q.unpack_from(buf, pos)
        pos += 8
        return cls(offset, metadata, commit_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _q.pack(self.offset)
        out += p.string(self.metadata)
        out += _q.pack(self.commit_timestamp)


class OffsetCommitKey(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group", "topic", "partition")

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitKey, int]:
        group, pos = p.read_string(buf, pos)
        topic, pos = p.read_string(buf, pos)
        (partition,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(group, topic, partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group)
        out += p.string(self.topic)
        out += _i.pack(self.partition)


class OffsetCommitValue(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitValue, int]:
        if version >= 4:
            offset, leader_epoch = _qi.unpack_from(buf, pos)
            pos += 12
            metadata, pos = p.read_compact_string(buf, pos)
            (commit_timestamp,) = _q.unpack_from(buf, pos)
            pos += 8
            expire_timestamp = -1
            topic_id = p.ZERO_UUID
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    (topic_id,) = _U.unpack_from(buf, pos)
                    pos += 16
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id), pos
        (offset,) = _q.unpack_from(buf, pos)
        pos += 8
        if version == 3:
            (leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            leader_epoch = -1
        metadata, pos = p.read_string(buf, pos)
        (commit_timestamp,) = _q.unpack_from(buf, pos)
        pos += 8
        if version == 1:
            (expire_timestamp,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            expire_timestamp = -1
        topic_id = p.ZERO_UUID
        return cls(offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 4:
            out += _qi.pack(self.offset, self.leader_epoch)
            out += p.compact_string(self.metadata)
            out += _q.pack(self.commit_timestamp)
            tagged = []
            if self.topic_id != p.ZERO_UUID:
                value = p.MessageBuffer()
                value += _U.pack(self.topic_id)
                tagged.append((0, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _q.pack(self.offset)
        if version == 3:
            out += _i.pack(self.leader_epoch)
        out += p.string(self.metadata)
        out += _q.pack(self.commit_timestamp)
        if version == 1:
            out += _q.pack(self.expire_timestamp)


class ShareGroupCurrentMemberAssignmentKey(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ShareGroupCurrentMemberAssignmentValueTopicPartitions(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentValueTopicPartitions, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class ShareGroupCurrentMemberAssignmentValue(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions] = NEW,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentValue, int]:
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitions]
        member_epoch, previous_member_epoch, state = _iib.unpack_from(buf, pos)
        pos += 9
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        assigned_partitions = []
        for _ in range(n):
            item_assigned_partitions, pos = ShareGroupCurrentMemberAssignmentValueTopicPartitions.read(buf, pos, version)
            assigned_partitions.append(item_assigned_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(member_epoch, previous_member_epoch, state, assigned_partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iib.pack(self.member_epoch, self.previous_member_epoch, self.state)
        out += p.uvarint(len(self.assigned_partitions) + 1)
        for item_assigned_partitions in self.assigned_partitions:
            item_assigned_partitions.write(out, version)
        out += b"\0"


class ShareGroupMemberMetadataKey(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupMemberMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ShareGroupMemberMetadataValue(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupMemberMetadataValue, int]:
        rack_id: str | None
        subscribed_topic_names: list[str]
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        client_id, pos = p.read_compact_string(buf, pos)
        client_host, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        subscribed_topic_names = []
        for _ in range(n):
            item_subscribed_topic_names, pos = p.read_compact_string(buf, pos)
            subscribed_topic_names.append(item_subscribed_topic_names)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(rack_id, client_id, client_host, subscribed_topic_names), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.rack_id)
        out += p.compact_string(self.client_id)
        out += p.compact_string(self.client_host)
        out += p.uvarint(len(self.subscribed_topic_names) + 1)
        for item_subscribed_topic_names in self.subscribed_topic_names:
            out += p.compact_string(item_subscribed_topic_names)
        out += b"\0"


class ShareGroupMetadataKey(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class ShareGroupMetadataValue(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "metadata_hash")

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupMetadataValue, int]:
        epoch, metadata_hash = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(epoch, metadata_hash), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.epoch, self.metadata_hash)
        out += b"\0"


class ShareGroupStatePartitionMetadataKey(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupStatePartitionMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class TopicPartitionsInfo(Message):
    __slots__ = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicPartitionsInfo, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, topic_name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.compact_string(self.topic_name)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class ShareGroupStatePartitionMetadataValueTopicInfo(Message):
    __slots__ = ("topic_id", "topic_name")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        topic_name: str = "",
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupStatePartitionMetadataValueTopicInfo, int]:
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        topic_name, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, topic_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.compact_string(self.topic_name)
        out += b"\0"


class ShareGroupStatePartitionMetadataValue(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = NEW,
        initialized_topics: list[TopicPartitionsInfo] = NEW,
        deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo] = NEW,
    ) -> None:
        self.initializing_topics = [] if initializing_topics is NEW else initializing_topics
        self.initialized_topics = [] if initialized_topics is NEW else initialized_topics
        self.deleting_topics = [] if deleting_topics is NEW else deleting_topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
        initializing_topics: list[TopicPartitionsInfo]
        initialized_topics: list[TopicPartitionsInfo]
        deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfo]
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        initializing_topics = []
        for _ in range(n):
            item_initializing_topics, pos = TopicPartitionsInfo.read(buf, pos, version)
            initializing_topics.append(item_initializing_topics)
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        initialized_topics = []
        for _ in range(n):
            item_initialized_topics, pos = TopicPartitionsInfo.read(buf, pos, version)
            initialized_topics.append(item_initialized_topics)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        deleting_topics = []
        for _ in range(n):
            item_deleting_topics, pos = ShareGroupStatePartitionMetadataValueTopicInfo.read(buf, pos, version)
            deleting_topics.append(item_deleting_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(initializing_topics, initialized_topics, deleting_topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.initializing_topics) + 1)
        for item_initializing_topics in self.initializing_topics:
            item_initializing_topics.write(out, version)
        out += p.uvarint(len(self.initialized_topics) + 1)
        for item_initialized_topics in self.initialized_topics:
            item_initialized_topics.write(out, version)
        out += p.uvarint(len(self.deleting_topics) + 1)
        for item_deleting_topics in self.deleting_topics:
            item_deleting_topics.write(out, version)
        out += b"\0"


class ShareGroupTargetAssignmentMemberKey(Message):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class ShareGroupTargetAssignmentMemberValueTopicPartition(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberValueTopicPartition, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class ShareGroupTargetAssignmentMemberValue(Message):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[ShareGroupTargetAssignmentMemberValueTopicPartition] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
        topic_partitions: list[ShareGroupTargetAssignmentMemberValueTopicPartition]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topic_partitions = []
        for _ in range(n):
            item_topic_partitions, pos = ShareGroupTargetAssignmentMemberValueTopicPartition.read(buf, pos, version)
            topic_partitions.append(item_topic_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topic_partitions) + 1)
        for item_topic_partitions in self.topic_partitions:
            item_topic_partitions.write(out, version)
        out += b"\0"


class ShareGroupTargetAssignmentMetadataKey(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class ShareGroupTargetAssignmentMetadataValue(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataValue, int]:
        (assignment_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        assignment_timestamp = 0
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (assignment_timestamp,) = _q.unpack_from(buf, pos)
                pos += 8
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(assignment_epoch, assignment_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _i.pack(self.assignment_epoch)
        tagged = []
        if self.assignment_timestamp != 0:
            value = p.MessageBuffer()
            value += _q.pack(self.assignment_timestamp)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class StreamsGroupCurrentMemberAssignmentKey(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupCurrentMemberAssignmentKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class StreamsGroupCurrentMemberAssignmentValueTaskIds(Message):
    __slots__ = ("subtopology_id", "partitions", "assignment_epochs")

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = NEW,
        assignment_epochs: list[int] | None = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NEW else partitions
        self.assignment_epochs = [] if assignment_epochs is NEW else assignment_epochs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupCurrentMemberAssignmentValueTaskIds, int]:
        partitions: list[int]
        assignment_epochs: list[int] | None
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        assignment_epochs = []
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    assignment_epochs = None
                else:
                    assignment_epochs = list(Struct(f">{n}i").unpack_from(buf, pos))
                    pos += n * 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(subtopology_id, partitions, assignment_epochs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        tagged = []
        if self.assignment_epochs is None or len(self.assignment_epochs):
            value = p.MessageBuffer()
            if self.assignment_epochs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.assignment_epochs) + 1)
                value += Struct(f">{len(self.assignment_epochs)}i").pack(*self.assignment_epochs)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class StreamsGroupCurrentMemberAssignmentValue(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation", "standby_tasks_pending_revocation", "warmup_tasks_pending_revocation")

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = NEW,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is NEW else active_tasks
        self.standby_tasks = [] if standby_tasks is NEW else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NEW else warmup_tasks
        self.active_tasks_pending_revocation = [] if active_tasks_pending_revocation is NEW else active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = [] if standby_tasks_pending_revocation is NEW else standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = [] if warmup_tasks_pending_revocation is NEW else warmup_tasks_pending_revocation

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupCurrentMemberAssignmentValue, int]:
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds]
        member_epoch, previous_member_epoch, state = _iib.unpack_from(buf, pos)
        pos += 9
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        active_tasks = []
        for _ in range(n):
            item_active_tasks, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            active_tasks.append(item_active_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        standby_tasks = []
        for _ in range(n):
            item_standby_tasks, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            standby_tasks.append(item_standby_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        warmup_tasks = []
        for _ in range(n):
            item_warmup_tasks, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            warmup_tasks.append(item_warmup_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        active_tasks_pending_revocation = []
        for _ in range(n):
            item_active_tasks_pending_revocation, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            active_tasks_pending_revocation.append(item_active_tasks_pending_revocation)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        standby_tasks_pending_revocation = []
        for _ in range(n):
            item_standby_tasks_pending_revocation, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            standby_tasks_pending_revocation.append(item_standby_tasks_pending_revocation)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        warmup_tasks_pending_revocation = []
        for _ in range(n):
            item_warmup_tasks_pending_revocation, pos = StreamsGroupCurrentMemberAssignmentValueTaskIds.read(buf, pos, version)
            warmup_tasks_pending_revocation.append(item_warmup_tasks_pending_revocation)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(member_epoch, previous_member_epoch, state, active_tasks, standby_tasks, warmup_tasks, active_tasks_pending_revocation, standby_tasks_pending_revocation, warmup_tasks_pending_revocation), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iib.pack(self.member_epoch, self.previous_member_epoch, self.state)
        out += p.uvarint(len(self.active_tasks) + 1)
        for item_active_tasks in self.active_tasks:
            item_active_tasks.write(out, version)
        out += p.uvarint(len(self.standby_tasks) + 1)
        for item_standby_tasks in self.standby_tasks:
            item_standby_tasks.write(out, version)
        out += p.uvarint(len(self.warmup_tasks) + 1)
        for item_warmup_tasks in self.warmup_tasks:
            item_warmup_tasks.write(out, version)
        out += p.uvarint(len(self.active_tasks_pending_revocation) + 1)
        for item_active_tasks_pending_revocation in self.active_tasks_pending_revocation:
            item_active_tasks_pending_revocation.write(out, version)
        out += p.uvarint(len(self.standby_tasks_pending_revocation) + 1)
        for item_standby_tasks_pending_revocation in self.standby_tasks_pending_revocation:
            item_standby_tasks_pending_revocation.write(out, version)
        out += p.uvarint(len(self.warmup_tasks_pending_revocation) + 1)
        for item_warmup_tasks_pending_revocation in self.warmup_tasks_pending_revocation:
            item_warmup_tasks_pending_revocation.write(out, version)
        out += b"\0"


class StreamsGroupMemberMetadataKey(Message):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupMemberMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class Endpoint(Message):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Endpoint, int]:
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _H.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.host)
        out += _H.pack(self.port)
        out += b"\0"


class KeyValue(Message):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[KeyValue, int]:
        key, pos = p.read_compact_string(buf, pos)
        value, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(key, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.key)
        out += p.compact_string(self.value)
        out += b"\0"


class StreamsGroupMemberMetadataValue(Message):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topology_epoch", "process_id", "user_endpoint", "client_tags")

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = NEW,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is NEW else client_tags

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupMemberMetadataValue, int]:
        instance_id: str | None
        rack_id: str | None
        user_endpoint: Endpoint | None
        client_tags: list[KeyValue]
        instance_id, pos = p.read_compact_nullable_string(buf, pos)
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        client_id, pos = p.read_compact_string(buf, pos)
        client_host, pos = p.read_compact_string(buf, pos)
        rebalance_timeout_ms, topology_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        process_id, pos = p.read_compact_string(buf, pos)
        pos += 1
        if buf[pos - 1] > 127:
            user_endpoint = None
        else:
            user_endpoint, pos = Endpoint.read(buf, pos, version)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        client_tags = []
        for _ in range(n):
            item_client_tags, pos = KeyValue.read(buf, pos, version)
            client_tags.append(item_client_tags)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(instance_id, rack_id, client_id, client_host, rebalance_timeout_ms, topology_epoch, process_id, user_endpoint, client_tags), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.instance_id)
        out += p.compact_nullable_string(self.rack_id)
        out += p.compact_string(self.client_id)
        out += p.compact_string(self.client_host)
        out += _ii.pack(self.rebalance_timeout_ms, self.topology_epoch)
        out += p.compact_string(self.process_id)
        if self.user_endpoint is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.user_endpoint.write(out, version)
        out += p.uvarint(len(self.client_tags) + 1)
        for item_client_tags in self.client_tags:
            item_client_tags.write(out, version)
        out += b"\0"


class StreamsGroupMetadataKey(Message):
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class LastAssignmentConfig(Message):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LastAssignmentConfig, int]:
        key, pos = p.read_compact_string(buf, pos)
        value, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(key, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.key)
        out += p.compact_string(self.value)
        out += b"\0"


class StreamsGroupMetadataValue(Message):
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs", "stored_description_topology_epoch", "failed_description_topology_epoch")

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[LastAssignmentConfig] | None = NEW,
        stored_description_topology_epoch: int = -1,
        failed_description_topology_epoch: int = -1,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is NEW else last_assignment_configs
        self.stored_description_topology_epoch = stored_description_topology_epoch
        self.failed_description_topology_epoch = failed_description_topology_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupMetadataValue, int]:
        last_assignment_configs: list[LastAssignmentConfig] | None
        epoch, metadata_hash = _iq.unpack_from(buf, pos)
        pos += 12
        validated_topology_epoch = -1
        last_assignment_configs = []
        stored_description_topology_epoch = -1
        failed_description_topology_epoch = -1
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (validated_topology_epoch,) = _i.unpack_from(buf, pos)
                pos += 4
            elif tag == 1:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    last_assignment_configs = None
                else:
                    last_assignment_configs = []
                    for _ in range(n):
                        item_last_assignment_configs, pos = LastAssignmentConfig.read(buf, pos, version)
                        last_assignment_configs.append(item_last_assignment_configs)
            elif tag == 2:
                (stored_description_topology_epoch,) = _i.unpack_from(buf, pos)
                pos += 4
            elif tag == 3:
                (failed_description_topology_epoch,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(epoch, metadata_hash, validated_topology_epoch, last_assignment_configs, stored_description_topology_epoch, failed_description_topology_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iq.pack(self.epoch, self.metadata_hash)
        tagged = []
        if self.validated_topology_epoch != -1:
            value = p.MessageBuffer()
            value += _i.pack(self.validated_topology_epoch)
            tagged.append((0, value))
        if self.last_assignment_configs is None or len(self.last_assignment_configs):
            value = p.MessageBuffer()
            if self.last_assignment_configs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.last_assignment_configs) + 1)
                for item_last_assignment_configs in self.last_assignment_configs:
                    item_last_assignment_configs.write(value, version)
            tagged.append((1, value))
        if self.stored_description_topology_epoch != -1:
            value = p.MessageBuffer()
            value += _i.pack(self.stored_description_topology_epoch)
            tagged.append((2, value))
        if self.failed_description_topology_epoch != -1:
            value = p.MessageBuffer()
            value += _i.pack(self.failed_description_topology_epoch)
            tagged.append((3, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class StreamsGroupTargetAssignmentMemberKey(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "member_id")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTargetAssignmentMemberKey, int]:
        group_id, pos = p.read_string(buf, pos)
        member_id, pos = p.read_string(buf, pos)
        return cls(group_id, member_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.string(self.member_id)


class StreamsGroupTargetAssignmentMemberValueTaskIds(Message):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTargetAssignmentMemberValueTaskIds, int]:
        partitions: list[int]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class StreamsGroupTargetAssignmentMemberValue(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

    def __init__(
        self,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = NEW,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = NEW,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = NEW,
    ) -> None:
        self.active_tasks = [] if active_tasks is NEW else active_tasks
        self.standby_tasks = [] if standby_tasks is NEW else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NEW else warmup_tasks

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTargetAssignmentMemberValue, int]:
        active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        active_tasks = []
        for _ in range(n):
            item_active_tasks, pos = StreamsGroupTargetAssignmentMemberValueTaskIds.read(buf, pos, version)
            active_tasks.append(item_active_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        standby_tasks = []
        for _ in range(n):
            item_standby_tasks, pos = StreamsGroupTargetAssignmentMemberValueTaskIds.read(buf, pos, version)
            standby_tasks.append(item_standby_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        warmup_tasks = []
        for _ in range(n):
            item_warmup_tasks, pos = StreamsGroupTargetAssignmentMemberValueTaskIds.read(buf, pos, version)
            warmup_tasks.append(item_warmup_tasks)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(active_tasks, standby_tasks, warmup_tasks), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.active_tasks) + 1)
        for item_active_tasks in self.active_tasks:
            item_active_tasks.write(out, version)
        out += p.uvarint(len(self.standby_tasks) + 1)
        for item_standby_tasks in self.standby_tasks:
            item_standby_tasks.write(out, version)
        out += p.uvarint(len(self.warmup_tasks) + 1)
        for item_warmup_tasks in self.warmup_tasks:
            item_warmup_tasks.write(out, version)
        out += b"\0"


class StreamsGroupTargetAssignmentMetadataKey(Message):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTargetAssignmentMetadataKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class StreamsGroupTargetAssignmentMetadataValue(Message):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTargetAssignmentMetadataValue, int]:
        (assignment_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        assignment_timestamp = 0
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (assignment_timestamp,) = _q.unpack_from(buf, pos)
                pos += 8
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(assignment_epoch, assignment_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _i.pack(self.assignment_epoch)
        tagged = []
        if self.assignment_timestamp != 0:
            value = p.MessageBuffer()
            value += _q.pack(self.assignment_timestamp)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class StreamsGroupTopologyKey(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id",)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTopologyKey, int]:
        group_id, pos = p.read_string(buf, pos)
        return cls(group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)


class TopicConfig(Message):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicConfig, int]:
        key, pos = p.read_compact_string(buf, pos)
        value, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(key, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.key)
        out += p.compact_string(self.value)
        out += b"\0"


class StreamsGroupTopologyValueTopicInfo(Message):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[TopicConfig] = NEW,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is NEW else topic_configs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTopologyValueTopicInfo, int]:
        topic_configs: list[TopicConfig]
        name, pos = p.read_compact_string(buf, pos)
        partitions, replication_factor = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topic_configs = []
        for _ in range(n):
            item_topic_configs, pos = TopicConfig.read(buf, pos, version)
            topic_configs.append(item_topic_configs)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions, replication_factor, topic_configs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _ih.pack(self.partitions, self.replication_factor)
        out += p.uvarint(len(self.topic_configs) + 1)
        for item_topic_configs in self.topic_configs:
            item_topic_configs.write(out, version)
        out += b"\0"


class CopartitionGroup(Message):
    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")

    def __init__(
        self,
        source_topics: list[int] = NEW,
        source_topic_regex: list[int] = NEW,
        repartition_source_topics: list[int] = NEW,
    ) -> None:
        self.source_topics = [] if source_topics is NEW else source_topics
        self.source_topic_regex = [] if source_topic_regex is NEW else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is NEW else repartition_source_topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CopartitionGroup, int]:
        source_topics: list[int]
        source_topic_regex: list[int]
        repartition_source_topics: list[int]
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        source_topics = list(Struct(f">{n}h").unpack_from(buf, pos))
        pos += n * 2
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        source_topic_regex = list(Struct(f">{n}h").unpack_from(buf, pos))
        pos += n * 2
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        repartition_source_topics = list(Struct(f">{n}h").unpack_from(buf, pos))
        pos += n * 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(source_topics, source_topic_regex, repartition_source_topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.source_topics) + 1)
        out += Struct(f">{len(self.source_topics)}h").pack(*self.source_topics)
        out += p.uvarint(len(self.source_topic_regex) + 1)
        out += Struct(f">{len(self.source_topic_regex)}h").pack(*self.source_topic_regex)
        out += p.uvarint(len(self.repartition_source_topics) + 1)
        out += Struct(f">{len(self.repartition_source_topics)}h").pack(*self.repartition_source_topics)
        out += b"\0"


class Subtopology(Message):
    __slots__ = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = NEW,
        source_topic_regex: list[str] = NEW,
        state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo] = NEW,
        repartition_sink_topics: list[str] = NEW,
        repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo] = NEW,
        copartition_groups: list[CopartitionGroup] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is NEW else source_topics
        self.source_topic_regex = [] if source_topic_regex is NEW else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is NEW else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is NEW else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is NEW else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is NEW else copartition_groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Subtopology, int]:
        source_topics: list[str]
        source_topic_regex: list[str]
        state_changelog_topics: list[StreamsGroupTopologyValueTopicInfo]
        repartition_sink_topics: list[str]
        repartition_source_topics: list[StreamsGroupTopologyValueTopicInfo]
        copartition_groups: list[CopartitionGroup]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topics = []
        for _ in range(n):
            item_source_topics, pos = p.read_compact_string(buf, pos)
            source_topics.append(item_source_topics)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topic_regex = []
        for _ in range(n):
            item_source_topic_regex, pos = p.read_compact_string(buf, pos)
            source_topic_regex.append(item_source_topic_regex)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        state_changelog_topics = []
        for _ in range(n):
            item_state_changelog_topics, pos = StreamsGroupTopologyValueTopicInfo.read(buf, pos, version)
            state_changelog_topics.append(item_state_changelog_topics)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        repartition_sink_topics = []
        for _ in range(n):
            item_repartition_sink_topics, pos = p.read_compact_string(buf, pos)
            repartition_sink_topics.append(item_repartition_sink_topics)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        repartition_source_topics = []
        for _ in range(n):
            item_repartition_source_topics, pos = StreamsGroupTopologyValueTopicInfo.read(buf, pos, version)
            repartition_source_topics.append(item_repartition_source_topics)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        copartition_groups = []
        for _ in range(n):
            item_copartition_groups, pos = CopartitionGroup.read(buf, pos, version)
            copartition_groups.append(item_copartition_groups)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, source_topics, source_topic_regex, state_changelog_topics, repartition_sink_topics, repartition_source_topics, copartition_groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.source_topics) + 1)
        for item_source_topics in self.source_topics:
            out += p.compact_string(item_source_topics)
        out += p.uvarint(len(self.source_topic_regex) + 1)
        for item_source_topic_regex in self.source_topic_regex:
            out += p.compact_string(item_source_topic_regex)
        out += p.uvarint(len(self.state_changelog_topics) + 1)
        for item_state_changelog_topics in self.state_changelog_topics:
            item_state_changelog_topics.write(out, version)
        out += p.uvarint(len(self.repartition_sink_topics) + 1)
        for item_repartition_sink_topics in self.repartition_sink_topics:
            out += p.compact_string(item_repartition_sink_topics)
        out += p.uvarint(len(self.repartition_source_topics) + 1)
        for item_repartition_source_topics in self.repartition_source_topics:
            item_repartition_source_topics.write(out, version)
        out += p.uvarint(len(self.copartition_groups) + 1)
        for item_copartition_groups in self.copartition_groups:
            item_copartition_groups.write(out, version)
        out += b"\0"


class StreamsGroupTopologyValue(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("epoch", "subtopologies")

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] = NEW,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is NEW else subtopologies

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTopologyValue, int]:
        subtopologies: list[Subtopology]
        (epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        subtopologies = []
        for _ in range(n):
            item_subtopologies, pos = Subtopology.read(buf, pos, version)
            subtopologies.append(item_subtopologies)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(epoch, subtopologies), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.epoch)
        out += p.uvarint(len(self.subtopologies) + 1)
        for item_subtopologies in self.subtopologies:
            item_subtopologies.write(out, version)
        out += b"\0"

"""DescribeTopicPartitions (API key 75). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_UT = Struct(">16s?")
_h = Struct(">h")
_hiii = Struct(">hiii")
_i = Struct(">i")


class TopicRequest(Message):
    __slots__ = ("name",)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicRequest, int]:
        name, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += b"\0"


class DescribeTopicPartitionsRequestCursor(Message):
    __slots__ = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTopicPartitionsRequestCursor, int]:
        topic_name, pos = p.read_compact_string(buf, pos)
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += _i.pack(self.partition_index)
        out += b"\0"


class DescribeTopicPartitionsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics", "response_partition_limit", "cursor")

    def __init__(
        self,
        topics: list[TopicRequest] = NEW,
        response_partition_limit: int = 2000,
        cursor: DescribeTopicPartitionsRequestCursor | None = None,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeTopicPartitionsRequest]:
        topics: list[TopicRequest]
        cursor: DescribeTopicPartitionsRequestCursor | None
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos = TopicRequest.read(buf, pos, version)
            topics.append(item_topics)
        (response_partition_limit,) = _i.unpack_from(buf, pos)
        pos += 4
        pos += 1
        if buf[pos - 1] > 127:
            cursor = None
        else:
            cursor, pos = DescribeTopicPartitionsRequestCursor.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topics, response_partition_limit, cursor), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _i.pack(self.response_partition_limit)
        if self.cursor is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.cursor.write(out, version)
        out += b"\0"


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = NEW,
        isr_nodes: list[int] = NEW,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NEW else replica_nodes
        self.isr_nodes = [] if isr_nodes is NEW else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is NEW else offline_replicas

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTopicPartitionsResponsePartition, int]:
        replica_nodes: list[int]
        isr_nodes: list[int]
        eligible_leader_replicas: list[int] | None
        last_known_elr: list[int] | None
        offline_replicas: list[int]
        error_code, partition_index, leader_id, leader_epoch = _hiii.unpack_from(buf, pos)
        pos += 14
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        replica_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        isr_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            eligible_leader_replicas = None
        else:
            eligible_leader_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            last_known_elr = None
        else:
            last_known_elr = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        offline_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hiii.pack(self.error_code, self.partition_index, self.leader_id, self.leader_epoch)
        out += p.uvarint(len(self.replica_nodes) + 1)
        out += Struct(f">{len(self.replica_nodes)}i").pack(*self.replica_nodes)
        out += p.uvarint(len(self.isr_nodes) + 1)
        out += Struct(f">{len(self.isr_nodes)}i").pack(*self.isr_nodes)
        if self.eligible_leader_replicas is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.eligible_leader_replicas) + 1)
            out += Struct(f">{len(self.eligible_leader_replicas)}i").pack(*self.eligible_leader_replicas)
        if self.last_known_elr is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.last_known_elr) + 1)
            out += Struct(f">{len(self.last_known_elr)}i").pack(*self.last_known_elr)
        out += p.uvarint(len(self.offline_replicas) + 1)
        out += Struct(f">{len(self.offline_replicas)}i").pack(*self.offline_replicas)
        out += b"\0"


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = p.ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = NEW,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NEW else partitions
        self.topic_authorized_operations = topic_authorized_operations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
        name: str | None
        partitions: list[DescribeTopicPartitionsResponsePartition]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        name, pos = p.read_compact_nullable_string(buf, pos)
        topic_id, is_internal = _UT.unpack_from(buf, pos)
        pos += 17
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = DescribeTopicPartitionsResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        (topic_authorized_operations,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.name)
        out += _UT.pack(self.topic_id, self.is_internal)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += _i.pack(self.topic_authorized_operations)
        out += b"\0"


class DescribeTopicPartitionsResponseCursor(Message):
    __slots__ = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTopicPartitionsResponseCursor, int]:
        topic_name, pos = p.read_compact_string(buf, pos)
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += _i.pack(self.partition_index)
        out += b"\0"


class DescribeTopicPartitionsResponse(Message):
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "topics", "next_cursor")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = NEW,
        next_cursor: DescribeTopicPartitionsResponseCursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
        self.next_cursor = next_cursor

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTopicPartitionsResponse, int]:
        topics: list[DescribeTopicPartitionsResponseTopic]
        next_cursor: DescribeTopicPartitionsResponseCursor | None
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 26)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DescribeTopicPartitionsResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        pos += 1
        if buf[pos - 1] > 127:
            next_cursor = None
        else:
            next_cursor, pos = DescribeTopicPartitionsResponseCursor.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, topics, next_cursor), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        if self.next_cursor is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.next_cursor.write(out, version)
        out += b"\0"


REQUEST = DescribeTopicPartitionsRequest
RESPONSE = DescribeTopicPartitionsResponse

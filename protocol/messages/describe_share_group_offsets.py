"""DescribeShareGroupOffsets (API key 90). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_h = Struct(">h")
_i = Struct(">i")
_iqi = Struct(">iqi")
_q = Struct(">q")


class DescribeShareGroupOffsetsRequestTopic(SlicedMessage):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeShareGroupOffsetsRequestTopic]:
        partitions: list[int]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class DescribeShareGroupOffsetsRequestGroup(SlicedMessage):
    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeShareGroupOffsetsRequestGroup]:
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            topics = None
        else:
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from DescribeShareGroupOffsetsRequestTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        if self.topics is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
        out += b"\0"


class DescribeShareGroupOffsetsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("groups",)

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = NEW,
    ) -> None:
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeShareGroupOffsetsRequest]:
        groups: list[DescribeShareGroupOffsetsRequestGroup]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_groups, pos, stop = yield from DescribeShareGroupOffsetsRequestGroup.read_steps(buf, pos, version, stop)
            groups.append(item_groups)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(groups), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.groups) + 1)
        for item_groups in self.groups:
            item_groups.write(out, version)
        out += b"\0"


class DescribeShareGroupOffsetsResponsePartition(Message):
    __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
        error_message: str | None
        partition_index, start_offset, leader_epoch = _iqi.unpack_from(buf, pos)
        pos += 16
        if version == 1:
            (lag,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            lag = -1
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, start_offset, leader_epoch, lag, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iqi.pack(self.partition_index, self.start_offset, self.leader_epoch)
        if version == 1:
            out += _q.pack(self.lag)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class DescribeShareGroupOffsetsResponseTopic(Message):
    __slots__ = ("topic_name", "topic_id", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
        partitions: list[DescribeShareGroupOffsetsResponsePartition]
        topic_name, pos = p.read_compact_string(buf, pos)
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = DescribeShareGroupOffsetsResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class DescribeShareGroupOffsetsResponseGroup(Message):
    __slots__ = ("group_id", "topics", "error_code", "error_message")

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsResponseTopic] = NEW,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
        topics: list[DescribeShareGroupOffsetsResponseTopic]
        error_message: str | None
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DescribeShareGroupOffsetsResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, topics, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class DescribeShareGroupOffsetsResponse(Message):
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponseGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
        groups: list[DescribeShareGroupOffsetsResponseGroup]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            item_groups, pos = DescribeShareGroupOffsetsResponseGroup.read(buf, pos, version)
            groups.append(item_groups)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.groups) + 1)
        for item_groups in self.groups:
            item_groups.write(out, version)
        out += b"\0"


REQUEST = DescribeShareGroupOffsetsRequest
RESPONSE = DescribeShareGroupOffsetsResponse

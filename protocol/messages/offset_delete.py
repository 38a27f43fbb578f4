"""OffsetDelete (API key 47). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_hi = Struct(">hi")
_i = Struct(">i")
_ih = Struct(">ih")


class OffsetDeleteRequestPartition(Message):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteRequestPartition, int]:
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)


class OffsetDeleteRequestTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetDeleteRequestTopic]:
        partitions: list[OffsetDeleteRequestPartition]
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = OffsetDeleteRequestPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetDeleteRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetDeleteRequest]:
        topics: list[OffsetDeleteRequestTopic]
        group_id, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from OffsetDeleteRequestTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        return cls(group_id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class OffsetDeleteResponsePartition(Message):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteResponsePartition, int]:
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)


class OffsetDeleteResponseTopic(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteResponseTopic, int]:
        partitions: list[OffsetDeleteResponsePartition]
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = OffsetDeleteResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetDeleteResponse(Message):
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("error_code", "throttle_time_ms", "topics")

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = NEW,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteResponse, int]:
        topics: list[OffsetDeleteResponseTopic]
        error_code, throttle_time_ms = _hi.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = OffsetDeleteResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        return cls(error_code, throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hi.pack(self.error_code, self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = OffsetDeleteRequest
RESPONSE = OffsetDeleteResponse

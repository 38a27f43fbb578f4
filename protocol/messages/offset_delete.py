"""OffsetDelete (API key 47). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_hi = Struct(">hi")
_i = Struct(">i")
_ih = Struct(">ih")


@dataclass(slots=True)
class OffsetDeleteRequestPartition:
    partition_index: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteRequestPartition, int]:
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)


@dataclass(slots=True)
class OffsetDeleteRequestTopic:
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteRequestTopic, int]:
        partitions: list[OffsetDeleteRequestPartition]
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = OffsetDeleteRequestPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


@dataclass(slots=True)
class OffsetDeleteRequest:
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteRequest, int]:
        topics: list[OffsetDeleteRequestTopic]
        group_id, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = OffsetDeleteRequestTopic.read(buf, pos, version)
            topics.append(item_topics)
        return cls(group_id, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


@dataclass(slots=True)
class OffsetDeleteResponsePartition:
    partition_index: int = 0
    error_code: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetDeleteResponsePartition, int]:
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)


@dataclass(slots=True)
class OffsetDeleteResponseTopic:
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)

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


@dataclass(slots=True)
class OffsetDeleteResponse:
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)

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

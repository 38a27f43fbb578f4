"""DeleteShareGroupState (API key 86). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")


@dataclass(slots=True)
class PartitionData:
    partition: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionData, int]:
        (partition,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition)
        out += b"\0"


@dataclass(slots=True)
class DeleteStateData:
    topic_id: bytes = p.ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteStateData, int]:
        partitions: list[PartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class DeleteShareGroupStateRequest:
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_id: str = ""
    topics: list[DeleteStateData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteShareGroupStateRequest, int]:
        topics: list[DeleteStateData]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DeleteStateData.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class PartitionResult:
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResult, int]:
        error_message: str | None
        partition, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


@dataclass(slots=True)
class DeleteStateResult:
    topic_id: bytes = p.ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteStateResult, int]:
        partitions: list[PartitionResult]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionResult.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class DeleteShareGroupStateResponse:
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    results: list[DeleteStateResult] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteShareGroupStateResponse, int]:
        results: list[DeleteStateResult]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = DeleteStateResult.read(buf, pos, version)
            results.append(item_results)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.results) + 1)
        for item_results in self.results:
            item_results.write(out, version)
        out += b"\0"


REQUEST = DeleteShareGroupStateRequest
RESPONSE = DeleteShareGroupStateResponse

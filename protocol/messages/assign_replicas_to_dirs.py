"""AssignReplicasToDirs (API key 73). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")
_iq = Struct(">iq")


@dataclass(slots=True)
class AssignReplicasToDirsRequestPartitionData:
    partition_index: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsRequestPartitionData, int]:
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)
        out += b"\0"


@dataclass(slots=True)
class AssignReplicasToDirsRequestTopicData:
    topic_id: bytes = p.ZERO_UUID
    partitions: list[AssignReplicasToDirsRequestPartitionData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsRequestTopicData, int]:
        partitions: list[AssignReplicasToDirsRequestPartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = AssignReplicasToDirsRequestPartitionData.read(buf, pos, version)
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
class AssignReplicasToDirsRequestDirectoryData:
    id: bytes = p.ZERO_UUID
    topics: list[AssignReplicasToDirsRequestTopicData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsRequestDirectoryData, int]:
        topics: list[AssignReplicasToDirsRequestTopicData]
        (id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = AssignReplicasToDirsRequestTopicData.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class AssignReplicasToDirsRequest:
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    broker_id: int = 0
    broker_epoch: int = -1
    directories: list[AssignReplicasToDirsRequestDirectoryData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsRequest, int]:
        directories: list[AssignReplicasToDirsRequestDirectoryData]
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        directories = []
        for _ in range(n):
            item_directories, pos = AssignReplicasToDirsRequestDirectoryData.read(buf, pos, version)
            directories.append(item_directories)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch, directories), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.broker_id, self.broker_epoch)
        out += p.uvarint(len(self.directories) + 1)
        for item_directories in self.directories:
            item_directories.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class AssignReplicasToDirsResponsePartitionData:
    partition_index: int = 0
    error_code: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsResponsePartitionData, int]:
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        out += b"\0"


@dataclass(slots=True)
class AssignReplicasToDirsResponseTopicData:
    topic_id: bytes = p.ZERO_UUID
    partitions: list[AssignReplicasToDirsResponsePartitionData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsResponseTopicData, int]:
        partitions: list[AssignReplicasToDirsResponsePartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = AssignReplicasToDirsResponsePartitionData.read(buf, pos, version)
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
class AssignReplicasToDirsResponseDirectoryData:
    id: bytes = p.ZERO_UUID
    topics: list[AssignReplicasToDirsResponseTopicData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsResponseDirectoryData, int]:
        topics: list[AssignReplicasToDirsResponseTopicData]
        (id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = AssignReplicasToDirsResponseTopicData.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class AssignReplicasToDirsResponse:
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    directories: list[AssignReplicasToDirsResponseDirectoryData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AssignReplicasToDirsResponse, int]:
        directories: list[AssignReplicasToDirsResponseDirectoryData]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        directories = []
        for _ in range(n):
            item_directories, pos = AssignReplicasToDirsResponseDirectoryData.read(buf, pos, version)
            directories.append(item_directories)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, directories), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.uvarint(len(self.directories) + 1)
        for item_directories in self.directories:
            item_directories.write(out, version)
        out += b"\0"


REQUEST = AssignReplicasToDirsRequest
RESPONSE = AssignReplicasToDirsResponse

"""AssignReplicasToDirs (API key 73). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")
_iq = Struct(">iq")


class AssignReplicasToDirsRequestPartitionData(Message):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index

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


class AssignReplicasToDirsRequestTopicData(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[AssignReplicasToDirsRequestPartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AssignReplicasToDirsRequestTopicData]:
        partitions: list[AssignReplicasToDirsRequestPartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = AssignReplicasToDirsRequestPartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class AssignReplicasToDirsRequestDirectoryData(SlicedMessage):
    __slots__ = ("id", "topics")

    def __init__(
        self,
        id: bytes = p.ZERO_UUID,
        topics: list[AssignReplicasToDirsRequestTopicData] = NEW,
    ) -> None:
        self.id = id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AssignReplicasToDirsRequestDirectoryData]:
        topics: list[AssignReplicasToDirsRequestTopicData]
        (id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from AssignReplicasToDirsRequestTopicData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class AssignReplicasToDirsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "directories")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[AssignReplicasToDirsRequestDirectoryData] = NEW,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is NEW else directories

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AssignReplicasToDirsRequest]:
        directories: list[AssignReplicasToDirsRequestDirectoryData]
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        directories = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_directories, pos, stop = yield from AssignReplicasToDirsRequestDirectoryData.read_steps(buf, pos, version, stop)
            directories.append(item_directories)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch, directories), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.broker_id, self.broker_epoch)
        out += p.uvarint(len(self.directories) + 1)
        for item_directories in self.directories:
            item_directories.write(out, version)
        out += b"\0"


class AssignReplicasToDirsResponsePartitionData(Message):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

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


class AssignReplicasToDirsResponseTopicData(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[AssignReplicasToDirsResponsePartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

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


class AssignReplicasToDirsResponseDirectoryData(Message):
    __slots__ = ("id", "topics")

    def __init__(
        self,
        id: bytes = p.ZERO_UUID,
        topics: list[AssignReplicasToDirsResponseTopicData] = NEW,
    ) -> None:
        self.id = id
        self.topics = [] if topics is NEW else topics

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


class AssignReplicasToDirsResponse(Message):
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "directories")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: list[AssignReplicasToDirsResponseDirectoryData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is NEW else directories

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

"""ListOffsets (API key 2). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_i = Struct(">i")
_ib = Struct(">ib")
_ihqq = Struct(">ihqq")
_ihqqi = Struct(">ihqqi")
_iiq = Struct(">iiq")
_q = Struct(">q")


class ListOffsetsPartition(Message):
    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListOffsetsPartition, int]:
        if version >= 6:
            partition_index, current_leader_epoch, timestamp = _iiq.unpack_from(buf, pos)
            pos += 16
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, current_leader_epoch, timestamp), pos
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 4:
            (current_leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            current_leader_epoch = -1
        (timestamp,) = _q.unpack_from(buf, pos)
        pos += 8
        return cls(partition_index, current_leader_epoch, timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _iiq.pack(self.partition_index, self.current_leader_epoch, self.timestamp)
            out += b"\0"
            return
        out += _i.pack(self.partition_index)
        if version >= 4:
            out += _i.pack(self.current_leader_epoch)
        out += _q.pack(self.timestamp)


class ListOffsetsTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListOffsetsTopic]:
        partitions: list[ListOffsetsPartition]
        if version >= 6:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 17)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos = ListOffsetsPartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos, stop
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 12)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = ListOffsetsPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += p.compact_string(self.name)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class ListOffsetsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListOffsetsRequest]:
        topics: list[ListOffsetsTopic]
        if version >= 6:
            replica_id, isolation_level = _ib.unpack_from(buf, pos)
            pos += 5
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from ListOffsetsTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            if version >= 10:
                (timeout_ms,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                timeout_ms = 0
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(replica_id, isolation_level, topics, timeout_ms), pos, stop
        (replica_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 2:
            (isolation_level,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            isolation_level = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from ListOffsetsTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        timeout_ms = 0
        return cls(replica_id, isolation_level, topics, timeout_ms), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _ib.pack(self.replica_id, self.isolation_level)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            if version >= 10:
                out += _i.pack(self.timeout_ms)
            out += b"\0"
            return
        out += _i.pack(self.replica_id)
        if version >= 2:
            out += _b.pack(self.isolation_level)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class ListOffsetsPartitionResponse(Message):
    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListOffsetsPartitionResponse, int]:
        if version >= 6:
            partition_index, error_code, timestamp, offset, leader_epoch = _ihqqi.unpack_from(buf, pos)
            pos += 26
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, error_code, timestamp, offset, leader_epoch), pos
        partition_index, error_code, timestamp, offset = _ihqq.unpack_from(buf, pos)
        pos += 22
        if version >= 4:
            (leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            leader_epoch = -1
        return cls(partition_index, error_code, timestamp, offset, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _ihqqi.pack(self.partition_index, self.error_code, self.timestamp, self.offset, self.leader_epoch)
            out += b"\0"
            return
        out += _ihqq.pack(self.partition_index, self.error_code, self.timestamp, self.offset)
        if version >= 4:
            out += _i.pack(self.leader_epoch)


class ListOffsetsTopicResponse(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListOffsetsTopicResponse, int]:
        partitions: list[ListOffsetsPartitionResponse]
        if version >= 6:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 27)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = ListOffsetsPartitionResponse.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 22)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = ListOffsetsPartitionResponse.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += p.compact_string(self.name)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class ListOffsetsResponse(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListOffsetsResponse, int]:
        topics: list[ListOffsetsTopicResponse]
        if version >= 6:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = ListOffsetsTopicResponse.read(buf, pos, version)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics), pos
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = ListOffsetsTopicResponse.read(buf, pos, version)
            topics.append(item_topics)
        return cls(throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = ListOffsetsRequest
RESPONSE = ListOffsetsResponse

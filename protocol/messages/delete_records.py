"""DeleteRecords (API key 21). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_i = Struct(">i")
_iq = Struct(">iq")
_iqh = Struct(">iqh")


class DeleteRecordsPartition(Message):
    __slots__ = ("partition_index", "offset")

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteRecordsPartition, int]:
        if version >= 2:
            partition_index, offset = _iq.unpack_from(buf, pos)
            pos += 12
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, offset), pos
        partition_index, offset = _iq.unpack_from(buf, pos)
        pos += 12
        return cls(partition_index, offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _iq.pack(self.partition_index, self.offset)
            out += b"\0"
            return
        out += _iq.pack(self.partition_index, self.offset)


class DeleteRecordsTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteRecordsTopic]:
        partitions: list[DeleteRecordsPartition]
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 13)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos = DeleteRecordsPartition.read(buf, pos, version)
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
            item_partitions, pos = DeleteRecordsPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
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


class DeleteRecordsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteRecordsRequest]:
        topics: list[DeleteRecordsTopic]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from DeleteRecordsTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            (timeout_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics, timeout_ms), pos, stop
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from DeleteRecordsTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(topics, timeout_ms), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += _i.pack(self.timeout_ms)
            out += b"\0"
            return
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _i.pack(self.timeout_ms)


class DeleteRecordsPartitionResult(Message):
    __slots__ = ("partition_index", "low_watermark", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteRecordsPartitionResult, int]:
        if version >= 2:
            partition_index, low_watermark, error_code = _iqh.unpack_from(buf, pos)
            pos += 14
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, low_watermark, error_code), pos
        partition_index, low_watermark, error_code = _iqh.unpack_from(buf, pos)
        pos += 14
        return cls(partition_index, low_watermark, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _iqh.pack(self.partition_index, self.low_watermark, self.error_code)
            out += b"\0"
            return
        out += _iqh.pack(self.partition_index, self.low_watermark, self.error_code)


class DeleteRecordsTopicResult(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteRecordsTopicResult, int]:
        partitions: list[DeleteRecordsPartitionResult]
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 15)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = DeleteRecordsPartitionResult.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = DeleteRecordsPartitionResult.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
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


class DeleteRecordsResponse(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteRecordsResponse, int]:
        topics: list[DeleteRecordsTopicResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = DeleteRecordsTopicResult.read(buf, pos, version)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DeleteRecordsTopicResult.read(buf, pos, version)
            topics.append(item_topics)
        return cls(throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = DeleteRecordsRequest
RESPONSE = DeleteRecordsResponse

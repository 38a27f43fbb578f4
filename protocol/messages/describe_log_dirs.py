"""DescribeLogDirs (API key 35). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_h = Struct(">h")
_i = Struct(">i")
_iqqT = Struct(">iqq?")
_qq = Struct(">qq")


class DescribableLogDirTopic(SlicedMessage):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribableLogDirTopic]:
        partitions: list[int]
        if version >= 2:
            topic, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, partitions), pos, stop
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(topic, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.topic)
            out += p.uvarint(len(self.partitions) + 1)
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class DescribeLogDirsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeLogDirsRequest]:
        topics: list[DescribableLogDirTopic] | None
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                topics = None
            else:
                topics = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topics, pos, stop = yield from DescribableLogDirTopic.read_steps(buf, pos, version, stop)
                    topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics), pos, stop
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            topics = None
        else:
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from DescribableLogDirTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
        return cls(topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            if self.topics is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            out += b"\0"
            return
        if self.topics is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.topics))
            for item_topics in self.topics:
                item_topics.write(out, version)


class DescribeLogDirsPartition(Message):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeLogDirsPartition, int]:
        if version >= 2:
            partition_index, partition_size, offset_lag, is_future_key = _iqqT.unpack_from(buf, pos)
            pos += 21
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, partition_size, offset_lag, is_future_key), pos
        partition_index, partition_size, offset_lag, is_future_key = _iqqT.unpack_from(buf, pos)
        pos += 21
        return cls(partition_index, partition_size, offset_lag, is_future_key), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _iqqT.pack(self.partition_index, self.partition_size, self.offset_lag, self.is_future_key)
            out += b"\0"
            return
        out += _iqqT.pack(self.partition_index, self.partition_size, self.offset_lag, self.is_future_key)


class DescribeLogDirsTopic(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeLogDirsTopic, int]:
        partitions: list[DescribeLogDirsPartition]
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 22)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = DescribeLogDirsPartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 21)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = DescribeLogDirsPartition.read(buf, pos, version)
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


class DescribeLogDirsResult(Message):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = NEW,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is NEW else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeLogDirsResult, int]:
        topics: list[DescribeLogDirsTopic]
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            log_dir, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = DescribeLogDirsTopic.read(buf, pos, version)
                topics.append(item_topics)
            if version >= 4:
                total_bytes, usable_bytes = _qq.unpack_from(buf, pos)
                pos += 16
            else:
                total_bytes = -1
                usable_bytes = -1
            if version == 5:
                (is_cordoned,) = _T.unpack_from(buf, pos)
                pos += 1
            else:
                is_cordoned = False
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        log_dir, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DescribeLogDirsTopic.read(buf, pos, version)
            topics.append(item_topics)
        total_bytes = -1
        usable_bytes = -1
        is_cordoned = False
        return cls(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_string(self.log_dir)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            if version >= 4:
                out += _qq.pack(self.total_bytes, self.usable_bytes)
            if version == 5:
                out += _T.pack(self.is_cordoned)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.string(self.log_dir)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class DescribeLogDirsResponse(Message):
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeLogDirsResponse, int]:
        results: list[DescribeLogDirsResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if version >= 3:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                item_results, pos = DescribeLogDirsResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, results), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        error_code = 0
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = DescribeLogDirsResult.read(buf, pos, version)
            results.append(item_results)
        return cls(throttle_time_ms, error_code, results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
            if version >= 3:
                out += _h.pack(self.error_code)
            out += p.uvarint(len(self.results) + 1)
            for item_results in self.results:
                item_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.results))
        for item_results in self.results:
            item_results.write(out, version)


REQUEST = DescribeLogDirsRequest
RESPONSE = DescribeLogDirsResponse

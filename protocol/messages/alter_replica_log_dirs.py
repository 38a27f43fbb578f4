"""AlterReplicaLogDirs (API key 34). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_i = Struct(">i")
_ih = Struct(">ih")


class AlterReplicaLogDirTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterReplicaLogDirTopic]:
        partitions: list[int]
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos, stop
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.name)
            out += p.uvarint(len(self.partitions) + 1)
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class AlterReplicaLogDir(SlicedMessage):
    __slots__ = ("path", "topics")

    def __init__(
        self,
        path: str = "",
        topics: list[AlterReplicaLogDirTopic] = NEW,
    ) -> None:
        self.path = path
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterReplicaLogDir]:
        topics: list[AlterReplicaLogDirTopic]
        if version >= 2:
            path, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from AlterReplicaLogDirTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(path, topics), pos, stop
        path, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from AlterReplicaLogDirTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        return cls(path, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.path)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        out += p.string(self.path)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class AlterReplicaLogDirsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("dirs",)

    def __init__(
        self,
        dirs: list[AlterReplicaLogDir] = NEW,
    ) -> None:
        self.dirs = [] if dirs is NEW else dirs

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterReplicaLogDirsRequest]:
        dirs: list[AlterReplicaLogDir]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            dirs = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_dirs, pos, stop = yield from AlterReplicaLogDir.read_steps(buf, pos, version, stop)
                dirs.append(item_dirs)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(dirs), pos, stop
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        dirs = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_dirs, pos, stop = yield from AlterReplicaLogDir.read_steps(buf, pos, version, stop)
            dirs.append(item_dirs)
        return cls(dirs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.dirs) + 1)
            for item_dirs in self.dirs:
                item_dirs.write(out, version)
            out += b"\0"
            return
        out += p.array_length(len(self.dirs))
        for item_dirs in self.dirs:
            item_dirs.write(out, version)


class AlterReplicaLogDirPartitionResult(Message):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
        if version >= 2:
            partition_index, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, error_code), pos
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _ih.pack(self.partition_index, self.error_code)
            out += b"\0"
            return
        out += _ih.pack(self.partition_index, self.error_code)


class AlterReplicaLogDirTopicResult(Message):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
        partitions: list[AlterReplicaLogDirPartitionResult]
        if version >= 2:
            topic_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = AlterReplicaLogDirPartitionResult.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic_name, partitions), pos
        topic_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = AlterReplicaLogDirPartitionResult.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic_name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.topic_name)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic_name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class AlterReplicaLogDirsResponse(Message):
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterReplicaLogDirsResponse, int]:
        results: list[AlterReplicaLogDirTopicResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                item_results, pos = AlterReplicaLogDirTopicResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, results), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = AlterReplicaLogDirTopicResult.read(buf, pos, version)
            results.append(item_results)
        return cls(throttle_time_ms, results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.results) + 1)
            for item_results in self.results:
                item_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.results))
        for item_results in self.results:
            item_results.write(out, version)


REQUEST = AlterReplicaLogDirsRequest
RESPONSE = AlterReplicaLogDirsResponse

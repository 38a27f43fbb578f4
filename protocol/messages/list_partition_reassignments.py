"""ListPartitionReassignments (API key 46). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_i = Struct(">i")
_ih = Struct(">ih")


class ListPartitionReassignmentsTopics(SlicedMessage):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListPartitionReassignmentsTopics]:
        partition_indexes: list[int]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partition_indexes, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partition_indexes), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partition_indexes) + 1)
        out += Struct(f">{len(self.partition_indexes)}i").pack(*self.partition_indexes)
        out += b"\0"


class ListPartitionReassignmentsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListPartitionReassignmentsRequest]:
        topics: list[ListPartitionReassignmentsTopics] | None
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            topics = None
        else:
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from ListPartitionReassignmentsTopics.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(timeout_ms, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.timeout_ms)
        if self.topics is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
        out += b"\0"


class OngoingPartitionReassignment(SlicedMessage):
    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] = NEW,
        adding_replicas: list[int] = NEW,
        removing_replicas: list[int] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is NEW else replicas
        self.adding_replicas = [] if adding_replicas is NEW else adding_replicas
        self.removing_replicas = [] if removing_replicas is NEW else removing_replicas

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OngoingPartitionReassignment]:
        replicas: list[int]
        adding_replicas: list[int]
        removing_replicas: list[int]
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        replicas, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        adding_replicas, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        removing_replicas, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, replicas, adding_replicas, removing_replicas), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)
        out += p.uvarint(len(self.replicas) + 1)
        out += Struct(f">{len(self.replicas)}i").pack(*self.replicas)
        out += p.uvarint(len(self.adding_replicas) + 1)
        out += Struct(f">{len(self.adding_replicas)}i").pack(*self.adding_replicas)
        out += p.uvarint(len(self.removing_replicas) + 1)
        out += Struct(f">{len(self.removing_replicas)}i").pack(*self.removing_replicas)
        out += b"\0"


class OngoingTopicReassignment(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OngoingTopicReassignment]:
        partitions: list[OngoingPartitionReassignment]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos, stop = yield from OngoingPartitionReassignment.read_steps(buf, pos, version, stop)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class ListPartitionReassignmentsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListPartitionReassignmentsResponse]:
        error_message: str | None
        topics: list[OngoingTopicReassignment]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from OngoingTopicReassignment.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


REQUEST = ListPartitionReassignmentsRequest
RESPONSE = ListPartitionReassignmentsResponse

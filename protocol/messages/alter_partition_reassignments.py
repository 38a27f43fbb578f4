"""AlterPartitionReassignments (API key 45). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class ReassignablePartition(SlicedMessage):
    __slots__ = ("partition_index", "replicas")

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReassignablePartition]:
        replicas: list[int] | None
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            replicas = None
        else:
            replicas, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, replicas), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)
        if self.replicas is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.replicas) + 1)
            out += Struct(f">{len(self.replicas)}i").pack(*self.replicas)
        out += b"\0"


class ReassignableTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReassignableTopic]:
        partitions: list[ReassignablePartition]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos, stop = yield from ReassignablePartition.read_steps(buf, pos, version, stop)
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


class AlterPartitionReassignmentsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = NEW,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterPartitionReassignmentsRequest]:
        topics: list[ReassignableTopic]
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            (allow_replication_factor_change,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            allow_replication_factor_change = True
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from ReassignableTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(timeout_ms, allow_replication_factor_change, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.timeout_ms)
        if version == 1:
            out += _T.pack(self.allow_replication_factor_change)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class ReassignablePartitionResponse(Message):
    __slots__ = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReassignablePartitionResponse, int]:
        error_message: str | None
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class ReassignableTopicResponse(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReassignableTopicResponse]:
        partitions: list[ReassignablePartitionResponse]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = ReassignablePartitionResponse.read(buf, pos, version)
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


class AlterPartitionReassignmentsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NEW else responses

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterPartitionReassignmentsResponse]:
        error_message: str | None
        responses: list[ReassignableTopicResponse]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            (allow_replication_factor_change,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            allow_replication_factor_change = True
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_responses, pos, stop = yield from ReassignableTopicResponse.read_steps(buf, pos, version, stop)
            responses.append(item_responses)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        if version == 1:
            out += _T.pack(self.allow_replication_factor_change)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.responses) + 1)
        for item_responses in self.responses:
            item_responses.write(out, version)
        out += b"\0"


REQUEST = AlterPartitionReassignmentsRequest
RESPONSE = AlterPartitionReassignmentsResponse

"""ElectLeaders (API key 43). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class TopicPartitions(SlicedMessage):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopicPartitions]:
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


class ElectLeadersRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("election_type", "topic_partitions", "timeout_ms")

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = NEW,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions
        self.timeout_ms = timeout_ms

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ElectLeadersRequest]:
        topic_partitions: list[TopicPartitions] | None
        if version >= 2:
            (election_type,) = _b.unpack_from(buf, pos)
            pos += 1
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                topic_partitions = None
            else:
                topic_partitions = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topic_partitions, pos, stop = yield from TopicPartitions.read_steps(buf, pos, version, stop)
                    topic_partitions.append(item_topic_partitions)
            (timeout_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(election_type, topic_partitions, timeout_ms), pos, stop
        if version == 1:
            (election_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            election_type = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            topic_partitions = None
        else:
            topic_partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topic_partitions, pos, stop = yield from TopicPartitions.read_steps(buf, pos, version, stop)
                topic_partitions.append(item_topic_partitions)
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(election_type, topic_partitions, timeout_ms), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _b.pack(self.election_type)
            if self.topic_partitions is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.topic_partitions) + 1)
                for item_topic_partitions in self.topic_partitions:
                    item_topic_partitions.write(out, version)
            out += _i.pack(self.timeout_ms)
            out += b"\0"
            return
        if version == 1:
            out += _b.pack(self.election_type)
        if self.topic_partitions is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.topic_partitions))
            for item_topic_partitions in self.topic_partitions:
                item_topic_partitions.write(out, version)
        out += _i.pack(self.timeout_ms)


class PartitionResult(Message):
    __slots__ = ("partition_id", "error_code", "error_message")

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResult, int]:
        error_message: str | None
        if version >= 2:
            partition_id, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_id, error_code, error_message), pos
        partition_id, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_nullable_string(buf, pos)
        return cls(partition_id, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _ih.pack(self.partition_id, self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        out += _ih.pack(self.partition_id, self.error_code)
        out += p.nullable_string(self.error_message)


class ReplicaElectionResult(SlicedMessage):
    __slots__ = ("topic", "partition_result")

    def __init__(
        self,
        topic: str = "",
        partition_result: list[PartitionResult] = NEW,
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is NEW else partition_result

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReplicaElectionResult]:
        partition_result: list[PartitionResult]
        if version >= 2:
            topic, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 8)
            if n < 0:
                p.refuse_null_array()
            partition_result = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partition_result, pos = PartitionResult.read(buf, pos, version)
                partition_result.append(item_partition_result)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, partition_result), pos, stop
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partition_result = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partition_result, pos = PartitionResult.read(buf, pos, version)
            partition_result.append(item_partition_result)
        return cls(topic, partition_result), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.topic)
            out += p.uvarint(len(self.partition_result) + 1)
            for item_partition_result in self.partition_result:
                item_partition_result.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partition_result))
        for item_partition_result in self.partition_result:
            item_partition_result.write(out, version)


class ElectLeadersResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is NEW else replica_election_results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ElectLeadersResponse]:
        replica_election_results: list[ReplicaElectionResult]
        if version >= 2:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            replica_election_results = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_replica_election_results, pos, stop = yield from ReplicaElectionResult.read_steps(buf, pos, version, stop)
                replica_election_results.append(item_replica_election_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, replica_election_results), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
        else:
            error_code = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        replica_election_results = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_replica_election_results, pos, stop = yield from ReplicaElectionResult.read_steps(buf, pos, version, stop)
            replica_election_results.append(item_replica_election_results)
        return cls(throttle_time_ms, error_code, replica_election_results), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += p.uvarint(len(self.replica_election_results) + 1)
            for item_replica_election_results in self.replica_election_results:
                item_replica_election_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        if version == 1:
            out += _h.pack(self.error_code)
        out += p.array_length(len(self.replica_election_results))
        for item_replica_election_results in self.replica_election_results:
            item_replica_election_results.write(out, version)


REQUEST = ElectLeadersRequest
RESPONSE = ElectLeadersResponse

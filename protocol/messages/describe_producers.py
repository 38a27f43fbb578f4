"""DescribeProducers (API key 61). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_i = Struct(">i")
_ih = Struct(">ih")
_qiiqiq = Struct(">qiiqiq")


class TopicRequest(SlicedMessage):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopicRequest]:
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


class DescribeProducersRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[TopicRequest] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeProducersRequest]:
        topics: list[TopicRequest]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from TopicRequest.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class ProducerState(Message):
    __slots__ = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProducerState, int]:
        producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset = _qiiqiq.unpack_from(buf, pos)
        pos += 36
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qiiqiq.pack(self.producer_id, self.producer_epoch, self.last_sequence, self.last_timestamp, self.coordinator_epoch, self.current_txn_start_offset)
        out += b"\0"


class PartitionResponse(Message):
    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: list[ProducerState] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is NEW else active_producers

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResponse, int]:
        error_message: str | None
        active_producers: list[ProducerState]
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 37)
        if n < 0:
            p.refuse_null_array()
        active_producers = []
        for _ in range(n):
            item_active_producers, pos = ProducerState.read(buf, pos, version)
            active_producers.append(item_active_producers)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, error_message, active_producers), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.active_producers) + 1)
        for item_active_producers in self.active_producers:
            item_active_producers.write(out, version)
        out += b"\0"


class TopicResponse(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[PartitionResponse] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicResponse, int]:
        partitions: list[PartitionResponse]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionResponse.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class DescribeProducersResponse(Message):
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[TopicResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeProducersResponse, int]:
        topics: list[TopicResponse]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = TopicResponse.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


REQUEST = DescribeProducersRequest
RESPONSE = DescribeProducersResponse

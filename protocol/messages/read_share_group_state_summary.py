"""ReadShareGroupStateSummary (API key 87). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iiq = Struct(">iiq")


class PartitionData(Message):
    __slots__ = ("partition", "leader_epoch")

    def __init__(
        self,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionData, int]:
        partition, leader_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ii.pack(self.partition, self.leader_epoch)
        out += b"\0"


class ReadStateSummaryData(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReadStateSummaryData]:
        partitions: list[PartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = PartitionData.read(buf, pos, version)
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


class ReadShareGroupStateSummaryRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateSummaryData] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReadShareGroupStateSummaryRequest]:
        topics: list[ReadStateSummaryData]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from ReadStateSummaryData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class PartitionResult(Message):
    __slots__ = ("partition", "error_code", "error_message", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count")

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResult, int]:
        error_message: str | None
        partition, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        state_epoch, leader_epoch, start_offset = _iiq.unpack_from(buf, pos)
        pos += 16
        if version == 1:
            (delivery_complete_count,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            delivery_complete_count = -1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, error_code, error_message, state_epoch, leader_epoch, start_offset, delivery_complete_count), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += _iiq.pack(self.state_epoch, self.leader_epoch, self.start_offset)
        if version == 1:
            out += _i.pack(self.delivery_complete_count)
        out += b"\0"


class ReadStateSummaryResult(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionResult] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReadStateSummaryResult, int]:
        partitions: list[PartitionResult]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 24)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionResult.read(buf, pos, version)
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


class ReadShareGroupStateSummaryResponse(Message):
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    def __init__(
        self,
        results: list[ReadStateSummaryResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReadShareGroupStateSummaryResponse, int]:
        results: list[ReadStateSummaryResult]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = ReadStateSummaryResult.read(buf, pos, version)
            results.append(item_results)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.results) + 1)
        for item_results in self.results:
            item_results.write(out, version)
        out += b"\0"


REQUEST = ReadShareGroupStateSummaryRequest
RESPONSE = ReadShareGroupStateSummaryResponse

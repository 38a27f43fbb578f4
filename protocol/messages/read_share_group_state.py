"""ReadShareGroupState (API key 84). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iq = Struct(">iq")
_qqbh = Struct(">qqbh")


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


class ReadStateData(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReadStateData]:
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


class ReadShareGroupStateRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[ReadStateData] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ReadShareGroupStateRequest]:
        topics: list[ReadStateData]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from ReadStateData.read_steps(buf, pos, version, stop)
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


class StateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _qqbh.unpack_from(buf, pos)
        pos += 19
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(first_offset, last_offset, delivery_state, delivery_count), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qqbh.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        out += b"\0"


class PartitionResult(Message):
    __slots__ = ("partition", "error_code", "error_message", "state_epoch", "start_offset", "state_batches")

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: list[StateBatch] = NEW,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches = [] if state_batches is NEW else state_batches

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResult, int]:
        error_message: str | None
        state_batches: list[StateBatch]
        partition, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        state_epoch, start_offset = _iq.unpack_from(buf, pos)
        pos += 12
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        state_batches = []
        for _ in range(n):
            item_state_batches, pos = StateBatch.read(buf, pos, version)
            state_batches.append(item_state_batches)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, error_code, error_message, state_epoch, start_offset, state_batches), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += _iq.pack(self.state_epoch, self.start_offset)
        out += p.uvarint(len(self.state_batches) + 1)
        for item_state_batches in self.state_batches:
            item_state_batches.write(out, version)
        out += b"\0"


class ReadStateResult(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionResult] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReadStateResult, int]:
        partitions: list[PartitionResult]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 21)
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


class ReadShareGroupStateResponse(Message):
    API_KEY: ClassVar[int] = 84
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    def __init__(
        self,
        results: list[ReadStateResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReadShareGroupStateResponse, int]:
        results: list[ReadStateResult]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = ReadStateResult.read(buf, pos, version)
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


REQUEST = ReadShareGroupStateRequest
RESPONSE = ReadShareGroupStateResponse

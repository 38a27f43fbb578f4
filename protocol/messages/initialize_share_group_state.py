"""InitializeShareGroupState (API key 83). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_ih = Struct(">ih")
_iiq = Struct(">iiq")


class PartitionData(Message):
    __slots__ = ("partition", "state_epoch", "start_offset")

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.start_offset = start_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionData, int]:
        partition, state_epoch, start_offset = _iiq.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, state_epoch, start_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iiq.pack(self.partition, self.state_epoch, self.start_offset)
        out += b"\0"


class InitializeStateData(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[InitializeStateData]:
        partitions: list[PartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 17)
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


class InitializeShareGroupStateRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[InitializeStateData] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[InitializeShareGroupStateRequest]:
        topics: list[InitializeStateData]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from InitializeStateData.read_steps(buf, pos, version, stop)
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
    __slots__ = ("partition", "error_code", "error_message")

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionResult, int]:
        error_message: str | None
        partition, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class InitializeStateResult(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionResult] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[InitializeStateResult, int]:
        partitions: list[PartitionResult]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 8)
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


class InitializeShareGroupStateResponse(Message):
    API_KEY: ClassVar[int] = 83
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("results",)

    def __init__(
        self,
        results: list[InitializeStateResult] = NEW,
    ) -> None:
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[InitializeShareGroupStateResponse, int]:
        results: list[InitializeStateResult]
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = InitializeStateResult.read(buf, pos, version)
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


REQUEST = InitializeShareGroupStateRequest
RESPONSE = InitializeShareGroupStateResponse

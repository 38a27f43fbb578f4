"""AlterShareGroupOffsets (API key 91). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_ih = Struct(">ih")
_iq = Struct(">iq")


class AlterShareGroupOffsetsRequestPartition(Message):
    __slots__ = ("partition_index", "start_offset")

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterShareGroupOffsetsRequestPartition, int]:
        partition_index, start_offset = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, start_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.partition_index, self.start_offset)
        out += b"\0"


class AlterShareGroupOffsetsRequestTopic(SlicedMessage):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[AlterShareGroupOffsetsRequestPartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterShareGroupOffsetsRequestTopic]:
        partitions: list[AlterShareGroupOffsetsRequestPartition]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 13)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = AlterShareGroupOffsetsRequestPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class AlterShareGroupOffsetsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterShareGroupOffsetsRequest]:
        topics: list[AlterShareGroupOffsetsRequestTopic]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from AlterShareGroupOffsetsRequestTopic.read_steps(buf, pos, version, stop)
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


class AlterShareGroupOffsetsResponsePartition(Message):
    __slots__ = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterShareGroupOffsetsResponsePartition, int]:
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


class AlterShareGroupOffsetsResponseTopic(Message):
    __slots__ = ("topic_name", "topic_id", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[AlterShareGroupOffsetsResponsePartition] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterShareGroupOffsetsResponseTopic, int]:
        partitions: list[AlterShareGroupOffsetsResponsePartition]
        topic_name, pos = p.read_compact_string(buf, pos)
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = AlterShareGroupOffsetsResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class AlterShareGroupOffsetsResponse(Message):
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NEW else responses

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
        error_message: str | None
        responses: list[AlterShareGroupOffsetsResponseTopic]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            item_responses, pos = AlterShareGroupOffsetsResponseTopic.read(buf, pos, version)
            responses.append(item_responses)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, responses), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.responses) + 1)
        for item_responses in self.responses:
            item_responses.write(out, version)
        out += b"\0"


REQUEST = AlterShareGroupOffsetsRequest
RESPONSE = AlterShareGroupOffsetsResponse

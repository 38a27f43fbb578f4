"""DeleteShareGroupOffsets (API key 92). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_Uh = Struct(">16sh")
_ih = Struct(">ih")


class DeleteShareGroupOffsetsRequestTopic(Message):
    __slots__ = ("topic_name",)

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteShareGroupOffsetsRequestTopic, int]:
        topic_name, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += b"\0"


class DeleteShareGroupOffsetsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteShareGroupOffsetsRequest]:
        topics: list[DeleteShareGroupOffsetsRequestTopic]
        group_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos = DeleteShareGroupOffsetsRequestTopic.read(buf, pos, version)
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


class DeleteShareGroupOffsetsResponseTopic(Message):
    __slots__ = ("topic_name", "topic_id", "error_code", "error_message")

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteShareGroupOffsetsResponseTopic, int]:
        error_message: str | None
        topic_name, pos = p.read_compact_string(buf, pos)
        topic_id, error_code = _Uh.unpack_from(buf, pos)
        pos += 18
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, topic_id, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += _Uh.pack(self.topic_id, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class DeleteShareGroupOffsetsResponse(Message):
    API_KEY: ClassVar[int] = 92
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NEW else responses

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteShareGroupOffsetsResponse, int]:
        error_message: str | None
        responses: list[DeleteShareGroupOffsetsResponseTopic]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 21)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            item_responses, pos = DeleteShareGroupOffsetsResponseTopic.read(buf, pos, version)
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


REQUEST = DeleteShareGroupOffsetsRequest
RESPONSE = DeleteShareGroupOffsetsResponse

"""DeleteTopics (API key 20). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_h = Struct(">h")
_i = Struct(">i")


class DeleteTopicState(Message):
    __slots__ = ("name", "topic_id")

    def __init__(
        self,
        name: str | None = None,
        topic_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteTopicState, int]:
        name: str | None
        if version >= 4:
            if version == 6:
                name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                name = None
            if version == 6:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id), pos
        name = None
        topic_id = p.ZERO_UUID
        return cls(name, topic_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            if version == 6:
                out += p.compact_nullable_string(self.name)
            if version == 6:
                out += _U.pack(self.topic_id)
            out += b"\0"
            return
        return


class DeleteTopicsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("topics", "topic_names", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteTopicState] = NEW,
        topic_names: list[str] = NEW,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.topic_names = [] if topic_names is NEW else topic_names
        self.timeout_ms = timeout_ms

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteTopicsRequest]:
        topics: list[DeleteTopicState]
        topic_names: list[str]
        if version >= 4:
            if version == 6:
                n, pos = p.read_compact_array_length(buf, pos, 18)
                if n < 0:
                    p.refuse_null_array()
                topics = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topics, pos = DeleteTopicState.read(buf, pos, version)
                    topics.append(item_topics)
            else:
                topics = []
            if version <= 5:
                n, pos = p.read_compact_array_length(buf, pos, 1)
                if n < 0:
                    p.refuse_null_array()
                topic_names = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topic_names, pos = p.read_compact_string(buf, pos)
                    topic_names.append(item_topic_names)
            else:
                topic_names = []
            (timeout_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics, topic_names, timeout_ms), pos, stop
        topics = []
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        topic_names = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topic_names, pos = p.read_string(buf, pos)
            topic_names.append(item_topic_names)
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(topics, topic_names, timeout_ms), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            if version == 6:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            if version <= 5:
                out += p.uvarint(len(self.topic_names) + 1)
                for item_topic_names in self.topic_names:
                    out += p.compact_string(item_topic_names)
            out += _i.pack(self.timeout_ms)
            out += b"\0"
            return
        out += p.array_length(len(self.topic_names))
        for item_topic_names in self.topic_names:
            out += p.string(item_topic_names)
        out += _i.pack(self.timeout_ms)


class DeletableTopicResult(Message):
    __slots__ = ("name", "topic_id", "error_code", "error_message")

    def __init__(
        self,
        name: str | None = "",
        topic_id: bytes = p.ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeletableTopicResult, int]:
        name: str | None
        error_message: str | None
        if version >= 4:
            if version == 6:
                name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                name, pos = p.read_compact_string(buf, pos)
            if version == 6:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if version >= 5:
                error_message, pos = p.read_compact_nullable_string(buf, pos)
            else:
                error_message = None
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, error_code, error_message), pos
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message = None
        return cls(name, topic_id, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_nullable_string(self.name)
            if version == 6:
                out += _U.pack(self.topic_id)
            out += _h.pack(self.error_code)
            if version >= 5:
                out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        assert self.name is not None
        out += p.string(self.name)
        out += _h.pack(self.error_code)


class DeleteTopicsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NEW else responses

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteTopicsResponse]:
        responses: list[DeletableTopicResult]
        if version >= 4:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            responses = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_responses, pos = DeletableTopicResult.read(buf, pos, version)
                responses.append(item_responses)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, responses), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_responses, pos = DeletableTopicResult.read(buf, pos, version)
            responses.append(item_responses)
        return cls(throttle_time_ms, responses), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.responses) + 1)
            for item_responses in self.responses:
                item_responses.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.responses))
        for item_responses in self.responses:
            item_responses.write(out, version)


REQUEST = DeleteTopicsRequest
RESPONSE = DeleteTopicsResponse

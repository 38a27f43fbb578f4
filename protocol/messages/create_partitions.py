"""CreatePartitions (API key 37). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_iT = Struct(">i?")


class CreatePartitionsAssignment(SlicedMessage):
    __slots__ = ("broker_ids",)

    def __init__(
        self,
        broker_ids: list[int] = NEW,
    ) -> None:
        self.broker_ids = [] if broker_ids is NEW else broker_ids

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatePartitionsAssignment]:
        broker_ids: list[int]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            broker_ids, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(broker_ids), pos, stop
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        broker_ids, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(broker_ids), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.broker_ids) + 1)
            out += Struct(f">{len(self.broker_ids)}i").pack(*self.broker_ids)
            out += b"\0"
            return
        out += p.array_length(len(self.broker_ids))
        out += Struct(f">{len(self.broker_ids)}i").pack(*self.broker_ids)


class CreatePartitionsTopic(SlicedMessage):
    __slots__ = ("name", "count", "assignments")

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = NEW,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is NEW else assignments

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatePartitionsTopic]:
        assignments: list[CreatePartitionsAssignment] | None
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            (count,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                assignments = None
            else:
                assignments = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_assignments, pos, stop = yield from CreatePartitionsAssignment.read_steps(buf, pos, version, stop)
                    assignments.append(item_assignments)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, count, assignments), pos, stop
        name, pos = p.read_string(buf, pos)
        (count,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            assignments = None
        else:
            assignments = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_assignments, pos, stop = yield from CreatePartitionsAssignment.read_steps(buf, pos, version, stop)
                assignments.append(item_assignments)
        return cls(name, count, assignments), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.name)
            out += _i.pack(self.count)
            if self.assignments is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.assignments) + 1)
                for item_assignments in self.assignments:
                    item_assignments.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += _i.pack(self.count)
        if self.assignments is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.assignments))
            for item_assignments in self.assignments:
                item_assignments.write(out, version)


class CreatePartitionsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = NEW,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatePartitionsRequest]:
        topics: list[CreatePartitionsTopic]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from CreatePartitionsTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            timeout_ms, validate_only = _iT.unpack_from(buf, pos)
            pos += 5
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics, timeout_ms, validate_only), pos, stop
        n, pos = p.read_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from CreatePartitionsTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        timeout_ms, validate_only = _iT.unpack_from(buf, pos)
        pos += 5
        return cls(topics, timeout_ms, validate_only), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += _iT.pack(self.timeout_ms, self.validate_only)
            out += b"\0"
            return
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _iT.pack(self.timeout_ms, self.validate_only)


class CreatePartitionsTopicResult(Message):
    __slots__ = ("name", "error_code", "error_message")

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CreatePartitionsTopicResult, int]:
        error_message: str | None
        if version >= 2:
            name, pos = p.read_compact_string(buf, pos)
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, error_code, error_message), pos
        name, pos = p.read_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        return cls(name, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.name)
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        out += p.string(self.name)
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)


class CreatePartitionsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatePartitionsResponse]:
        results: list[CreatePartitionsTopicResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_results, pos = CreatePartitionsTopicResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, results), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_results, pos = CreatePartitionsTopicResult.read(buf, pos, version)
            results.append(item_results)
        return cls(throttle_time_ms, results), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.results) + 1)
            for item_results in self.results:
                item_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.results))
        for item_results in self.results:
            item_results.write(out, version)


REQUEST = CreatePartitionsRequest
RESPONSE = CreatePartitionsResponse

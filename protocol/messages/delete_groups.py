"""DeleteGroups (API key 42). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")


class DeleteGroupsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("groups_names",)

    def __init__(
        self,
        groups_names: list[str] = NEW,
    ) -> None:
        self.groups_names = [] if groups_names is NEW else groups_names

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteGroupsRequest]:
        groups_names: list[str]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            groups_names = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_groups_names, pos = p.read_compact_string(buf, pos)
                groups_names.append(item_groups_names)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(groups_names), pos, stop
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        groups_names = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_groups_names, pos = p.read_string(buf, pos)
            groups_names.append(item_groups_names)
        return cls(groups_names), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.groups_names) + 1)
            for item_groups_names in self.groups_names:
                out += p.compact_string(item_groups_names)
            out += b"\0"
            return
        out += p.array_length(len(self.groups_names))
        for item_groups_names in self.groups_names:
            out += p.string(item_groups_names)


class DeletableGroupResult(Message):
    __slots__ = ("group_id", "error_code", "error_message")

    def __init__(
        self,
        group_id: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeletableGroupResult, int]:
        error_message: str | None
        if version >= 2:
            group_id, pos = p.read_compact_string(buf, pos)
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if version == 3:
                error_message, pos = p.read_compact_nullable_string(buf, pos)
            else:
                error_message = None
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, error_code, error_message), pos
        group_id, pos = p.read_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message = None
        return cls(group_id, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.group_id)
            out += _h.pack(self.error_code)
            if version == 3:
                out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _h.pack(self.error_code)


class DeleteGroupsResponse(Message):
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteGroupsResponse, int]:
        results: list[DeletableGroupResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                item_results, pos = DeletableGroupResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, results), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = DeletableGroupResult.read(buf, pos, version)
            results.append(item_results)
        return cls(throttle_time_ms, results), pos

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


REQUEST = DeleteGroupsRequest
RESPONSE = DeleteGroupsResponse

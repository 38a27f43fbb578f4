"""DeleteGroups (API key 42). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_h = Struct(">h")
_i = Struct(">i")


@dataclass(slots=True)
class DeleteGroupsRequest:
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    groups_names: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteGroupsRequest, int]:
        groups_names: list[str]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            groups_names = []
            for _ in range(n):
                item_groups_names, pos = p.read_compact_string(buf, pos)
                groups_names.append(item_groups_names)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(groups_names), pos
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        groups_names = []
        for _ in range(n):
            item_groups_names, pos = p.read_string(buf, pos)
            groups_names.append(item_groups_names)
        return cls(groups_names), pos

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


@dataclass(slots=True)
class DeletableGroupResult:
    group_id: str = ""
    error_code: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeletableGroupResult, int]:
        if version >= 2:
            group_id, pos = p.read_compact_string(buf, pos)
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, error_code), pos
        group_id, pos = p.read_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        return cls(group_id, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.group_id)
            out += _h.pack(self.error_code)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _h.pack(self.error_code)


@dataclass(slots=True)
class DeleteGroupsResponse:
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = field(default_factory=list)

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

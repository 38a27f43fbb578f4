"""CreateAcls (API key 30). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_bb = Struct(">bb")
_h = Struct(">h")
_i = Struct(">i")


class AclCreation(Message):
    __slots__ = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AclCreation, int]:
        if version >= 2:
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            (resource_pattern_type,) = _b.unpack_from(buf, pos)
            pos += 1
            principal, pos = p.read_compact_string(buf, pos)
            host, pos = p.read_compact_string(buf, pos)
            operation, permission_type = _bb.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type), pos
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        (resource_pattern_type,) = _b.unpack_from(buf, pos)
        pos += 1
        principal, pos = p.read_string(buf, pos)
        host, pos = p.read_string(buf, pos)
        operation, permission_type = _bb.unpack_from(buf, pos)
        pos += 2
        return cls(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += _b.pack(self.resource_pattern_type)
            out += p.compact_string(self.principal)
            out += p.compact_string(self.host)
            out += _bb.pack(self.operation, self.permission_type)
            out += b"\0"
            return
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        out += _b.pack(self.resource_pattern_type)
        out += p.string(self.principal)
        out += p.string(self.host)
        out += _bb.pack(self.operation, self.permission_type)


class CreateAclsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("creations",)

    def __init__(
        self,
        creations: list[AclCreation] = NEW,
    ) -> None:
        self.creations = [] if creations is NEW else creations

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreateAclsRequest]:
        creations: list[AclCreation]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 8)
            if n < 0:
                p.refuse_null_array()
            creations = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_creations, pos = AclCreation.read(buf, pos, version)
                creations.append(item_creations)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(creations), pos, stop
        n, pos = p.read_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        creations = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_creations, pos = AclCreation.read(buf, pos, version)
            creations.append(item_creations)
        return cls(creations), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.creations) + 1)
            for item_creations in self.creations:
                item_creations.write(out, version)
            out += b"\0"
            return
        out += p.array_length(len(self.creations))
        for item_creations in self.creations:
            item_creations.write(out, version)


class AclCreationResult(Message):
    __slots__ = ("error_code", "error_message")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AclCreationResult, int]:
        error_message: str | None
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        return cls(error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)


class CreateAclsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreateAclsResponse]:
        results: list[AclCreationResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_results, pos = AclCreationResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, results), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_results, pos = AclCreationResult.read(buf, pos, version)
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


REQUEST = CreateAclsRequest
RESPONSE = CreateAclsResponse

"""DeleteAcls (API key 31). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_bb = Struct(">bb")
_h = Struct(">h")
_i = Struct(">i")


class DeleteAclsFilter(Message):
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteAclsFilter, int]:
        resource_name_filter: str | None
        principal_filter: str | None
        host_filter: str | None
        if version >= 2:
            (resource_type_filter,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name_filter, pos = p.read_compact_nullable_string(buf, pos)
            (pattern_type_filter,) = _b.unpack_from(buf, pos)
            pos += 1
            principal_filter, pos = p.read_compact_nullable_string(buf, pos)
            host_filter, pos = p.read_compact_nullable_string(buf, pos)
            operation, permission_type = _bb.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), pos
        (resource_type_filter,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name_filter, pos = p.read_nullable_string(buf, pos)
        (pattern_type_filter,) = _b.unpack_from(buf, pos)
        pos += 1
        principal_filter, pos = p.read_nullable_string(buf, pos)
        host_filter, pos = p.read_nullable_string(buf, pos)
        operation, permission_type = _bb.unpack_from(buf, pos)
        pos += 2
        return cls(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _b.pack(self.resource_type_filter)
            out += p.compact_nullable_string(self.resource_name_filter)
            out += _b.pack(self.pattern_type_filter)
            out += p.compact_nullable_string(self.principal_filter)
            out += p.compact_nullable_string(self.host_filter)
            out += _bb.pack(self.operation, self.permission_type)
            out += b"\0"
            return
        out += _b.pack(self.resource_type_filter)
        out += p.nullable_string(self.resource_name_filter)
        out += _b.pack(self.pattern_type_filter)
        out += p.nullable_string(self.principal_filter)
        out += p.nullable_string(self.host_filter)
        out += _bb.pack(self.operation, self.permission_type)


class DeleteAclsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("filters",)

    def __init__(
        self,
        filters: list[DeleteAclsFilter] = NEW,
    ) -> None:
        self.filters = [] if filters is NEW else filters

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteAclsRequest]:
        filters: list[DeleteAclsFilter]
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 8)
            if n < 0:
                p.refuse_null_array()
            filters = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_filters, pos = DeleteAclsFilter.read(buf, pos, version)
                filters.append(item_filters)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(filters), pos, stop
        n, pos = p.read_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        filters = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_filters, pos = DeleteAclsFilter.read(buf, pos, version)
            filters.append(item_filters)
        return cls(filters), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.uvarint(len(self.filters) + 1)
            for item_filters in self.filters:
                item_filters.write(out, version)
            out += b"\0"
            return
        out += p.array_length(len(self.filters))
        for item_filters in self.filters:
            item_filters.write(out, version)


class DeleteAclsMatchingAcl(Message):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DeleteAclsMatchingAcl, int]:
        error_message: str | None
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            (pattern_type,) = _b.unpack_from(buf, pos)
            pos += 1
            principal, pos = p.read_compact_string(buf, pos)
            host, pos = p.read_compact_string(buf, pos)
            operation, permission_type = _bb.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        (pattern_type,) = _b.unpack_from(buf, pos)
        pos += 1
        principal, pos = p.read_string(buf, pos)
        host, pos = p.read_string(buf, pos)
        operation, permission_type = _bb.unpack_from(buf, pos)
        pos += 2
        return cls(error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += _b.pack(self.pattern_type)
            out += p.compact_string(self.principal)
            out += p.compact_string(self.host)
            out += _bb.pack(self.operation, self.permission_type)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        out += _b.pack(self.pattern_type)
        out += p.string(self.principal)
        out += p.string(self.host)
        out += _bb.pack(self.operation, self.permission_type)


class DeleteAclsFilterResult(SlicedMessage):
    __slots__ = ("error_code", "error_message", "matching_acls")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is NEW else matching_acls

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteAclsFilterResult]:
        error_message: str | None
        matching_acls: list[DeleteAclsMatchingAcl]
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 11)
            if n < 0:
                p.refuse_null_array()
            matching_acls = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_matching_acls, pos = DeleteAclsMatchingAcl.read(buf, pos, version)
                matching_acls.append(item_matching_acls)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, matching_acls), pos, stop
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        matching_acls = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_matching_acls, pos = DeleteAclsMatchingAcl.read(buf, pos, version)
            matching_acls.append(item_matching_acls)
        return cls(error_code, error_message, matching_acls), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += p.uvarint(len(self.matching_acls) + 1)
            for item_matching_acls in self.matching_acls:
                item_matching_acls.write(out, version)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        out += p.array_length(len(self.matching_acls))
        for item_matching_acls in self.matching_acls:
            item_matching_acls.write(out, version)


class DeleteAclsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "filter_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is NEW else filter_results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DeleteAclsResponse]:
        filter_results: list[DeleteAclsFilterResult]
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            filter_results = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_filter_results, pos, stop = yield from DeleteAclsFilterResult.read_steps(buf, pos, version, stop)
                filter_results.append(item_filter_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, filter_results), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        filter_results = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_filter_results, pos, stop = yield from DeleteAclsFilterResult.read_steps(buf, pos, version, stop)
            filter_results.append(item_filter_results)
        return cls(throttle_time_ms, filter_results), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.filter_results) + 1)
            for item_filter_results in self.filter_results:
                item_filter_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.filter_results))
        for item_filter_results in self.filter_results:
            item_filter_results.write(out, version)


REQUEST = DeleteAclsRequest
RESPONSE = DeleteAclsResponse

"""DescribeAcls (API key 29). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_b = Struct(">b")
_bb = Struct(">bb")
_ih = Struct(">ih")


class DescribeAclsRequest(Message):
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeAclsRequest, int]:
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


class AclDescription(Message):
    __slots__ = ("principal", "host", "operation", "permission_type")

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AclDescription, int]:
        if version >= 2:
            principal, pos = p.read_compact_string(buf, pos)
            host, pos = p.read_compact_string(buf, pos)
            operation, permission_type = _bb.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(principal, host, operation, permission_type), pos
        principal, pos = p.read_string(buf, pos)
        host, pos = p.read_string(buf, pos)
        operation, permission_type = _bb.unpack_from(buf, pos)
        pos += 2
        return cls(principal, host, operation, permission_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.principal)
            out += p.compact_string(self.host)
            out += _bb.pack(self.operation, self.permission_type)
            out += b"\0"
            return
        out += p.string(self.principal)
        out += p.string(self.host)
        out += _bb.pack(self.operation, self.permission_type)


class DescribeAclsResource(Message):
    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is NEW else acls

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeAclsResource, int]:
        acls: list[AclDescription]
        if version >= 2:
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            (pattern_type,) = _b.unpack_from(buf, pos)
            pos += 1
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            acls = []
            for _ in range(n):
                item_acls, pos = AclDescription.read(buf, pos, version)
                acls.append(item_acls)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resource_type, resource_name, pattern_type, acls), pos
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        (pattern_type,) = _b.unpack_from(buf, pos)
        pos += 1
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        acls = []
        for _ in range(n):
            item_acls, pos = AclDescription.read(buf, pos, version)
            acls.append(item_acls)
        return cls(resource_type, resource_name, pattern_type, acls), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += _b.pack(self.pattern_type)
            out += p.uvarint(len(self.acls) + 1)
            for item_acls in self.acls:
                item_acls.write(out, version)
            out += b"\0"
            return
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        out += _b.pack(self.pattern_type)
        out += p.array_length(len(self.acls))
        for item_acls in self.acls:
            item_acls.write(out, version)


class DescribeAclsResponse(Message):
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is NEW else resources

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeAclsResponse, int]:
        error_message: str | None
        resources: list[DescribeAclsResource]
        if version >= 2:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            resources = []
            for _ in range(n):
                item_resources, pos = DescribeAclsResource.read(buf, pos, version)
                resources.append(item_resources)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, error_message, resources), pos
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        resources = []
        for _ in range(n):
            item_resources, pos = DescribeAclsResource.read(buf, pos, version)
            resources.append(item_resources)
        return cls(throttle_time_ms, error_code, error_message, resources), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += p.uvarint(len(self.resources) + 1)
            for item_resources in self.resources:
                item_resources.write(out, version)
            out += b"\0"
            return
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.nullable_string(self.error_message)
        out += p.array_length(len(self.resources))
        for item_resources in self.resources:
            item_resources.write(out, version)


REQUEST = DescribeAclsRequest
RESPONSE = DescribeAclsResponse

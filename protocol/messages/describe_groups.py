"""DescribeGroups (API key 15). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_h = Struct(">h")
_i = Struct(">i")


class DescribeGroupsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("groups", "include_authorized_operations")

    def __init__(
        self,
        groups: list[str] = NEW,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = [] if groups is NEW else groups
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeGroupsRequest]:
        groups: list[str]
        if version >= 5:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            groups = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_groups, pos = p.read_compact_string(buf, pos)
                groups.append(item_groups)
            (include_authorized_operations,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(groups, include_authorized_operations), pos, stop
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_groups, pos = p.read_string(buf, pos)
            groups.append(item_groups)
        if version >= 3:
            (include_authorized_operations,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            include_authorized_operations = False
        return cls(groups, include_authorized_operations), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.uvarint(len(self.groups) + 1)
            for item_groups in self.groups:
                out += p.compact_string(item_groups)
            out += _T.pack(self.include_authorized_operations)
            out += b"\0"
            return
        out += p.array_length(len(self.groups))
        for item_groups in self.groups:
            out += p.string(item_groups)
        if version >= 3:
            out += _T.pack(self.include_authorized_operations)


class DescribedGroupMember(Message):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedGroupMember, int]:
        group_instance_id: str | None
        if version >= 5:
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            client_id, pos = p.read_compact_string(buf, pos)
            client_host, pos = p.read_compact_string(buf, pos)
            member_metadata, pos = p.read_compact_bytes(buf, pos)
            member_assignment, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment), pos
        member_id, pos = p.read_string(buf, pos)
        if version == 4:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        client_id, pos = p.read_string(buf, pos)
        client_host, pos = p.read_string(buf, pos)
        member_metadata, pos = p.read_bytes(buf, pos)
        member_assignment, pos = p.read_bytes(buf, pos)
        return cls(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += p.compact_string(self.client_id)
            out += p.compact_string(self.client_host)
            p.write_compact_records(out, self.member_metadata)
            p.write_compact_records(out, self.member_assignment)
            out += b"\0"
            return
        out += p.string(self.member_id)
        if version == 4:
            out += p.nullable_string(self.group_instance_id)
        out += p.string(self.client_id)
        out += p.string(self.client_host)
        p.write_records(out, self.member_metadata)
        p.write_records(out, self.member_assignment)


class DescribedGroup(Message):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: list[DescribedGroupMember] = NEW,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is NEW else members
        self.authorized_operations = authorized_operations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedGroup, int]:
        error_message: str | None
        members: list[DescribedGroupMember]
        if version >= 5:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if version == 6:
                error_message, pos = p.read_compact_nullable_string(buf, pos)
            else:
                error_message = None
            group_id, pos = p.read_compact_string(buf, pos)
            group_state, pos = p.read_compact_string(buf, pos)
            protocol_type, pos = p.read_compact_string(buf, pos)
            protocol_data, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                item_members, pos = DescribedGroupMember.read(buf, pos, version)
                members.append(item_members)
            (authorized_operations,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message = None
        group_id, pos = p.read_string(buf, pos)
        group_state, pos = p.read_string(buf, pos)
        protocol_type, pos = p.read_string(buf, pos)
        protocol_data, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        members = []
        for _ in range(n):
            item_members, pos = DescribedGroupMember.read(buf, pos, version)
            members.append(item_members)
        if version >= 3:
            (authorized_operations,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            authorized_operations = -2147483648
        return cls(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += _h.pack(self.error_code)
            if version == 6:
                out += p.compact_nullable_string(self.error_message)
            out += p.compact_string(self.group_id)
            out += p.compact_string(self.group_state)
            out += p.compact_string(self.protocol_type)
            out += p.compact_string(self.protocol_data)
            out += p.uvarint(len(self.members) + 1)
            for item_members in self.members:
                item_members.write(out, version)
            out += _i.pack(self.authorized_operations)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.string(self.group_id)
        out += p.string(self.group_state)
        out += p.string(self.protocol_type)
        out += p.string(self.protocol_data)
        out += p.array_length(len(self.members))
        for item_members in self.members:
            item_members.write(out, version)
        if version >= 3:
            out += _i.pack(self.authorized_operations)


class DescribeGroupsResponse(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeGroupsResponse, int]:
        groups: list[DescribedGroup]
        if version >= 5:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 12)
            if n < 0:
                p.refuse_null_array()
            groups = []
            for _ in range(n):
                item_groups, pos = DescribedGroup.read(buf, pos, version)
                groups.append(item_groups)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, groups), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            item_groups, pos = DescribedGroup.read(buf, pos, version)
            groups.append(item_groups)
        return cls(throttle_time_ms, groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.groups) + 1)
            for item_groups in self.groups:
                item_groups.write(out, version)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.groups))
        for item_groups in self.groups:
            item_groups.write(out, version)


REQUEST = DescribeGroupsRequest
RESPONSE = DescribeGroupsResponse

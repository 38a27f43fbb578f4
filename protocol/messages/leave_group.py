"""LeaveGroup (API key 13). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class MemberIdentity(Message):
    __slots__ = ("member_id", "group_instance_id", "reason")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MemberIdentity, int]:
        group_instance_id: str | None
        reason: str | None
        if version >= 4:
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            if version == 5:
                reason, pos = p.read_compact_nullable_string(buf, pos)
            else:
                reason = None
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, group_instance_id, reason), pos
        if version == 3:
            member_id, pos = p.read_string(buf, pos)
        else:
            member_id = ""
        if version == 3:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        reason = None
        return cls(member_id, group_instance_id, reason), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            if version == 5:
                out += p.compact_nullable_string(self.reason)
            out += b"\0"
            return
        if version == 3:
            out += p.string(self.member_id)
        if version == 3:
            out += p.nullable_string(self.group_instance_id)


class LeaveGroupRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("group_id", "member_id", "members")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is NEW else members

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[LeaveGroupRequest]:
        members: list[MemberIdentity]
        if version >= 4:
            group_id, pos = p.read_compact_string(buf, pos)
            member_id = ""
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_members, pos = MemberIdentity.read(buf, pos, version)
                members.append(item_members)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, member_id, members), pos, stop
        group_id, pos = p.read_string(buf, pos)
        if version <= 2:
            member_id, pos = p.read_string(buf, pos)
        else:
            member_id = ""
        if version == 3:
            n, pos = p.read_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_members, pos = MemberIdentity.read(buf, pos, version)
                members.append(item_members)
        else:
            members = []
        return cls(group_id, member_id, members), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.group_id)
            out += p.uvarint(len(self.members) + 1)
            for item_members in self.members:
                item_members.write(out, version)
            out += b"\0"
            return
        out += p.string(self.group_id)
        if version <= 2:
            out += p.string(self.member_id)
        if version == 3:
            out += p.array_length(len(self.members))
            for item_members in self.members:
                item_members.write(out, version)


class MemberResponse(Message):
    __slots__ = ("member_id", "group_instance_id", "error_code")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MemberResponse, int]:
        group_instance_id: str | None
        if version >= 4:
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, group_instance_id, error_code), pos
        if version == 3:
            member_id, pos = p.read_string(buf, pos)
        else:
            member_id = ""
        if version == 3:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = ""
        if version == 3:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
        else:
            error_code = 0
        return cls(member_id, group_instance_id, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += _h.pack(self.error_code)
            out += b"\0"
            return
        if version == 3:
            out += p.string(self.member_id)
        if version == 3:
            out += p.nullable_string(self.group_instance_id)
        if version == 3:
            out += _h.pack(self.error_code)


class LeaveGroupResponse(Message):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "members")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is NEW else members

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaveGroupResponse, int]:
        members: list[MemberResponse]
        if version >= 4:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                item_members, pos = MemberResponse.read(buf, pos, version)
                members.append(item_members)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, members), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        if version == 3:
            n, pos = p.read_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                item_members, pos = MemberResponse.read(buf, pos, version)
                members.append(item_members)
        else:
            members = []
        return cls(throttle_time_ms, error_code, members), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += p.uvarint(len(self.members) + 1)
            for item_members in self.members:
                item_members.write(out, version)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += _h.pack(self.error_code)
        if version == 3:
            out += p.array_length(len(self.members))
            for item_members in self.members:
                item_members.write(out, version)


REQUEST = LeaveGroupRequest
RESPONSE = LeaveGroupResponse

"""JoinGroup (API key 11). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_hi = Struct(">hi")
_i = Struct(">i")
_ihi = Struct(">ihi")
_ii = Struct(">ii")


class JoinGroupRequestProtocol(Message):
    __slots__ = ("name", "metadata")

    def __init__(
        self,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[JoinGroupRequestProtocol, int]:
        if version >= 6:
            name, pos = p.read_compact_string(buf, pos)
            metadata, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, metadata), pos
        name, pos = p.read_string(buf, pos)
        metadata, pos = p.read_bytes(buf, pos)
        return cls(name, metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += p.compact_string(self.name)
            p.write_compact_records(out, self.metadata)
            out += b"\0"
            return
        out += p.string(self.name)
        p.write_records(out, self.metadata)


class JoinGroupRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = NEW,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is NEW else protocols
        self.reason = reason

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[JoinGroupRequest]:
        group_instance_id: str | None
        protocols: list[JoinGroupRequestProtocol]
        reason: str | None
        if version >= 6:
            group_id, pos = p.read_compact_string(buf, pos)
            session_timeout_ms, rebalance_timeout_ms = _ii.unpack_from(buf, pos)
            pos += 8
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            protocol_type, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            protocols = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_protocols, pos = JoinGroupRequestProtocol.read(buf, pos, version)
                stop += p.unread_bytes(item_protocols.metadata)
                protocols.append(item_protocols)
            if version >= 8:
                reason, pos = p.read_compact_nullable_string(buf, pos)
            else:
                reason = None
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason), pos, stop
        group_id, pos = p.read_string(buf, pos)
        (session_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 1:
            (rebalance_timeout_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            rebalance_timeout_ms = -1
        member_id, pos = p.read_string(buf, pos)
        if version == 5:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        protocol_type, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        protocols = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_protocols, pos = JoinGroupRequestProtocol.read(buf, pos, version)
            stop += p.unread_bytes(item_protocols.metadata)
            protocols.append(item_protocols)
        reason = None
        return cls(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += p.compact_string(self.group_id)
            out += _ii.pack(self.session_timeout_ms, self.rebalance_timeout_ms)
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += p.compact_string(self.protocol_type)
            out += p.uvarint(len(self.protocols) + 1)
            for item_protocols in self.protocols:
                item_protocols.write(out, version)
            if version >= 8:
                out += p.compact_nullable_string(self.reason)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _i.pack(self.session_timeout_ms)
        if version >= 1:
            out += _i.pack(self.rebalance_timeout_ms)
        out += p.string(self.member_id)
        if version == 5:
            out += p.nullable_string(self.group_instance_id)
        out += p.string(self.protocol_type)
        out += p.array_length(len(self.protocols))
        for item_protocols in self.protocols:
            item_protocols.write(out, version)


class JoinGroupResponseMember(Message):
    __slots__ = ("member_id", "group_instance_id", "metadata")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[JoinGroupResponseMember, int]:
        group_instance_id: str | None
        if version >= 6:
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            metadata, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, group_instance_id, metadata), pos
        member_id, pos = p.read_string(buf, pos)
        if version == 5:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        metadata, pos = p.read_bytes(buf, pos)
        return cls(member_id, group_instance_id, metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            p.write_compact_records(out, self.metadata)
            out += b"\0"
            return
        out += p.string(self.member_id)
        if version == 5:
            out += p.nullable_string(self.group_instance_id)
        p.write_records(out, self.metadata)


class JoinGroupResponse(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is NEW else members

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[JoinGroupResponse, int]:
        protocol_type: str | None
        protocol_name: str | None
        members: list[JoinGroupResponseMember]
        if version >= 6:
            throttle_time_ms, error_code, generation_id = _ihi.unpack_from(buf, pos)
            pos += 10
            if version >= 7:
                protocol_type, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_type = None
            if version >= 7:
                protocol_name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_name, pos = p.read_compact_string(buf, pos)
            leader, pos = p.read_compact_string(buf, pos)
            if version == 9:
                (skip_assignment,) = _T.unpack_from(buf, pos)
                pos += 1
            else:
                skip_assignment = False
            member_id, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            members = []
            for _ in range(n):
                item_members, pos = JoinGroupResponseMember.read(buf, pos, version)
                members.append(item_members)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members), pos
        if version >= 2:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        error_code, generation_id = _hi.unpack_from(buf, pos)
        pos += 6
        protocol_type = None
        protocol_name, pos = p.read_string(buf, pos)
        leader, pos = p.read_string(buf, pos)
        skip_assignment = False
        member_id, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        members = []
        for _ in range(n):
            item_members, pos = JoinGroupResponseMember.read(buf, pos, version)
            members.append(item_members)
        return cls(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _ihi.pack(self.throttle_time_ms, self.error_code, self.generation_id)
            if version >= 7:
                out += p.compact_nullable_string(self.protocol_type)
            out += p.compact_nullable_string(self.protocol_name)
            out += p.compact_string(self.leader)
            if version == 9:
                out += _T.pack(self.skip_assignment)
            out += p.compact_string(self.member_id)
            out += p.uvarint(len(self.members) + 1)
            for item_members in self.members:
                item_members.write(out, version)
            out += b"\0"
            return
        if version >= 2:
            out += _i.pack(self.throttle_time_ms)
        out += _hi.pack(self.error_code, self.generation_id)
        assert self.protocol_name is not None
        out += p.string(self.protocol_name)
        out += p.string(self.leader)
        out += p.string(self.member_id)
        out += p.array_length(len(self.members))
        for item_members in self.members:
            item_members.write(out, version)


REQUEST = JoinGroupRequest
RESPONSE = JoinGroupResponse

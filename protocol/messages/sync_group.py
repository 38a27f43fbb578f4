"""SyncGroup (API key 14). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class SyncGroupRequestAssignment(Message):
    __slots__ = ("member_id", "assignment")

    def __init__(
        self,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SyncGroupRequestAssignment, int]:
        if version >= 4:
            member_id, pos = p.read_compact_string(buf, pos)
            assignment, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(member_id, assignment), pos
        member_id, pos = p.read_string(buf, pos)
        assignment, pos = p.read_bytes(buf, pos)
        return cls(member_id, assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.member_id)
            p.write_compact_records(out, self.assignment)
            out += b"\0"
            return
        out += p.string(self.member_id)
        p.write_records(out, self.assignment)


class SyncGroupRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = NEW,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is NEW else assignments

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[SyncGroupRequest]:
        group_instance_id: str | None
        protocol_type: str | None
        protocol_name: str | None
        assignments: list[SyncGroupRequestAssignment]
        if version >= 4:
            group_id, pos = p.read_compact_string(buf, pos)
            (generation_id,) = _i.unpack_from(buf, pos)
            pos += 4
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            if version == 5:
                protocol_type, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_type = None
            if version == 5:
                protocol_name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_name = None
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            assignments = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_assignments, pos = SyncGroupRequestAssignment.read(buf, pos, version)
                stop += p.unread_bytes(item_assignments.assignment)
                assignments.append(item_assignments)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments), pos, stop
        group_id, pos = p.read_string(buf, pos)
        (generation_id,) = _i.unpack_from(buf, pos)
        pos += 4
        member_id, pos = p.read_string(buf, pos)
        if version == 3:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        protocol_type = None
        protocol_name = None
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        assignments = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_assignments, pos = SyncGroupRequestAssignment.read(buf, pos, version)
            stop += p.unread_bytes(item_assignments.assignment)
            assignments.append(item_assignments)
        return cls(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.group_id)
            out += _i.pack(self.generation_id)
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            if version == 5:
                out += p.compact_nullable_string(self.protocol_type)
            if version == 5:
                out += p.compact_nullable_string(self.protocol_name)
            out += p.uvarint(len(self.assignments) + 1)
            for item_assignments in self.assignments:
                item_assignments.write(out, version)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _i.pack(self.generation_id)
        out += p.string(self.member_id)
        if version == 3:
            out += p.nullable_string(self.group_instance_id)
        out += p.array_length(len(self.assignments))
        for item_assignments in self.assignments:
            item_assignments.write(out, version)


class SyncGroupResponse(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SyncGroupResponse, int]:
        protocol_type: str | None
        protocol_name: str | None
        if version >= 4:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if version == 5:
                protocol_type, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_type = None
            if version == 5:
                protocol_name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                protocol_name = None
            assignment, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, protocol_type, protocol_name, assignment), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        protocol_type = None
        protocol_name = None
        assignment, pos = p.read_bytes(buf, pos)
        return cls(throttle_time_ms, error_code, protocol_type, protocol_name, assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            if version == 5:
                out += p.compact_nullable_string(self.protocol_type)
            if version == 5:
                out += p.compact_nullable_string(self.protocol_name)
            p.write_compact_records(out, self.assignment)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += _h.pack(self.error_code)
        p.write_records(out, self.assignment)


REQUEST = SyncGroupRequest
RESPONSE = SyncGroupResponse

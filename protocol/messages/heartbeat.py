"""Heartbeat (API key 12). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class HeartbeatRequest(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[HeartbeatRequest, int]:
        group_instance_id: str | None
        if version >= 4:
            group_id, pos = p.read_compact_string(buf, pos)
            (generation_id,) = _i.unpack_from(buf, pos)
            pos += 4
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, generation_id, member_id, group_instance_id), pos
        group_id, pos = p.read_string(buf, pos)
        (generation_id,) = _i.unpack_from(buf, pos)
        pos += 4
        member_id, pos = p.read_string(buf, pos)
        if version == 3:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        return cls(group_id, generation_id, member_id, group_instance_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.group_id)
            out += _i.pack(self.generation_id)
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _i.pack(self.generation_id)
        out += p.string(self.member_id)
        if version == 3:
            out += p.nullable_string(self.group_instance_id)


class HeartbeatResponse(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[HeartbeatResponse, int]:
        if version >= 4:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        return cls(throttle_time_ms, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += _h.pack(self.error_code)


REQUEST = HeartbeatRequest
RESPONSE = HeartbeatResponse

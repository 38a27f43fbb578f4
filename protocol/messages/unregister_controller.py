"""UnregisterController (API key 94). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_i = Struct(">i")
_ih = Struct(">ih")


class UnregisterControllerRequest(Message):
    API_KEY: ClassVar[int] = 94
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("controller_id",)

    def __init__(
        self,
        controller_id: int = 0,
    ) -> None:
        self.controller_id = controller_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterControllerRequest, int]:
        (controller_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(controller_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.controller_id)
        out += b"\0"


class UnregisterControllerResponse(Message):
    API_KEY: ClassVar[int] = 94
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterControllerResponse, int]:
        error_message: str | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


REQUEST = UnregisterControllerRequest
RESPONSE = UnregisterControllerResponse

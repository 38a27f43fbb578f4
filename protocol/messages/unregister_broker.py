"""UnregisterBroker (API key 64). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_i = Struct(">i")
_ih = Struct(">ih")


@dataclass(slots=True)
class UnregisterBrokerRequest:
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    broker_id: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterBrokerRequest, int]:
        (broker_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.broker_id)
        out += b"\0"


@dataclass(slots=True)
class UnregisterBrokerResponse:
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UnregisterBrokerResponse, int]:
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


REQUEST = UnregisterBrokerRequest
RESPONSE = UnregisterBrokerResponse

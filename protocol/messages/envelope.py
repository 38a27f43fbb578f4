"""Envelope (API key 58). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_h = Struct(">h")


@dataclass(slots=True)
class EnvelopeRequest:
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    request_data: bytes = b""
    request_principal: bytes | None = b""
    client_host_address: bytes = b""

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EnvelopeRequest, int]:
        request_principal: bytes | None
        request_data, pos = p.read_compact_bytes(buf, pos)
        request_principal, pos = p.read_compact_nullable_bytes(buf, pos)
        client_host_address, pos = p.read_compact_bytes(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(request_data, request_principal, client_host_address), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        p.write_compact_records(out, self.request_data)
        p.write_compact_records(out, self.request_principal)
        p.write_compact_records(out, self.client_host_address)
        out += b"\0"


@dataclass(slots=True)
class EnvelopeResponse:
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    response_data: bytes | None = None
    error_code: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EnvelopeResponse, int]:
        response_data: bytes | None
        response_data, pos = p.read_compact_nullable_bytes(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(response_data, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        p.write_compact_records(out, self.response_data)
        out += _h.pack(self.error_code)
        out += b"\0"


REQUEST = EnvelopeRequest
RESPONSE = EnvelopeResponse

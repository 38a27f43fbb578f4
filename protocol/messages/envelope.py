"""Envelope (API key 58). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_h = Struct(">h")


class EnvelopeRequest(Message):
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("request_data", "request_principal", "client_host_address")

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address

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


class EnvelopeResponse(Message):
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("response_data", "error_code")

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code

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

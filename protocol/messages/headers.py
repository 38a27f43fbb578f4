"""Request and response headers. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_hhi = Struct(">hhi")
_i = Struct(">i")


class RequestHeader(Message):
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RequestHeader, int]:
        client_id: str | None
        if version >= 2:
            request_api_key, request_api_version, correlation_id = _hhi.unpack_from(buf, pos)
            pos += 8
            client_id, pos = p.read_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(request_api_key, request_api_version, correlation_id, client_id), pos
        request_api_key, request_api_version, correlation_id = _hhi.unpack_from(buf, pos)
        pos += 8
        client_id, pos = p.read_nullable_string(buf, pos)
        return cls(request_api_key, request_api_version, correlation_id, client_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _hhi.pack(self.request_api_key, self.request_api_version, self.correlation_id)
            out += p.nullable_string(self.client_id)
            out += b"\0"
            return
        out += _hhi.pack(self.request_api_key, self.request_api_version, self.correlation_id)
        out += p.nullable_string(self.client_id)


class ResponseHeader(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("correlation_id",)

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ResponseHeader, int]:
        if version >= 1:
            (correlation_id,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(correlation_id), pos
        (correlation_id,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(correlation_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _i.pack(self.correlation_id)
            out += b"\0"
            return
        out += _i.pack(self.correlation_id)


REQUEST = RequestHeader
RESPONSE = ResponseHeader

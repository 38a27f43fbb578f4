"""SaslAuthenticate (API key 36). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_h = Struct(">h")
_q = Struct(">q")


class SaslAuthenticateRequest(Message):
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("auth_bytes",)

    def __init__(
        self,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SaslAuthenticateRequest, int]:
        if version >= 2:
            auth_bytes, pos = p.read_compact_bytes(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(auth_bytes), pos
        auth_bytes, pos = p.read_bytes(buf, pos)
        return cls(auth_bytes), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            p.write_compact_records(out, self.auth_bytes)
            out += b"\0"
            return
        p.write_records(out, self.auth_bytes)


class SaslAuthenticateResponse(Message):
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SaslAuthenticateResponse, int]:
        error_message: str | None
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            auth_bytes, pos = p.read_compact_bytes(buf, pos)
            (session_lifetime_ms,) = _q.unpack_from(buf, pos)
            pos += 8
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, auth_bytes, session_lifetime_ms), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        auth_bytes, pos = p.read_bytes(buf, pos)
        if version == 1:
            (session_lifetime_ms,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            session_lifetime_ms = 0
        return cls(error_code, error_message, auth_bytes, session_lifetime_ms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            p.write_compact_records(out, self.auth_bytes)
            out += _q.pack(self.session_lifetime_ms)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        p.write_records(out, self.auth_bytes)
        if version == 1:
            out += _q.pack(self.session_lifetime_ms)


REQUEST = SaslAuthenticateRequest
RESPONSE = SaslAuthenticateResponse

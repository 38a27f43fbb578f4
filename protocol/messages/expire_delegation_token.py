"""ExpireDelegationToken (API key 40). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_hqi = Struct(">hqi")
_q = Struct(">q")


class ExpireDelegationTokenRequest(Message):
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("hmac", "expiry_time_period_ms")

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ExpireDelegationTokenRequest, int]:
        if version >= 2:
            hmac, pos = p.read_compact_bytes(buf, pos)
            (expiry_time_period_ms,) = _q.unpack_from(buf, pos)
            pos += 8
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(hmac, expiry_time_period_ms), pos
        hmac, pos = p.read_bytes(buf, pos)
        (expiry_time_period_ms,) = _q.unpack_from(buf, pos)
        pos += 8
        return cls(hmac, expiry_time_period_ms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            p.write_compact_records(out, self.hmac)
            out += _q.pack(self.expiry_time_period_ms)
            out += b"\0"
            return
        p.write_records(out, self.hmac)
        out += _q.pack(self.expiry_time_period_ms)


class ExpireDelegationTokenResponse(Message):
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ExpireDelegationTokenResponse, int]:
        if version >= 2:
            error_code, expiry_timestamp_ms, throttle_time_ms = _hqi.unpack_from(buf, pos)
            pos += 14
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, expiry_timestamp_ms, throttle_time_ms), pos
        error_code, expiry_timestamp_ms, throttle_time_ms = _hqi.unpack_from(buf, pos)
        pos += 14
        return cls(error_code, expiry_timestamp_ms, throttle_time_ms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _hqi.pack(self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms)
            out += b"\0"
            return
        out += _hqi.pack(self.error_code, self.expiry_timestamp_ms, self.throttle_time_ms)


REQUEST = ExpireDelegationTokenRequest
RESPONSE = ExpireDelegationTokenResponse

"""SaslHandshake (API key 17). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_h = Struct(">h")


class SaslHandshakeRequest(Message):
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("mechanism",)

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SaslHandshakeRequest, int]:
        mechanism, pos = p.read_string(buf, pos)
        return cls(mechanism), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.mechanism)


class SaslHandshakeResponse(Message):
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("error_code", "mechanisms")

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] = NEW,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is NEW else mechanisms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SaslHandshakeResponse, int]:
        mechanisms: list[str]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        mechanisms = []
        for _ in range(n):
            item_mechanisms, pos = p.read_string(buf, pos)
            mechanisms.append(item_mechanisms)
        return cls(error_code, mechanisms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        out += p.array_length(len(self.mechanisms))
        for item_mechanisms in self.mechanisms:
            out += p.string(item_mechanisms)


REQUEST = SaslHandshakeRequest
RESPONSE = SaslHandshakeResponse

"""LeaderAndIsr (API key 4). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message



class LeaderAndIsrRequest(Message):
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderAndIsrRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


class LeaderAndIsrResponse(Message):
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderAndIsrResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = LeaderAndIsrRequest
RESPONSE = LeaderAndIsrResponse

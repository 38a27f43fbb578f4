"""ControlledShutdown (API key 7). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message



class ControlledShutdownRequest(Message):
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControlledShutdownRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


class ControlledShutdownResponse(Message):
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControlledShutdownResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = ControlledShutdownRequest
RESPONSE = ControlledShutdownResponse

"""UpdateMetadata (API key 6). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message



class UpdateMetadataRequest(Message):
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UpdateMetadataRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


class UpdateMetadataResponse(Message):
    API_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UpdateMetadataResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = UpdateMetadataRequest
RESPONSE = UpdateMetadataResponse

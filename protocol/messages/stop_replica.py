"""StopReplica (API key 5). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message



class StopReplicaRequest(Message):
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StopReplicaRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


class StopReplicaResponse(Message):
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StopReplicaResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = StopReplicaRequest
RESPONSE = StopReplicaResponse

"""StopReplica (API key 5). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p



@dataclass(slots=True)
class StopReplicaRequest:
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StopReplicaRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


@dataclass(slots=True)
class StopReplicaResponse:
    API_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StopReplicaResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = StopReplicaRequest
RESPONSE = StopReplicaResponse

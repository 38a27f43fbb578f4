"""LeaderAndIsr (API key 4). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p



@dataclass(slots=True)
class LeaderAndIsrRequest:
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderAndIsrRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


@dataclass(slots=True)
class LeaderAndIsrResponse:
    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderAndIsrResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = LeaderAndIsrRequest
RESPONSE = LeaderAndIsrResponse

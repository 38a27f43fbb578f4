"""ControlledShutdown (API key 7). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p



@dataclass(slots=True)
class ControlledShutdownRequest:
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControlledShutdownRequest, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


@dataclass(slots=True)
class ControlledShutdownResponse:
    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767


    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControlledShutdownResponse, int]:
        return cls(), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        return


REQUEST = ControlledShutdownRequest
RESPONSE = ControlledShutdownResponse

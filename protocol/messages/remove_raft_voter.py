"""RemoveRaftVoter (API key 81). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_iU = Struct(">i16s")
_ih = Struct(">ih")


class RemoveRaftVoterRequest(Message):
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "voter_id", "voter_directory_id")

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveRaftVoterRequest, int]:
        cluster_id: str | None
        cluster_id, pos = p.read_compact_nullable_string(buf, pos)
        voter_id, voter_directory_id = _iU.unpack_from(buf, pos)
        pos += 20
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(cluster_id, voter_id, voter_directory_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.cluster_id)
        out += _iU.pack(self.voter_id, self.voter_directory_id)
        out += b"\0"


class RemoveRaftVoterResponse(Message):
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[RemoveRaftVoterResponse, int]:
        error_message: str | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


REQUEST = RemoveRaftVoterRequest
RESPONSE = RemoveRaftVoterResponse

"""AddRaftVoter (API key 80). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_H = Struct(">H")
_ih = Struct(">ih")
_iiU = Struct(">ii16s")


class Listener(Message):
    __slots__ = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Listener, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _H.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _H.pack(self.port)
        out += b"\0"


class AddRaftVoterRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = p.ZERO_UUID,
        listeners: list[Listener] = NEW,
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NEW else listeners
        self.ack_when_committed = ack_when_committed

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AddRaftVoterRequest]:
        cluster_id: str | None
        listeners: list[Listener]
        cluster_id, pos = p.read_compact_nullable_string(buf, pos)
        timeout_ms, voter_id, voter_directory_id = _iiU.unpack_from(buf, pos)
        pos += 24
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        listeners = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_listeners, pos = Listener.read(buf, pos, version)
            listeners.append(item_listeners)
        if version == 1:
            (ack_when_committed,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            ack_when_committed = True
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.cluster_id)
        out += _iiU.pack(self.timeout_ms, self.voter_id, self.voter_directory_id)
        out += p.uvarint(len(self.listeners) + 1)
        for item_listeners in self.listeners:
            item_listeners.write(out, version)
        if version == 1:
            out += _T.pack(self.ack_when_committed)
        out += b"\0"


class AddRaftVoterResponse(Message):
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddRaftVoterResponse, int]:
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


REQUEST = AddRaftVoterRequest
RESPONSE = AddRaftVoterResponse

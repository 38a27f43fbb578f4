"""FindCoordinator (API key 10). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class FindCoordinatorRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("key", "key_type", "coordinator_keys")

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = NEW,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is NEW else coordinator_keys

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FindCoordinatorRequest]:
        coordinator_keys: list[str]
        if version >= 3:
            if version == 3:
                key, pos = p.read_compact_string(buf, pos)
            else:
                key = ""
            (key_type,) = _b.unpack_from(buf, pos)
            pos += 1
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 1)
                if n < 0:
                    p.refuse_null_array()
                coordinator_keys = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_coordinator_keys, pos = p.read_compact_string(buf, pos)
                    coordinator_keys.append(item_coordinator_keys)
            else:
                coordinator_keys = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(key, key_type, coordinator_keys), pos, stop
        key, pos = p.read_string(buf, pos)
        if version >= 1:
            (key_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            key_type = 0
        coordinator_keys = []
        return cls(key, key_type, coordinator_keys), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version == 3:
                out += p.compact_string(self.key)
            out += _b.pack(self.key_type)
            if version >= 4:
                out += p.uvarint(len(self.coordinator_keys) + 1)
                for item_coordinator_keys in self.coordinator_keys:
                    out += p.compact_string(item_coordinator_keys)
            out += b"\0"
            return
        out += p.string(self.key)
        if version >= 1:
            out += _b.pack(self.key_type)


class Coordinator(Message):
    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Coordinator, int]:
        error_message: str | None
        if version >= 3:
            if version >= 4:
                key, pos = p.read_compact_string(buf, pos)
            else:
                key = ""
            if version >= 4:
                (node_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                node_id = 0
            if version >= 4:
                host, pos = p.read_compact_string(buf, pos)
            else:
                host = ""
            if version >= 4:
                port, error_code = _ih.unpack_from(buf, pos)
                pos += 6
            else:
                port = 0
                error_code = 0
            if version >= 4:
                error_message, pos = p.read_compact_nullable_string(buf, pos)
            else:
                error_message = ""
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(key, node_id, host, port, error_code, error_message), pos
        key = ""
        node_id = 0
        host = ""
        port = 0
        error_code = 0
        error_message = ""
        return cls(key, node_id, host, port, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version >= 4:
                out += p.compact_string(self.key)
            if version >= 4:
                out += _i.pack(self.node_id)
            if version >= 4:
                out += p.compact_string(self.host)
            if version >= 4:
                out += _ih.pack(self.port, self.error_code)
            if version >= 4:
                out += p.compact_nullable_string(self.error_message)
            out += b"\0"
            return
        return


class FindCoordinatorResponse(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is NEW else coordinators

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FindCoordinatorResponse, int]:
        error_message: str | None
        coordinators: list[Coordinator]
        if version >= 3:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if version == 3:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if version == 3:
                error_message, pos = p.read_compact_nullable_string(buf, pos)
            else:
                error_message = ""
            if version == 3:
                (node_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                node_id = 0
            if version == 3:
                host, pos = p.read_compact_string(buf, pos)
            else:
                host = ""
            if version == 3:
                (port,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                port = 0
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 14)
                if n < 0:
                    p.refuse_null_array()
                coordinators = []
                for _ in range(n):
                    item_coordinators, pos = Coordinator.read(buf, pos, version)
                    coordinators.append(item_coordinators)
            else:
                coordinators = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, error_message, node_id, host, port, coordinators), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        if version >= 1:
            error_message, pos = p.read_nullable_string(buf, pos)
        else:
            error_message = ""
        (node_id,) = _i.unpack_from(buf, pos)
        pos += 4
        host, pos = p.read_string(buf, pos)
        (port,) = _i.unpack_from(buf, pos)
        pos += 4
        coordinators = []
        return cls(throttle_time_ms, error_code, error_message, node_id, host, port, coordinators), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _i.pack(self.throttle_time_ms)
            if version == 3:
                out += _h.pack(self.error_code)
            if version == 3:
                out += p.compact_nullable_string(self.error_message)
            if version == 3:
                out += _i.pack(self.node_id)
            if version == 3:
                out += p.compact_string(self.host)
            if version == 3:
                out += _i.pack(self.port)
            if version >= 4:
                out += p.uvarint(len(self.coordinators) + 1)
                for item_coordinators in self.coordinators:
                    item_coordinators.write(out, version)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += _h.pack(self.error_code)
        if version >= 1:
            out += p.nullable_string(self.error_message)
        out += _i.pack(self.node_id)
        out += p.string(self.host)
        out += _i.pack(self.port)


REQUEST = FindCoordinatorRequest
RESPONSE = FindCoordinatorResponse

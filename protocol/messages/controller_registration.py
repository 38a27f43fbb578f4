"""ControllerRegistration (API key 70). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_Hh = Struct(">Hh")
_hh = Struct(">hh")
_iUT = Struct(">i16s?")
_ih = Struct(">ih")


class Listener(Message):
    __slots__ = ("name", "host", "port", "security_protocol")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Listener, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        port, security_protocol = _Hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port, security_protocol), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _Hh.pack(self.port, self.security_protocol)
        out += b"\0"


class Feature(Message):
    __slots__ = ("name", "min_supported_version", "max_supported_version")

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Feature, int]:
        name, pos = p.read_compact_string(buf, pos)
        min_supported_version, max_supported_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, min_supported_version, max_supported_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _hh.pack(self.min_supported_version, self.max_supported_version)
        out += b"\0"


class ControllerRegistrationRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = p.ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = NEW,
        features: list[Feature] = NEW,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is NEW else listeners
        self.features = [] if features is NEW else features

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ControllerRegistrationRequest]:
        listeners: list[Listener]
        features: list[Feature]
        controller_id, incarnation_id, zk_migration_ready = _iUT.unpack_from(buf, pos)
        pos += 21
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        listeners = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_listeners, pos = Listener.read(buf, pos, version)
            listeners.append(item_listeners)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        features = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_features, pos = Feature.read(buf, pos, version)
            features.append(item_features)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(controller_id, incarnation_id, zk_migration_ready, listeners, features), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iUT.pack(self.controller_id, self.incarnation_id, self.zk_migration_ready)
        out += p.uvarint(len(self.listeners) + 1)
        for item_listeners in self.listeners:
            item_listeners.write(out, version)
        out += p.uvarint(len(self.features) + 1)
        for item_features in self.features:
            item_features.write(out, version)
        out += b"\0"


class ControllerRegistrationResponse(Message):
    API_KEY: ClassVar[int] = 70
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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControllerRegistrationResponse, int]:
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


REQUEST = ControllerRegistrationRequest
RESPONSE = ControllerRegistrationResponse

"""BrokerRegistration (API key 62). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_T = Struct(">?")
_Hh = Struct(">Hh")
_hh = Struct(">hh")
_i = Struct(">i")
_ihq = Struct(">ihq")
_q = Struct(">q")


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


class BrokerRegistrationRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "cluster_id", "incarnation_id", "listeners", "features", "rack", "is_migrating_zk_broker", "log_dirs", "previous_broker_epoch")

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = p.ZERO_UUID,
        listeners: list[Listener] = NEW,
        features: list[Feature] = NEW,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] = NEW,
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is NEW else listeners
        self.features = [] if features is NEW else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.previous_broker_epoch = previous_broker_epoch

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[BrokerRegistrationRequest]:
        listeners: list[Listener]
        features: list[Feature]
        rack: str | None
        log_dirs: list[bytes]
        (broker_id,) = _i.unpack_from(buf, pos)
        pos += 4
        cluster_id, pos = p.read_compact_string(buf, pos)
        (incarnation_id,) = _U.unpack_from(buf, pos)
        pos += 16
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
        rack, pos = p.read_compact_nullable_string(buf, pos)
        if version >= 1:
            (is_migrating_zk_broker,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            is_migrating_zk_broker = False
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 16)
            if n < 0:
                p.refuse_null_array()
            log_dirs = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_log_dirs = bytes(buf[pos : pos + 16])
                pos += 16
                log_dirs.append(item_log_dirs)
        else:
            log_dirs = []
        if version >= 3:
            (previous_broker_epoch,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            previous_broker_epoch = -1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, cluster_id, incarnation_id, listeners, features, rack, is_migrating_zk_broker, log_dirs, previous_broker_epoch), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.broker_id)
        out += p.compact_string(self.cluster_id)
        out += _U.pack(self.incarnation_id)
        out += p.uvarint(len(self.listeners) + 1)
        for item_listeners in self.listeners:
            item_listeners.write(out, version)
        out += p.uvarint(len(self.features) + 1)
        for item_features in self.features:
            item_features.write(out, version)
        out += p.compact_nullable_string(self.rack)
        if version >= 1:
            out += _T.pack(self.is_migrating_zk_broker)
        if version >= 2:
            out += p.uvarint(len(self.log_dirs) + 1)
            for item_log_dirs in self.log_dirs:
                out += item_log_dirs
        if version >= 3:
            out += _q.pack(self.previous_broker_epoch)
        out += b"\0"


class BrokerRegistrationResponse(Message):
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "broker_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerRegistrationResponse, int]:
        throttle_time_ms, error_code, broker_epoch = _ihq.unpack_from(buf, pos)
        pos += 14
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, broker_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihq.pack(self.throttle_time_ms, self.error_code, self.broker_epoch)
        out += b"\0"


REQUEST = BrokerRegistrationRequest
RESPONSE = BrokerRegistrationResponse

"""DescribeCluster (API key 60). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_T = Struct(">?")
_b = Struct(">b")
_i = Struct(">i")
_ih = Struct(">ih")


class DescribeClusterRequest(Message):
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeClusterRequest, int]:
        (include_cluster_authorized_operations,) = _T.unpack_from(buf, pos)
        pos += 1
        if version >= 1:
            (endpoint_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            endpoint_type = 1
        if version == 2:
            (include_fenced_brokers,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            include_fenced_brokers = False
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _T.pack(self.include_cluster_authorized_operations)
        if version >= 1:
            out += _b.pack(self.endpoint_type)
        if version == 2:
            out += _T.pack(self.include_fenced_brokers)
        out += b"\0"


class DescribeClusterBroker(Message):
    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeClusterBroker, int]:
        rack: str | None
        (broker_id,) = _i.unpack_from(buf, pos)
        pos += 4
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _i.unpack_from(buf, pos)
        pos += 4
        rack, pos = p.read_compact_nullable_string(buf, pos)
        if version == 2:
            (is_fenced,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            is_fenced = False
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, host, port, rack, is_fenced), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.broker_id)
        out += p.compact_string(self.host)
        out += _i.pack(self.port)
        out += p.compact_nullable_string(self.rack)
        if version == 2:
            out += _T.pack(self.is_fenced)
        out += b"\0"


class DescribeClusterResponse(Message):
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = NEW,
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is NEW else brokers
        self.cluster_authorized_operations = cluster_authorized_operations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeClusterResponse, int]:
        error_message: str | None
        brokers: list[DescribeClusterBroker]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if version >= 1:
            (endpoint_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            endpoint_type = 1
        cluster_id, pos = p.read_compact_string(buf, pos)
        (controller_id,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        brokers = []
        for _ in range(n):
            item_brokers, pos = DescribeClusterBroker.read(buf, pos, version)
            brokers.append(item_brokers)
        (cluster_authorized_operations,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        if version >= 1:
            out += _b.pack(self.endpoint_type)
        out += p.compact_string(self.cluster_id)
        out += _i.pack(self.controller_id)
        out += p.uvarint(len(self.brokers) + 1)
        for item_brokers in self.brokers:
            item_brokers.write(out, version)
        out += _i.pack(self.cluster_authorized_operations)
        out += b"\0"


REQUEST = DescribeClusterRequest
RESPONSE = DescribeClusterResponse

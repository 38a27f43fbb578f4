"""GetTelemetrySubscriptions (API key 71). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_U = Struct(">16s")
_ihUi = Struct(">ih16si")
_iiT = Struct(">ii?")


class GetTelemetrySubscriptionsRequest(Message):
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("client_instance_id",)

    def __init__(
        self,
        client_instance_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.client_instance_id = client_instance_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[GetTelemetrySubscriptionsRequest, int]:
        (client_instance_id,) = _U.unpack_from(buf, pos)
        pos += 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(client_instance_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.client_instance_id)
        out += b"\0"


class GetTelemetrySubscriptionsResponse(Message):
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "client_instance_id", "subscription_id", "accepted_compression_types", "push_interval_ms", "telemetry_max_bytes", "delta_temporality", "requested_metrics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = p.ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = NEW,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is NEW else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is NEW else requested_metrics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[GetTelemetrySubscriptionsResponse, int]:
        accepted_compression_types: list[int]
        requested_metrics: list[str]
        throttle_time_ms, error_code, client_instance_id, subscription_id = _ihUi.unpack_from(buf, pos)
        pos += 26
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        accepted_compression_types = list(Struct(f">{n}b").unpack_from(buf, pos))
        pos += n * 1
        push_interval_ms, telemetry_max_bytes, delta_temporality = _iiT.unpack_from(buf, pos)
        pos += 9
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        requested_metrics = []
        for _ in range(n):
            item_requested_metrics, pos = p.read_compact_string(buf, pos)
            requested_metrics.append(item_requested_metrics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, client_instance_id, subscription_id, accepted_compression_types, push_interval_ms, telemetry_max_bytes, delta_temporality, requested_metrics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihUi.pack(self.throttle_time_ms, self.error_code, self.client_instance_id, self.subscription_id)
        out += p.uvarint(len(self.accepted_compression_types) + 1)
        out += Struct(f">{len(self.accepted_compression_types)}b").pack(*self.accepted_compression_types)
        out += _iiT.pack(self.push_interval_ms, self.telemetry_max_bytes, self.delta_temporality)
        out += p.uvarint(len(self.requested_metrics) + 1)
        for item_requested_metrics in self.requested_metrics:
            out += p.compact_string(item_requested_metrics)
        out += b"\0"


REQUEST = GetTelemetrySubscriptionsRequest
RESPONSE = GetTelemetrySubscriptionsResponse

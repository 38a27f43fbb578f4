"""PushTelemetry (API key 72). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_UiTb = Struct(">16si?b")
_ih = Struct(">ih")


class PushTelemetryRequest(Message):
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")

    def __init__(
        self,
        client_instance_id: bytes = p.ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PushTelemetryRequest, int]:
        client_instance_id, subscription_id, terminating, compression_type = _UiTb.unpack_from(buf, pos)
        pos += 22
        metrics, pos = p.read_compact_bytes(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(client_instance_id, subscription_id, terminating, compression_type, metrics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _UiTb.pack(self.client_instance_id, self.subscription_id, self.terminating, self.compression_type)
        p.write_compact_records(out, self.metrics)
        out += b"\0"


class PushTelemetryResponse(Message):
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PushTelemetryResponse, int]:
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += b"\0"


REQUEST = PushTelemetryRequest
RESPONSE = PushTelemetryResponse

"""AllocateProducerIds (API key 67). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_ihqi = Struct(">ihqi")
_iq = Struct(">iq")


class AllocateProducerIdsRequest(Message):
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AllocateProducerIdsRequest, int]:
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.broker_id, self.broker_epoch)
        out += b"\0"


class AllocateProducerIdsResponse(Message):
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AllocateProducerIdsResponse, int]:
        throttle_time_ms, error_code, producer_id_start, producer_id_len = _ihqi.unpack_from(buf, pos)
        pos += 18
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, producer_id_start, producer_id_len), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihqi.pack(self.throttle_time_ms, self.error_code, self.producer_id_start, self.producer_id_len)
        out += b"\0"


REQUEST = AllocateProducerIdsRequest
RESPONSE = AllocateProducerIdsResponse

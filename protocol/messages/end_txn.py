"""EndTxn (API key 26). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_ih = Struct(">ih")
_qh = Struct(">qh")
_qhT = Struct(">qh?")


class EndTxnRequest(Message):
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndTxnRequest, int]:
        if version >= 3:
            transactional_id, pos = p.read_compact_string(buf, pos)
            producer_id, producer_epoch, committed = _qhT.unpack_from(buf, pos)
            pos += 11
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, producer_id, producer_epoch, committed), pos
        transactional_id, pos = p.read_string(buf, pos)
        producer_id, producer_epoch, committed = _qhT.unpack_from(buf, pos)
        pos += 11
        return cls(transactional_id, producer_id, producer_epoch, committed), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.transactional_id)
            out += _qhT.pack(self.producer_id, self.producer_epoch, self.committed)
            out += b"\0"
            return
        out += p.string(self.transactional_id)
        out += _qhT.pack(self.producer_id, self.producer_epoch, self.committed)


class EndTxnResponse(Message):
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndTxnResponse, int]:
        if version >= 3:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if version == 5:
                producer_id, producer_epoch = _qh.unpack_from(buf, pos)
                pos += 10
            else:
                producer_id = -1
                producer_epoch = -1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, producer_id, producer_epoch), pos
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        producer_id = -1
        producer_epoch = -1
        return cls(throttle_time_ms, error_code, producer_id, producer_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            if version == 5:
                out += _qh.pack(self.producer_id, self.producer_epoch)
            out += b"\0"
            return
        out += _ih.pack(self.throttle_time_ms, self.error_code)


REQUEST = EndTxnRequest
RESPONSE = EndTxnResponse

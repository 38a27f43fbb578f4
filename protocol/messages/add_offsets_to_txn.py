"""AddOffsetsToTxn (API key 25). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_ih = Struct(">ih")
_qh = Struct(">qh")


class AddOffsetsToTxnRequest(Message):
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddOffsetsToTxnRequest, int]:
        if version >= 3:
            transactional_id, pos = p.read_compact_string(buf, pos)
            producer_id, producer_epoch = _qh.unpack_from(buf, pos)
            pos += 10
            group_id, pos = p.read_compact_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, producer_id, producer_epoch, group_id), pos
        transactional_id, pos = p.read_string(buf, pos)
        producer_id, producer_epoch = _qh.unpack_from(buf, pos)
        pos += 10
        group_id, pos = p.read_string(buf, pos)
        return cls(transactional_id, producer_id, producer_epoch, group_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.transactional_id)
            out += _qh.pack(self.producer_id, self.producer_epoch)
            out += p.compact_string(self.group_id)
            out += b"\0"
            return
        out += p.string(self.transactional_id)
        out += _qh.pack(self.producer_id, self.producer_epoch)
        out += p.string(self.group_id)


class AddOffsetsToTxnResponse(Message):
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddOffsetsToTxnResponse, int]:
        if version >= 3:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code), pos
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(throttle_time_ms, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += b"\0"
            return
        out += _ih.pack(self.throttle_time_ms, self.error_code)


REQUEST = AddOffsetsToTxnRequest
RESPONSE = AddOffsetsToTxnResponse

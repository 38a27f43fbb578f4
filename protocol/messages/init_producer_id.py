"""InitProducerId (API key 22). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_TT = Struct(">??")
_i = Struct(">i")
_ihqh = Struct(">ihqh")
_qh = Struct(">qh")


class InitProducerIdRequest(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch", "enable2_pc", "keep_prepared_txn")

    def __init__(
        self,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable2_pc = enable2_pc
        self.keep_prepared_txn = keep_prepared_txn

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[InitProducerIdRequest, int]:
        transactional_id: str | None
        if version >= 2:
            transactional_id, pos = p.read_compact_nullable_string(buf, pos)
            (transaction_timeout_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if version >= 3:
                producer_id, producer_epoch = _qh.unpack_from(buf, pos)
                pos += 10
            else:
                producer_id = -1
                producer_epoch = -1
            if version == 6:
                enable2_pc, keep_prepared_txn = _TT.unpack_from(buf, pos)
                pos += 2
            else:
                enable2_pc = False
                keep_prepared_txn = False
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn), pos
        transactional_id, pos = p.read_nullable_string(buf, pos)
        (transaction_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        producer_id = -1
        producer_epoch = -1
        enable2_pc = False
        keep_prepared_txn = False
        return cls(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_nullable_string(self.transactional_id)
            out += _i.pack(self.transaction_timeout_ms)
            if version >= 3:
                out += _qh.pack(self.producer_id, self.producer_epoch)
            if version == 6:
                out += _TT.pack(self.enable2_pc, self.keep_prepared_txn)
            out += b"\0"
            return
        out += p.nullable_string(self.transactional_id)
        out += _i.pack(self.transaction_timeout_ms)


class InitProducerIdResponse(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch", "ongoing_txn_producer_id", "ongoing_txn_producer_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[InitProducerIdResponse, int]:
        if version >= 2:
            throttle_time_ms, error_code, producer_id, producer_epoch = _ihqh.unpack_from(buf, pos)
            pos += 16
            if version == 6:
                ongoing_txn_producer_id, ongoing_txn_producer_epoch = _qh.unpack_from(buf, pos)
                pos += 10
            else:
                ongoing_txn_producer_id = -1
                ongoing_txn_producer_epoch = -1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch), pos
        throttle_time_ms, error_code, producer_id, producer_epoch = _ihqh.unpack_from(buf, pos)
        pos += 16
        ongoing_txn_producer_id = -1
        ongoing_txn_producer_epoch = -1
        return cls(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _ihqh.pack(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)
            if version == 6:
                out += _qh.pack(self.ongoing_txn_producer_id, self.ongoing_txn_producer_epoch)
            out += b"\0"
            return
        out += _ihqh.pack(self.throttle_time_ms, self.error_code, self.producer_id, self.producer_epoch)


REQUEST = InitProducerIdRequest
RESPONSE = InitProducerIdResponse

"""The messages of storage-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_I = Struct(">I")
_qhiqiqiq = Struct(">qhiqiqiq")


class ProducerEntry(Message):
    __slots__ = ("producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch", "current_txn_first_offset")

    def __init__(
        self,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProducerEntry, int]:
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, current_txn_first_offset = _qhiqiqiq.unpack_from(buf, pos)
        pos += 46
        return cls(producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, current_txn_first_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qhiqiqiq.pack(self.producer_id, self.epoch, self.last_sequence, self.last_offset, self.offset_delta, self.timestamp, self.coordinator_epoch, self.current_txn_first_offset)


class ProducerSnapshot(Message):
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("crc", "producer_entries")

    def __init__(
        self,
        crc: int = 0,
        producer_entries: list[ProducerEntry] = NEW,
    ) -> None:
        self.crc = crc
        self.producer_entries = [] if producer_entries is NEW else producer_entries

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProducerSnapshot, int]:
        producer_entries: list[ProducerEntry]
        (crc,) = _I.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 46)
        if n < 0:
            p.refuse_null_array()
        producer_entries = []
        for _ in range(n):
            item_producer_entries, pos = ProducerEntry.read(buf, pos, version)
            producer_entries.append(item_producer_entries)
        return cls(crc, producer_entries), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _I.pack(self.crc)
        out += p.array_length(len(self.producer_entries))
        for item_producer_entries in self.producer_entries:
            item_producer_entries.write(out, version)

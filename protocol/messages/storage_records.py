"""The messages of storage-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_I = Struct(">I")
_qhiqiqiq = Struct(">qhiqiqiq")


@dataclass(slots=True)
class ProducerEntry:
    producer_id: int = 0
    epoch: int = 0
    last_sequence: int = 0
    last_offset: int = 0
    offset_delta: int = 0
    timestamp: int = 0
    coordinator_epoch: int = 0
    current_txn_first_offset: int = 0

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProducerEntry, int]:
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, current_txn_first_offset = _qhiqiqiq.unpack_from(buf, pos)
        pos += 46
        return cls(producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, current_txn_first_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qhiqiqiq.pack(self.producer_id, self.epoch, self.last_sequence, self.last_offset, self.offset_delta, self.timestamp, self.coordinator_epoch, self.current_txn_first_offset)


@dataclass(slots=True)
class ProducerSnapshot:
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 32767

    crc: int = 0
    producer_entries: list[ProducerEntry] = field(default_factory=list)

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

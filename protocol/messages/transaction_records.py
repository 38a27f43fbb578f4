"""The messages of transaction-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_h = Struct(">h")
_ib = Struct(">ib")
_q = Struct(">q")
_qhib = Struct(">qhib")
_qq = Struct(">qq")


class TransactionLogKey(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("transactional_id",)

    def __init__(
        self,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TransactionLogKey, int]:
        transactional_id, pos = p.read_string(buf, pos)
        return cls(transactional_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.transactional_id)


class PartitionsSchema(Message):
    __slots__ = ("topic", "partition_ids")

    def __init__(
        self,
        topic: str = "",
        partition_ids: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is NEW else partition_ids

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionsSchema, int]:
        partition_ids: list[int]
        if version >= 1:
            topic, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partition_ids = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, partition_ids), pos
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partition_ids = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        return cls(topic, partition_ids), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.topic)
            out += p.uvarint(len(self.partition_ids) + 1)
            out += Struct(f">{len(self.partition_ids)}i").pack(*self.partition_ids)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partition_ids))
        out += Struct(f">{len(self.partition_ids)}i").pack(*self.partition_ids)


class TransactionLogValue(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("producer_id", "previous_producer_id", "next_producer_id", "producer_epoch", "next_producer_epoch", "transaction_timeout_ms", "transaction_status", "transaction_partitions", "transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms", "client_transaction_version")

    def __init__(
        self,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[PartitionsSchema] | None = NEW,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is NEW else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TransactionLogValue, int]:
        transaction_partitions: list[PartitionsSchema] | None
        if version >= 1:
            producer_id, producer_epoch, transaction_timeout_ms, transaction_status = _qhib.unpack_from(buf, pos)
            pos += 15
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                transaction_partitions = None
            else:
                transaction_partitions = []
                for _ in range(n):
                    item_transaction_partitions, pos = PartitionsSchema.read(buf, pos, version)
                    transaction_partitions.append(item_transaction_partitions)
            transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _qq.unpack_from(buf, pos)
            pos += 16
            previous_producer_id = -1
            next_producer_id = -1
            next_producer_epoch = -1
            client_transaction_version = 0
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    (previous_producer_id,) = _q.unpack_from(buf, pos)
                    pos += 8
                elif tag == 1:
                    (next_producer_id,) = _q.unpack_from(buf, pos)
                    pos += 8
                elif tag == 3:
                    (next_producer_epoch,) = _h.unpack_from(buf, pos)
                    pos += 2
                elif tag == 2:
                    (client_transaction_version,) = _h.unpack_from(buf, pos)
                    pos += 2
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(producer_id, previous_producer_id, next_producer_id, producer_epoch, next_producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, client_transaction_version), pos
        (producer_id,) = _q.unpack_from(buf, pos)
        pos += 8
        previous_producer_id = -1
        next_producer_id = -1
        (producer_epoch,) = _h.unpack_from(buf, pos)
        pos += 2
        next_producer_epoch = -1
        transaction_timeout_ms, transaction_status = _ib.unpack_from(buf, pos)
        pos += 5
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            transaction_partitions = None
        else:
            transaction_partitions = []
            for _ in range(n):
                item_transaction_partitions, pos = PartitionsSchema.read(buf, pos, version)
                transaction_partitions.append(item_transaction_partitions)
        transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _qq.unpack_from(buf, pos)
        pos += 16
        client_transaction_version = 0
        return cls(producer_id, previous_producer_id, next_producer_id, producer_epoch, next_producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, client_transaction_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 1:
            out += _qhib.pack(self.producer_id, self.producer_epoch, self.transaction_timeout_ms, self.transaction_status)
            if self.transaction_partitions is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.transaction_partitions) + 1)
                for item_transaction_partitions in self.transaction_partitions:
                    item_transaction_partitions.write(out, version)
            out += _qq.pack(self.transaction_last_update_timestamp_ms, self.transaction_start_timestamp_ms)
            tagged = []
            if self.previous_producer_id != -1:
                value = p.MessageBuffer()
                value += _q.pack(self.previous_producer_id)
                tagged.append((0, value))
            if self.next_producer_id != -1:
                value = p.MessageBuffer()
                value += _q.pack(self.next_producer_id)
                tagged.append((1, value))
            if self.client_transaction_version != 0:
                value = p.MessageBuffer()
                value += _h.pack(self.client_transaction_version)
                tagged.append((2, value))
            if self.next_producer_epoch != -1:
                value = p.MessageBuffer()
                value += _h.pack(self.next_producer_epoch)
                tagged.append((3, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _q.pack(self.producer_id)
        out += _h.pack(self.producer_epoch)
        out += _ib.pack(self.transaction_timeout_ms, self.transaction_status)
        if self.transaction_partitions is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.transaction_partitions))
            for item_transaction_partitions in self.transaction_partitions:
                item_transaction_partitions.write(out, version)
        out += _qq.pack(self.transaction_last_update_timestamp_ms, self.transaction_start_timestamp_ms)

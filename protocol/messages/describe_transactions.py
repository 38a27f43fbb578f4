"""DescribeTransactions (API key 65). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_h = Struct(">h")
_i = Struct(">i")
_iqqh = Struct(">iqqh")


@dataclass(slots=True)
class DescribeTransactionsRequest:
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    transactional_ids: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTransactionsRequest, int]:
        transactional_ids: list[str]
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        transactional_ids = []
        for _ in range(n):
            item_transactional_ids, pos = p.read_compact_string(buf, pos)
            transactional_ids.append(item_transactional_ids)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(transactional_ids), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.transactional_ids) + 1)
        for item_transactional_ids in self.transactional_ids:
            out += p.compact_string(item_transactional_ids)
        out += b"\0"


@dataclass(slots=True)
class TopicData:
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicData, int]:
        partitions: list[int]
        topic, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


@dataclass(slots=True)
class TransactionState:
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TransactionState, int]:
        topics: list[TopicData]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        transactional_id, pos = p.read_compact_string(buf, pos)
        transaction_state, pos = p.read_compact_string(buf, pos)
        transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch = _iqqh.unpack_from(buf, pos)
        pos += 22
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = TopicData.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        out += p.compact_string(self.transactional_id)
        out += p.compact_string(self.transaction_state)
        out += _iqqh.pack(self.transaction_timeout_ms, self.transaction_start_time_ms, self.producer_id, self.producer_epoch)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


@dataclass(slots=True)
class DescribeTransactionsResponse:
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeTransactionsResponse, int]:
        transaction_states: list[TransactionState]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 28)
        if n < 0:
            p.refuse_null_array()
        transaction_states = []
        for _ in range(n):
            item_transaction_states, pos = TransactionState.read(buf, pos, version)
            transaction_states.append(item_transaction_states)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, transaction_states), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.transaction_states) + 1)
        for item_transaction_states in self.transaction_states:
            item_transaction_states.write(out, version)
        out += b"\0"


REQUEST = DescribeTransactionsRequest
RESPONSE = DescribeTransactionsResponse

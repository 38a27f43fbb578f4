"""DescribeTransactions (API key 65). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_iqqh = Struct(">iqqh")


class DescribeTransactionsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("transactional_ids",)

    def __init__(
        self,
        transactional_ids: list[str] = NEW,
    ) -> None:
        self.transactional_ids = [] if transactional_ids is NEW else transactional_ids

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeTransactionsRequest]:
        transactional_ids: list[str]
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        transactional_ids = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_transactional_ids, pos = p.read_compact_string(buf, pos)
            transactional_ids.append(item_transactional_ids)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(transactional_ids), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.transactional_ids) + 1)
        for item_transactional_ids in self.transactional_ids:
            out += p.compact_string(item_transactional_ids)
        out += b"\0"


class TopicData(Message):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

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


class TransactionState(Message):
    __slots__ = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")

    def __init__(
        self,
        error_code: int = 0,
        transactional_id: str = "",
        transaction_state: str = "",
        transaction_timeout_ms: int = 0,
        transaction_start_time_ms: int = 0,
        producer_id: int = 0,
        producer_epoch: int = 0,
        topics: list[TopicData] = NEW,
    ) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is NEW else topics

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


class DescribeTransactionsResponse(Message):
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "transaction_states")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        transaction_states: list[TransactionState] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is NEW else transaction_states

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

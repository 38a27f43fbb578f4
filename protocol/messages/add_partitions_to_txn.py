"""AddPartitionsToTxn (API key 24). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")
_qh = Struct(">qh")
_qhT = Struct(">qh?")


class AddPartitionsToTxnTopic(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AddPartitionsToTxnTopic]:
        partitions: list[int]
        if version >= 3:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos, stop
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.name)
            out += p.uvarint(len(self.partitions) + 1)
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class AddPartitionsToTxnTransaction(SlicedMessage):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AddPartitionsToTxnTransaction]:
        topics: list[AddPartitionsToTxnTopic]
        if version >= 3:
            if version >= 4:
                transactional_id, pos = p.read_compact_string(buf, pos)
            else:
                transactional_id = ""
            if version >= 4:
                producer_id, producer_epoch, verify_only = _qhT.unpack_from(buf, pos)
                pos += 11
            else:
                producer_id = 0
                producer_epoch = 0
                verify_only = False
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                topics = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topics, pos, stop = yield from AddPartitionsToTxnTopic.read_steps(buf, pos, version, stop)
                    topics.append(item_topics)
            else:
                topics = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, producer_id, producer_epoch, verify_only, topics), pos, stop
        transactional_id = ""
        producer_id = 0
        producer_epoch = 0
        verify_only = False
        topics = []
        return cls(transactional_id, producer_id, producer_epoch, verify_only, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version >= 4:
                out += p.compact_string(self.transactional_id)
            if version >= 4:
                out += _qhT.pack(self.producer_id, self.producer_epoch, self.verify_only)
            if version >= 4:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            out += b"\0"
            return
        return


class AddPartitionsToTxnRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("transactions", "v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics")

    def __init__(
        self,
        transactions: list[AddPartitionsToTxnTransaction] = NEW,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = NEW,
    ) -> None:
        self.transactions = [] if transactions is NEW else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is NEW else v3_and_below_topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AddPartitionsToTxnRequest]:
        transactions: list[AddPartitionsToTxnTransaction]
        v3_and_below_topics: list[AddPartitionsToTxnTopic]
        if version >= 3:
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 14)
                if n < 0:
                    p.refuse_null_array()
                transactions = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_transactions, pos, stop = yield from AddPartitionsToTxnTransaction.read_steps(buf, pos, version, stop)
                    transactions.append(item_transactions)
            else:
                transactions = []
            if version == 3:
                v3_and_below_transactional_id, pos = p.read_compact_string(buf, pos)
            else:
                v3_and_below_transactional_id = ""
            if version == 3:
                v3_and_below_producer_id, v3_and_below_producer_epoch = _qh.unpack_from(buf, pos)
                pos += 10
            else:
                v3_and_below_producer_id = 0
                v3_and_below_producer_epoch = 0
            if version == 3:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                v3_and_below_topics = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_v3_and_below_topics, pos, stop = yield from AddPartitionsToTxnTopic.read_steps(buf, pos, version, stop)
                    v3_and_below_topics.append(item_v3_and_below_topics)
            else:
                v3_and_below_topics = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactions, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics), pos, stop
        transactions = []
        v3_and_below_transactional_id, pos = p.read_string(buf, pos)
        v3_and_below_producer_id, v3_and_below_producer_epoch = _qh.unpack_from(buf, pos)
        pos += 10
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        v3_and_below_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_v3_and_below_topics, pos, stop = yield from AddPartitionsToTxnTopic.read_steps(buf, pos, version, stop)
            v3_and_below_topics.append(item_v3_and_below_topics)
        return cls(transactions, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version >= 4:
                out += p.uvarint(len(self.transactions) + 1)
                for item_transactions in self.transactions:
                    item_transactions.write(out, version)
            if version == 3:
                out += p.compact_string(self.v3_and_below_transactional_id)
            if version == 3:
                out += _qh.pack(self.v3_and_below_producer_id, self.v3_and_below_producer_epoch)
            if version == 3:
                out += p.uvarint(len(self.v3_and_below_topics) + 1)
                for item_v3_and_below_topics in self.v3_and_below_topics:
                    item_v3_and_below_topics.write(out, version)
            out += b"\0"
            return
        out += p.string(self.v3_and_below_transactional_id)
        out += _qh.pack(self.v3_and_below_producer_id, self.v3_and_below_producer_epoch)
        out += p.array_length(len(self.v3_and_below_topics))
        for item_v3_and_below_topics in self.v3_and_below_topics:
            item_v3_and_below_topics.write(out, version)


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = ("partition_index", "partition_error_code")

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
        if version >= 3:
            partition_index, partition_error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, partition_error_code), pos
        partition_index, partition_error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(partition_index, partition_error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _ih.pack(self.partition_index, self.partition_error_code)
            out += b"\0"
            return
        out += _ih.pack(self.partition_index, self.partition_error_code)


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = ("name", "results_by_partition")

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is NEW else results_by_partition

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
        results_by_partition: list[AddPartitionsToTxnPartitionResult]
        if version >= 3:
            name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            results_by_partition = []
            for _ in range(n):
                item_results_by_partition, pos = AddPartitionsToTxnPartitionResult.read(buf, pos, version)
                results_by_partition.append(item_results_by_partition)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, results_by_partition), pos
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        results_by_partition = []
        for _ in range(n):
            item_results_by_partition, pos = AddPartitionsToTxnPartitionResult.read(buf, pos, version)
            results_by_partition.append(item_results_by_partition)
        return cls(name, results_by_partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.name)
            out += p.uvarint(len(self.results_by_partition) + 1)
            for item_results_by_partition in self.results_by_partition:
                item_results_by_partition.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.results_by_partition))
        for item_results_by_partition in self.results_by_partition:
            item_results_by_partition.write(out, version)


class AddPartitionsToTxnResult(Message):
    __slots__ = ("transactional_id", "topic_results")

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is NEW else topic_results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddPartitionsToTxnResult, int]:
        topic_results: list[AddPartitionsToTxnTopicResult]
        if version >= 3:
            if version >= 4:
                transactional_id, pos = p.read_compact_string(buf, pos)
            else:
                transactional_id = ""
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                topic_results = []
                for _ in range(n):
                    item_topic_results, pos = AddPartitionsToTxnTopicResult.read(buf, pos, version)
                    topic_results.append(item_topic_results)
            else:
                topic_results = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, topic_results), pos
        transactional_id = ""
        topic_results = []
        return cls(transactional_id, topic_results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version >= 4:
                out += p.compact_string(self.transactional_id)
            if version >= 4:
                out += p.uvarint(len(self.topic_results) + 1)
                for item_topic_results in self.topic_results:
                    item_topic_results.write(out, version)
            out += b"\0"
            return
        return


class AddPartitionsToTxnResponse(Message):
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = NEW,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is NEW else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is NEW else results_by_topic_v3_and_below

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AddPartitionsToTxnResponse, int]:
        results_by_transaction: list[AddPartitionsToTxnResult]
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]
        if version >= 3:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if version >= 4:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                results_by_transaction = []
                for _ in range(n):
                    item_results_by_transaction, pos = AddPartitionsToTxnResult.read(buf, pos, version)
                    results_by_transaction.append(item_results_by_transaction)
            else:
                results_by_transaction = []
            if version == 3:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                results_by_topic_v3_and_below = []
                for _ in range(n):
                    item_results_by_topic_v3_and_below, pos = AddPartitionsToTxnTopicResult.read(buf, pos, version)
                    results_by_topic_v3_and_below.append(item_results_by_topic_v3_and_below)
            else:
                results_by_topic_v3_and_below = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        error_code = 0
        results_by_transaction = []
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        results_by_topic_v3_and_below = []
        for _ in range(n):
            item_results_by_topic_v3_and_below, pos = AddPartitionsToTxnTopicResult.read(buf, pos, version)
            results_by_topic_v3_and_below.append(item_results_by_topic_v3_and_below)
        return cls(throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _i.pack(self.throttle_time_ms)
            if version >= 4:
                out += _h.pack(self.error_code)
            if version >= 4:
                out += p.uvarint(len(self.results_by_transaction) + 1)
                for item_results_by_transaction in self.results_by_transaction:
                    item_results_by_transaction.write(out, version)
            if version == 3:
                out += p.uvarint(len(self.results_by_topic_v3_and_below) + 1)
                for item_results_by_topic_v3_and_below in self.results_by_topic_v3_and_below:
                    item_results_by_topic_v3_and_below.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.results_by_topic_v3_and_below))
        for item_results_by_topic_v3_and_below in self.results_by_topic_v3_and_below:
            item_results_by_topic_v3_and_below.write(out, version)


REQUEST = AddPartitionsToTxnRequest
RESPONSE = AddPartitionsToTxnResponse

"""AlterPartition (API key 56). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_bi = Struct(">bi")
_ih = Struct(">ih")
_ihii = Struct(">ihii")
_ii = Struct(">ii")
_iq = Struct(">iq")


class BrokerState(Message):
    __slots__ = ("broker_id", "broker_epoch")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerState, int]:
        if version == 3:
            broker_id, broker_epoch = _iq.unpack_from(buf, pos)
            pos += 12
        else:
            broker_id = 0
            broker_epoch = -1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 3:
            out += _iq.pack(self.broker_id, self.broker_epoch)
        out += b"\0"


class AlterPartitionRequestPartitionData(SlicedMessage):
    __slots__ = ("partition_index", "leader_epoch", "new_isr", "new_isr_with_epochs", "leader_recovery_state", "partition_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: list[int] = NEW,
        new_isr_with_epochs: list[BrokerState] = NEW,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is NEW else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is NEW else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterPartitionRequestPartitionData]:
        new_isr: list[int]
        new_isr_with_epochs: list[BrokerState]
        partition_index, leader_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        if version == 2:
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            new_isr, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        else:
            new_isr = []
        if version == 3:
            n, pos = p.read_compact_array_length(buf, pos, 13)
            if n < 0:
                p.refuse_null_array()
            new_isr_with_epochs = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_new_isr_with_epochs, pos = BrokerState.read(buf, pos, version)
                new_isr_with_epochs.append(item_new_isr_with_epochs)
        else:
            new_isr_with_epochs = []
        leader_recovery_state, partition_epoch = _bi.unpack_from(buf, pos)
        pos += 5
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, leader_epoch, new_isr, new_isr_with_epochs, leader_recovery_state, partition_epoch), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ii.pack(self.partition_index, self.leader_epoch)
        if version == 2:
            out += p.uvarint(len(self.new_isr) + 1)
            out += Struct(f">{len(self.new_isr)}i").pack(*self.new_isr)
        if version == 3:
            out += p.uvarint(len(self.new_isr_with_epochs) + 1)
            for item_new_isr_with_epochs in self.new_isr_with_epochs:
                item_new_isr_with_epochs.write(out, version)
        out += _bi.pack(self.leader_recovery_state, self.partition_epoch)
        out += b"\0"


class AlterPartitionRequestTopicData(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[AlterPartitionRequestPartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterPartitionRequestTopicData]:
        partitions: list[AlterPartitionRequestPartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos, stop = yield from AlterPartitionRequestPartitionData.read_steps(buf, pos, version, stop)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class AlterPartitionRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("broker_id", "broker_epoch", "topics")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: list[AlterPartitionRequestTopicData] = NEW,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterPartitionRequest]:
        topics: list[AlterPartitionRequestTopicData]
        broker_id, broker_epoch = _iq.unpack_from(buf, pos)
        pos += 12
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from AlterPartitionRequestTopicData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(broker_id, broker_epoch, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iq.pack(self.broker_id, self.broker_epoch)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class AlterPartitionResponsePartitionData(Message):
    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "isr", "leader_recovery_state", "partition_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: list[int] = NEW,
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is NEW else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterPartitionResponsePartitionData, int]:
        isr: list[int]
        partition_index, error_code, leader_id, leader_epoch = _ihii.unpack_from(buf, pos)
        pos += 14
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        isr = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        leader_recovery_state, partition_epoch = _bi.unpack_from(buf, pos)
        pos += 5
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, leader_id, leader_epoch, isr, leader_recovery_state, partition_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihii.pack(self.partition_index, self.error_code, self.leader_id, self.leader_epoch)
        out += p.uvarint(len(self.isr) + 1)
        out += Struct(f">{len(self.isr)}i").pack(*self.isr)
        out += _bi.pack(self.leader_recovery_state, self.partition_epoch)
        out += b"\0"


class AlterPartitionResponseTopicData(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[AlterPartitionResponsePartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterPartitionResponseTopicData, int]:
        partitions: list[AlterPartitionResponsePartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 21)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = AlterPartitionResponsePartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class AlterPartitionResponse(Message):
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("throttle_time_ms", "error_code", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[AlterPartitionResponseTopicData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterPartitionResponse, int]:
        topics: list[AlterPartitionResponseTopicData]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = AlterPartitionResponseTopicData.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


REQUEST = AlterPartitionRequest
RESPONSE = AlterPartitionResponse

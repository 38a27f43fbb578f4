"""OffsetForLeaderEpoch (API key 23). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_hiiq = Struct(">hiiq")
_i = Struct(">i")
_iii = Struct(">iii")


class OffsetForLeaderPartition(Message):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetForLeaderPartition, int]:
        if version >= 4:
            partition, current_leader_epoch, leader_epoch = _iii.unpack_from(buf, pos)
            pos += 12
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition, current_leader_epoch, leader_epoch), pos
        partition, current_leader_epoch, leader_epoch = _iii.unpack_from(buf, pos)
        pos += 12
        return cls(partition, current_leader_epoch, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _iii.pack(self.partition, self.current_leader_epoch, self.leader_epoch)
            out += b"\0"
            return
        out += _iii.pack(self.partition, self.current_leader_epoch, self.leader_epoch)


class OffsetForLeaderTopic(SlicedMessage):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetForLeaderTopic]:
        partitions: list[OffsetForLeaderPartition]
        if version >= 4:
            topic, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 13)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos = OffsetForLeaderPartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, partitions), pos, stop
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 12)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = OffsetForLeaderPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.topic)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetForLeaderEpochRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("replica_id", "topics")

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = NEW,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetForLeaderEpochRequest]:
        topics: list[OffsetForLeaderTopic]
        if version >= 4:
            (replica_id,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from OffsetForLeaderTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(replica_id, topics), pos, stop
        if version == 3:
            (replica_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            replica_id = -2
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from OffsetForLeaderTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        return cls(replica_id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _i.pack(self.replica_id)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        if version == 3:
            out += _i.pack(self.replica_id)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class EpochEndOffset(Message):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EpochEndOffset, int]:
        if version >= 4:
            error_code, partition, leader_epoch, end_offset = _hiiq.unpack_from(buf, pos)
            pos += 18
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, partition, leader_epoch, end_offset), pos
        error_code, partition, leader_epoch, end_offset = _hiiq.unpack_from(buf, pos)
        pos += 18
        return cls(error_code, partition, leader_epoch, end_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _hiiq.pack(self.error_code, self.partition, self.leader_epoch, self.end_offset)
            out += b"\0"
            return
        out += _hiiq.pack(self.error_code, self.partition, self.leader_epoch, self.end_offset)


class OffsetForLeaderTopicResult(Message):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetForLeaderTopicResult, int]:
        partitions: list[EpochEndOffset]
        if version >= 4:
            topic, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 19)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = EpochEndOffset.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, partitions), pos
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = EpochEndOffset.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.topic)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetForLeaderEpochResponse(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetForLeaderEpochResponse, int]:
        topics: list[OffsetForLeaderTopicResult]
        if version >= 4:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = OffsetForLeaderTopicResult.read(buf, pos, version)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = OffsetForLeaderTopicResult.read(buf, pos, version)
            topics.append(item_topics)
        return cls(throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = OffsetForLeaderEpochRequest
RESPONSE = OffsetForLeaderEpochResponse

"""OffsetCommit (API key 8). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")
_iq = Struct(">iq")
_iqi = Struct(">iqi")
_q = Struct(">q")


class OffsetCommitRequestPartition(Message):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitRequestPartition, int]:
        committed_metadata: str | None
        if version >= 8:
            partition_index, committed_offset, committed_leader_epoch = _iqi.unpack_from(buf, pos)
            pos += 16
            committed_metadata, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos
        partition_index, committed_offset = _iq.unpack_from(buf, pos)
        pos += 12
        if version >= 6:
            (committed_leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            committed_leader_epoch = -1
        committed_metadata, pos = p.read_nullable_string(buf, pos)
        return cls(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            out += _iqi.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
            out += p.compact_nullable_string(self.committed_metadata)
            out += b"\0"
            return
        out += _iq.pack(self.partition_index, self.committed_offset)
        if version >= 6:
            out += _i.pack(self.committed_leader_epoch)
        out += p.nullable_string(self.committed_metadata)


class OffsetCommitRequestTopic(SlicedMessage):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[OffsetCommitRequestPartition] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetCommitRequestTopic]:
        partitions: list[OffsetCommitRequestPartition]
        if version >= 8:
            if version <= 9:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 18)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos = OffsetCommitRequestPartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partitions), pos, stop
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = OffsetCommitRequestPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            if version <= 9:
                out += p.compact_string(self.name)
            if version == 10:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetCommitRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8

    __slots__ = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequestTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetCommitRequest]:
        group_instance_id: str | None
        topics: list[OffsetCommitRequestTopic]
        if version >= 8:
            group_id, pos = p.read_compact_string(buf, pos)
            (generation_id_or_member_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
            member_id, pos = p.read_compact_string(buf, pos)
            group_instance_id, pos = p.read_compact_nullable_string(buf, pos)
            retention_time_ms = -1
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from OffsetCommitRequestTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, generation_id_or_member_epoch, member_id, group_instance_id, retention_time_ms, topics), pos, stop
        group_id, pos = p.read_string(buf, pos)
        (generation_id_or_member_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        member_id, pos = p.read_string(buf, pos)
        if version == 7:
            group_instance_id, pos = p.read_nullable_string(buf, pos)
        else:
            group_instance_id = None
        if version <= 4:
            (retention_time_ms,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            retention_time_ms = -1
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from OffsetCommitRequestTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        return cls(group_id, generation_id_or_member_epoch, member_id, group_instance_id, retention_time_ms, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            out += p.compact_string(self.group_id)
            out += _i.pack(self.generation_id_or_member_epoch)
            out += p.compact_string(self.member_id)
            out += p.compact_nullable_string(self.group_instance_id)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += _i.pack(self.generation_id_or_member_epoch)
        out += p.string(self.member_id)
        if version == 7:
            out += p.nullable_string(self.group_instance_id)
        if version <= 4:
            out += _q.pack(self.retention_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class OffsetCommitResponsePartition(Message):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitResponsePartition, int]:
        if version >= 8:
            partition_index, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, error_code), pos
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            out += _ih.pack(self.partition_index, self.error_code)
            out += b"\0"
            return
        out += _ih.pack(self.partition_index, self.error_code)


class OffsetCommitResponseTopic(Message):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitResponseTopic, int]:
        partitions: list[OffsetCommitResponsePartition]
        if version >= 8:
            if version <= 9:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = OffsetCommitResponsePartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partitions), pos
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = OffsetCommitResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            if version <= 9:
                out += p.compact_string(self.name)
            if version == 10:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetCommitResponse(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetCommitResponse, int]:
        topics: list[OffsetCommitResponseTopic]
        if version >= 8:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = OffsetCommitResponseTopic.read(buf, pos, version)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics), pos
        if version >= 3:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = OffsetCommitResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        return cls(throttle_time_ms, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 8:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += b"\0"
            return
        if version >= 3:
            out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = OffsetCommitRequest
RESPONSE = OffsetCommitResponse

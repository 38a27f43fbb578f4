"""OffsetFetch (API key 9). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_T = Struct(">?")
_h = Struct(">h")
_i = Struct(">i")
_iq = Struct(">iq")
_iqi = Struct(">iqi")


class OffsetFetchRequestTopic(SlicedMessage):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetFetchRequestTopic]:
        partition_indexes: list[int]
        if version >= 6:
            if version <= 7:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version <= 7:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    p.refuse_null_array()
                partition_indexes, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            else:
                partition_indexes = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partition_indexes), pos, stop
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partition_indexes, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(name, partition_indexes), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version <= 7:
                out += p.compact_string(self.name)
            if version <= 7:
                out += p.uvarint(len(self.partition_indexes) + 1)
                out += Struct(f">{len(self.partition_indexes)}i").pack(*self.partition_indexes)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partition_indexes))
        out += Struct(f">{len(self.partition_indexes)}i").pack(*self.partition_indexes)


class OffsetFetchRequestTopics(SlicedMessage):
    __slots__ = ("name", "topic_id", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetFetchRequestTopics]:
        partition_indexes: list[int]
        if version >= 6:
            if 8 <= version <= 9:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 4)
                if n < 0:
                    p.refuse_null_array()
                partition_indexes, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            else:
                partition_indexes = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partition_indexes), pos, stop
        name = ""
        topic_id = p.ZERO_UUID
        partition_indexes = []
        return cls(name, topic_id, partition_indexes), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if 8 <= version <= 9:
                out += p.compact_string(self.name)
            if version == 10:
                out += _U.pack(self.topic_id)
            if version >= 8:
                out += p.uvarint(len(self.partition_indexes) + 1)
                out += Struct(f">{len(self.partition_indexes)}i").pack(*self.partition_indexes)
            out += b"\0"
            return
        return


class OffsetFetchRequestGroup(SlicedMessage):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetFetchRequestGroup]:
        member_id: str | None
        topics: list[OffsetFetchRequestTopics] | None
        if version >= 6:
            if version >= 8:
                group_id, pos = p.read_compact_string(buf, pos)
            else:
                group_id = ""
            if version >= 9:
                member_id, pos = p.read_compact_nullable_string(buf, pos)
            else:
                member_id = None
            if version >= 9:
                (member_epoch,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                member_epoch = -1
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 2)
                if n < 0:
                    topics = None
                else:
                    topics = []
                    for _ in range(n):
                        if pos > stop:
                            yield
                            stop = pos + p.SLICE_BYTES
                        item_topics, pos, stop = yield from OffsetFetchRequestTopics.read_steps(buf, pos, version, stop)
                        topics.append(item_topics)
            else:
                topics = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, member_id, member_epoch, topics), pos, stop
        group_id = ""
        member_id = None
        member_epoch = -1
        topics = []
        return cls(group_id, member_id, member_epoch, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version >= 8:
                out += p.compact_string(self.group_id)
            if version >= 9:
                out += p.compact_nullable_string(self.member_id)
            if version >= 9:
                out += _i.pack(self.member_epoch)
            if version >= 8:
                if self.topics is None:
                    out += b"\0"
                else:
                    out += p.uvarint(len(self.topics) + 1)
                    for item_topics in self.topics:
                        item_topics.write(out, version)
            out += b"\0"
            return
        return


class OffsetFetchRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("group_id", "topics", "groups", "require_stable")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = NEW,
        groups: list[OffsetFetchRequestGroup] = NEW,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.groups = [] if groups is NEW else groups
        self.require_stable = require_stable

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[OffsetFetchRequest]:
        topics: list[OffsetFetchRequestTopic] | None
        groups: list[OffsetFetchRequestGroup]
        if version >= 6:
            if version <= 7:
                group_id, pos = p.read_compact_string(buf, pos)
            else:
                group_id = ""
            if version <= 7:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    topics = None
                else:
                    topics = []
                    for _ in range(n):
                        if pos > stop:
                            yield
                            stop = pos + p.SLICE_BYTES
                        item_topics, pos, stop = yield from OffsetFetchRequestTopic.read_steps(buf, pos, version, stop)
                        topics.append(item_topics)
            else:
                topics = []
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                groups = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_groups, pos, stop = yield from OffsetFetchRequestGroup.read_steps(buf, pos, version, stop)
                    groups.append(item_groups)
            else:
                groups = []
            if version >= 7:
                (require_stable,) = _T.unpack_from(buf, pos)
                pos += 1
            else:
                require_stable = False
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, topics, groups, require_stable), pos, stop
        group_id, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0 and not (version >= 2):
            p.refuse_null_array()
        if n < 0:
            topics = None
        else:
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from OffsetFetchRequestTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
        groups = []
        require_stable = False
        return cls(group_id, topics, groups, require_stable), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version <= 7:
                out += p.compact_string(self.group_id)
            if version <= 7:
                if self.topics is None:
                    out += b"\0"
                else:
                    out += p.uvarint(len(self.topics) + 1)
                    for item_topics in self.topics:
                        item_topics.write(out, version)
            if version >= 8:
                out += p.uvarint(len(self.groups) + 1)
                for item_groups in self.groups:
                    item_groups.write(out, version)
            if version >= 7:
                out += _T.pack(self.require_stable)
            out += b"\0"
            return
        out += p.string(self.group_id)
        if self.topics is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.topics))
            for item_topics in self.topics:
                item_topics.write(out, version)


class OffsetFetchResponsePartition(Message):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponsePartition, int]:
        metadata: str | None
        if version >= 6:
            if version <= 7:
                partition_index, committed_offset, committed_leader_epoch = _iqi.unpack_from(buf, pos)
                pos += 16
            else:
                partition_index = 0
                committed_offset = 0
                committed_leader_epoch = -1
            if version <= 7:
                metadata, pos = p.read_compact_nullable_string(buf, pos)
            else:
                metadata = ""
            if version <= 7:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos
        partition_index, committed_offset = _iq.unpack_from(buf, pos)
        pos += 12
        if version == 5:
            (committed_leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            committed_leader_epoch = -1
        metadata, pos = p.read_nullable_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        return cls(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version <= 7:
                out += _iqi.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
            if version <= 7:
                out += p.compact_nullable_string(self.metadata)
            if version <= 7:
                out += _h.pack(self.error_code)
            out += b"\0"
            return
        out += _iq.pack(self.partition_index, self.committed_offset)
        if version == 5:
            out += _i.pack(self.committed_leader_epoch)
        out += p.nullable_string(self.metadata)
        out += _h.pack(self.error_code)


class OffsetFetchResponseTopic(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponseTopic, int]:
        partitions: list[OffsetFetchResponsePartition]
        if version >= 6:
            if version <= 7:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version <= 7:
                n, pos = p.read_compact_array_length(buf, pos, 20)
                if n < 0:
                    p.refuse_null_array()
                partitions = []
                for _ in range(n):
                    item_partitions, pos = OffsetFetchResponsePartition.read(buf, pos, version)
                    partitions.append(item_partitions)
            else:
                partitions = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, partitions), pos
        name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 16)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = OffsetFetchResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version <= 7:
                out += p.compact_string(self.name)
            if version <= 7:
                out += p.uvarint(len(self.partitions) + 1)
                for item_partitions in self.partitions:
                    item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class OffsetFetchResponsePartitions(Message):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponsePartitions, int]:
        metadata: str | None
        if version >= 6:
            if version >= 8:
                partition_index, committed_offset, committed_leader_epoch = _iqi.unpack_from(buf, pos)
                pos += 16
            else:
                partition_index = 0
                committed_offset = 0
                committed_leader_epoch = -1
            if version >= 8:
                metadata, pos = p.read_compact_nullable_string(buf, pos)
            else:
                metadata = ""
            if version >= 8:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos
        partition_index = 0
        committed_offset = 0
        committed_leader_epoch = -1
        metadata = ""
        error_code = 0
        return cls(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version >= 8:
                out += _iqi.pack(self.partition_index, self.committed_offset, self.committed_leader_epoch)
            if version >= 8:
                out += p.compact_nullable_string(self.metadata)
            if version >= 8:
                out += _h.pack(self.error_code)
            out += b"\0"
            return
        return


class OffsetFetchResponseTopics(Message):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponseTopics, int]:
        partitions: list[OffsetFetchResponsePartitions]
        if version >= 6:
            if 8 <= version <= 9:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 20)
                if n < 0:
                    p.refuse_null_array()
                partitions = []
                for _ in range(n):
                    item_partitions, pos = OffsetFetchResponsePartitions.read(buf, pos, version)
                    partitions.append(item_partitions)
            else:
                partitions = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partitions), pos
        name = ""
        topic_id = p.ZERO_UUID
        partitions = []
        return cls(name, topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if 8 <= version <= 9:
                out += p.compact_string(self.name)
            if version == 10:
                out += _U.pack(self.topic_id)
            if version >= 8:
                out += p.uvarint(len(self.partitions) + 1)
                for item_partitions in self.partitions:
                    item_partitions.write(out, version)
            out += b"\0"
            return
        return


class OffsetFetchResponseGroup(Message):
    __slots__ = ("group_id", "topics", "error_code")

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = NEW,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponseGroup, int]:
        topics: list[OffsetFetchResponseTopics]
        if version >= 6:
            if version >= 8:
                group_id, pos = p.read_compact_string(buf, pos)
            else:
                group_id = ""
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 2)
                if n < 0:
                    p.refuse_null_array()
                topics = []
                for _ in range(n):
                    item_topics, pos = OffsetFetchResponseTopics.read(buf, pos, version)
                    topics.append(item_topics)
            else:
                topics = []
            if version >= 8:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, topics, error_code), pos
        group_id = ""
        topics = []
        error_code = 0
        return cls(group_id, topics, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            if version >= 8:
                out += p.compact_string(self.group_id)
            if version >= 8:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            if version >= 8:
                out += _h.pack(self.error_code)
            out += b"\0"
            return
        return


class OffsetFetchResponse(Message):
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = NEW,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics
        self.error_code = error_code
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OffsetFetchResponse, int]:
        topics: list[OffsetFetchResponseTopic]
        groups: list[OffsetFetchResponseGroup]
        if version >= 6:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if version <= 7:
                n, pos = p.read_compact_array_length(buf, pos, 3)
                if n < 0:
                    p.refuse_null_array()
                topics = []
                for _ in range(n):
                    item_topics, pos = OffsetFetchResponseTopic.read(buf, pos, version)
                    topics.append(item_topics)
            else:
                topics = []
            if version <= 7:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if version >= 8:
                n, pos = p.read_compact_array_length(buf, pos, 5)
                if n < 0:
                    p.refuse_null_array()
                groups = []
                for _ in range(n):
                    item_groups, pos = OffsetFetchResponseGroup.read(buf, pos, version)
                    groups.append(item_groups)
            else:
                groups = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics, error_code, groups), pos
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
            item_topics, pos = OffsetFetchResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
        else:
            error_code = 0
        groups = []
        return cls(throttle_time_ms, topics, error_code, groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 6:
            out += _i.pack(self.throttle_time_ms)
            if version <= 7:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            if version <= 7:
                out += _h.pack(self.error_code)
            if version >= 8:
                out += p.uvarint(len(self.groups) + 1)
                for item_groups in self.groups:
                    item_groups.write(out, version)
            out += b"\0"
            return
        if version >= 3:
            out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        if version >= 2:
            out += _h.pack(self.error_code)


REQUEST = OffsetFetchRequest
RESPONSE = OffsetFetchResponse

"""FetchSnapshot (API key 59). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_H = Struct(">H")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_q = Struct(">q")
_qi = Struct(">qi")
_qq = Struct(">qq")


class FetchSnapshotRequestSnapshotId(Message):
    __slots__ = ("end_offset", "epoch")

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotRequestSnapshotId, int]:
        end_offset, epoch = _qi.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(end_offset, epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qi.pack(self.end_offset, self.epoch)
        out += b"\0"


class FetchSnapshotRequestPartitionSnapshot(Message):
    __slots__ = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: FetchSnapshotRequestSnapshotId = NEW,
        position: int = 0,
        replica_directory_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = FetchSnapshotRequestSnapshotId() if snapshot_id is NEW else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotRequestPartitionSnapshot, int]:
        partition, current_leader_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        snapshot_id, pos = FetchSnapshotRequestSnapshotId.read(buf, pos, version)
        (position,) = _q.unpack_from(buf, pos)
        pos += 8
        replica_directory_id = p.ZERO_UUID
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0 and version == 1:
                (replica_directory_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(partition, current_leader_epoch, snapshot_id, position, replica_directory_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _ii.pack(self.partition, self.current_leader_epoch)
        self.snapshot_id.write(out, version)
        out += _q.pack(self.position)
        tagged = []
        if version == 1 and self.replica_directory_id != p.ZERO_UUID:
            value = p.MessageBuffer()
            value += _U.pack(self.replica_directory_id)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class FetchSnapshotRequestTopicSnapshot(SlicedMessage):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotRequestPartitionSnapshot] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchSnapshotRequestTopicSnapshot]:
        partitions: list[FetchSnapshotRequestPartitionSnapshot]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 30)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = FetchSnapshotRequestPartitionSnapshot.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class FetchSnapshotRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[FetchSnapshotRequestTopicSnapshot] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchSnapshotRequest]:
        cluster_id: str | None
        topics: list[FetchSnapshotRequestTopicSnapshot]
        replica_id, max_bytes = _ii.unpack_from(buf, pos)
        pos += 8
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from FetchSnapshotRequestTopicSnapshot.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        cluster_id = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = p.read_compact_nullable_string(buf, pos)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(cluster_id, replica_id, max_bytes, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _ii.pack(self.replica_id, self.max_bytes)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        tagged = []
        if self.cluster_id is not None:
            value = p.MessageBuffer()
            value += p.compact_nullable_string(self.cluster_id)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class FetchSnapshotResponseSnapshotId(Message):
    __slots__ = ("end_offset", "epoch")

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotResponseSnapshotId, int]:
        end_offset, epoch = _qi.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(end_offset, epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qi.pack(self.end_offset, self.epoch)
        out += b"\0"


class LeaderIdAndEpoch(Message):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderIdAndEpoch, int]:
        leader_id, leader_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(leader_id, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ii.pack(self.leader_id, self.leader_epoch)
        out += b"\0"


class FetchSnapshotResponsePartitionSnapshot(Message):
    __slots__ = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: FetchSnapshotResponseSnapshotId = NEW,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: p.Records = b"",
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = FetchSnapshotResponseSnapshotId() if snapshot_id is NEW else snapshot_id
        self.current_leader = current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotResponsePartitionSnapshot, int]:
        current_leader: LeaderIdAndEpoch | None
        index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        snapshot_id, pos = FetchSnapshotResponseSnapshotId.read(buf, pos, version)
        size_, position = _qq.unpack_from(buf, pos)
        pos += 16
        unaligned_records, pos = p.read_compact_records(buf, pos)
        current_leader = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                current_leader, pos = LeaderIdAndEpoch.read(buf, pos, version)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(index, error_code, snapshot_id, current_leader, size_, position, unaligned_records), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _ih.pack(self.index, self.error_code)
        self.snapshot_id.write(out, version)
        out += _qq.pack(self.size, self.position)
        p.write_compact_records(out, self.unaligned_records)
        tagged = []
        if self.current_leader is not None and self.current_leader != LeaderIdAndEpoch():
            value = p.MessageBuffer()
            assert self.current_leader is not None
            self.current_leader.write(value, version)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class FetchSnapshotResponseTopicSnapshot(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[FetchSnapshotResponsePartitionSnapshot] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotResponseTopicSnapshot, int]:
        partitions: list[FetchSnapshotResponsePartitionSnapshot]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 37)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = FetchSnapshotResponsePartitionSnapshot.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class NodeEndpoint(Message):
    __slots__ = ("node_id", "host", "port")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[NodeEndpoint, int]:
        if version == 1:
            (node_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            node_id = 0
        if version == 1:
            host, pos = p.read_compact_string(buf, pos)
        else:
            host = ""
        if version == 1:
            (port,) = _H.unpack_from(buf, pos)
            pos += 2
        else:
            port = 0
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(node_id, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            out += _i.pack(self.node_id)
        if version == 1:
            out += p.compact_string(self.host)
        if version == 1:
            out += _H.pack(self.port)
        out += b"\0"


class FetchSnapshotResponse(Message):
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "topics", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[FetchSnapshotResponseTopicSnapshot] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchSnapshotResponse, int]:
        topics: list[FetchSnapshotResponseTopicSnapshot]
        node_endpoints: list[NodeEndpoint]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = FetchSnapshotResponseTopicSnapshot.read(buf, pos, version)
            topics.append(item_topics)
        node_endpoints = []
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0 and version == 1:
                n, pos = p.read_compact_array_length(buf, pos, 8)
                if n < 0:
                    p.refuse_null_array()
                node_endpoints = []
                for _ in range(n):
                    item_node_endpoints, pos = NodeEndpoint.read(buf, pos, version)
                    node_endpoints.append(item_node_endpoints)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(throttle_time_ms, error_code, topics, node_endpoints), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        tagged = []
        if version == 1 and self.node_endpoints:
            value = p.MessageBuffer()
            value += p.uvarint(len(self.node_endpoints) + 1)
            for item_node_endpoints in self.node_endpoints:
                item_node_endpoints.write(value, version)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


REQUEST = FetchSnapshotRequest
RESPONSE = FetchSnapshotResponse

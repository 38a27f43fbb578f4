"""EndQuorumEpoch (API key 54). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_H = Struct(">H")
_h = Struct(">h")
_i = Struct(">i")
_iU = Struct(">i16s")
_ihii = Struct(">ihii")
_iii = Struct(">iii")


class ReplicaInfo(Message):
    __slots__ = ("candidate_id", "candidate_directory_id")

    def __init__(
        self,
        candidate_id: int = 0,
        candidate_directory_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReplicaInfo, int]:
        if version >= 1:
            candidate_id, candidate_directory_id = _iU.unpack_from(buf, pos)
            pos += 20
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(candidate_id, candidate_directory_id), pos
        candidate_id = 0
        candidate_directory_id = p.ZERO_UUID
        return cls(candidate_id, candidate_directory_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _iU.pack(self.candidate_id, self.candidate_directory_id)
            out += b"\0"
            return
        return


class EndQuorumEpochRequestPartitionData(SlicedMessage):
    __slots__ = ("partition_index", "leader_id", "leader_epoch", "preferred_successors", "preferred_candidates")

    def __init__(
        self,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = NEW,
        preferred_candidates: list[ReplicaInfo] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = [] if preferred_successors is NEW else preferred_successors
        self.preferred_candidates = [] if preferred_candidates is NEW else preferred_candidates

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[EndQuorumEpochRequestPartitionData]:
        preferred_successors: list[int]
        preferred_candidates: list[ReplicaInfo]
        if version >= 1:
            partition_index, leader_id, leader_epoch = _iii.unpack_from(buf, pos)
            pos += 12
            preferred_successors = []
            n, pos = p.read_compact_array_length(buf, pos, 21)
            if n < 0:
                p.refuse_null_array()
            preferred_candidates = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_preferred_candidates, pos = ReplicaInfo.read(buf, pos, version)
                preferred_candidates.append(item_preferred_candidates)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, leader_id, leader_epoch, preferred_successors, preferred_candidates), pos, stop
        partition_index, leader_id, leader_epoch = _iii.unpack_from(buf, pos)
        pos += 12
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        preferred_successors, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        preferred_candidates = []
        return cls(partition_index, leader_id, leader_epoch, preferred_successors, preferred_candidates), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _iii.pack(self.partition_index, self.leader_id, self.leader_epoch)
            out += p.uvarint(len(self.preferred_candidates) + 1)
            for item_preferred_candidates in self.preferred_candidates:
                item_preferred_candidates.write(out, version)
            out += b"\0"
            return
        out += _iii.pack(self.partition_index, self.leader_id, self.leader_epoch)
        out += p.array_length(len(self.preferred_successors))
        out += Struct(f">{len(self.preferred_successors)}i").pack(*self.preferred_successors)


class EndQuorumEpochRequestTopicData(SlicedMessage):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochRequestPartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[EndQuorumEpochRequestTopicData]:
        partitions: list[EndQuorumEpochRequestPartitionData]
        if version >= 1:
            topic_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 14)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos, stop = yield from EndQuorumEpochRequestPartitionData.read_steps(buf, pos, version, stop)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic_name, partitions), pos, stop
        topic_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 16)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos, stop = yield from EndQuorumEpochRequestPartitionData.read_steps(buf, pos, version, stop)
            partitions.append(item_partitions)
        return cls(topic_name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.topic_name)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic_name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class LeaderEndpoint(Message):
    __slots__ = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderEndpoint, int]:
        if version >= 1:
            name, pos = p.read_compact_string(buf, pos)
            host, pos = p.read_compact_string(buf, pos)
            (port,) = _H.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, host, port), pos
        name = ""
        host = ""
        port = 0
        return cls(name, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.name)
            out += p.compact_string(self.host)
            out += _H.pack(self.port)
            out += b"\0"
            return
        return


class EndQuorumEpochRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("cluster_id", "topics", "leader_endpoints")

    def __init__(
        self,
        cluster_id: str | None = None,
        topics: list[EndQuorumEpochRequestTopicData] = NEW,
        leader_endpoints: list[LeaderEndpoint] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = [] if topics is NEW else topics
        self.leader_endpoints = [] if leader_endpoints is NEW else leader_endpoints

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[EndQuorumEpochRequest]:
        cluster_id: str | None
        topics: list[EndQuorumEpochRequestTopicData]
        leader_endpoints: list[LeaderEndpoint]
        if version >= 1:
            cluster_id, pos = p.read_compact_nullable_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from EndQuorumEpochRequestTopicData.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            leader_endpoints = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_leader_endpoints, pos = LeaderEndpoint.read(buf, pos, version)
                leader_endpoints.append(item_leader_endpoints)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(cluster_id, topics, leader_endpoints), pos, stop
        cluster_id, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from EndQuorumEpochRequestTopicData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        leader_endpoints = []
        return cls(cluster_id, topics, leader_endpoints), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_nullable_string(self.cluster_id)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += p.uvarint(len(self.leader_endpoints) + 1)
            for item_leader_endpoints in self.leader_endpoints:
                item_leader_endpoints.write(out, version)
            out += b"\0"
            return
        out += p.nullable_string(self.cluster_id)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


class EndQuorumEpochResponsePartitionData(Message):
    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndQuorumEpochResponsePartitionData, int]:
        if version >= 1:
            partition_index, error_code, leader_id, leader_epoch = _ihii.unpack_from(buf, pos)
            pos += 14
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, error_code, leader_id, leader_epoch), pos
        partition_index, error_code, leader_id, leader_epoch = _ihii.unpack_from(buf, pos)
        pos += 14
        return cls(partition_index, error_code, leader_id, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _ihii.pack(self.partition_index, self.error_code, self.leader_id, self.leader_epoch)
            out += b"\0"
            return
        out += _ihii.pack(self.partition_index, self.error_code, self.leader_id, self.leader_epoch)


class EndQuorumEpochResponseTopicData(Message):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[EndQuorumEpochResponsePartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndQuorumEpochResponseTopicData, int]:
        partitions: list[EndQuorumEpochResponsePartitionData]
        if version >= 1:
            topic_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 15)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = EndQuorumEpochResponsePartitionData.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic_name, partitions), pos
        topic_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = EndQuorumEpochResponsePartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic_name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.topic_name)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic_name)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


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
        if version >= 1:
            (node_id,) = _i.unpack_from(buf, pos)
            pos += 4
            host, pos = p.read_compact_string(buf, pos)
            (port,) = _H.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(node_id, host, port), pos
        node_id = 0
        host = ""
        port = 0
        return cls(node_id, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _i.pack(self.node_id)
            out += p.compact_string(self.host)
            out += _H.pack(self.port)
            out += b"\0"
            return
        return


class EndQuorumEpochResponse(Message):
    API_KEY: ClassVar[int] = 54
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("error_code", "topics", "node_endpoints")

    def __init__(
        self,
        error_code: int = 0,
        topics: list[EndQuorumEpochResponseTopicData] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndQuorumEpochResponse, int]:
        topics: list[EndQuorumEpochResponseTopicData]
        node_endpoints: list[NodeEndpoint]
        if version >= 1:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = EndQuorumEpochResponseTopicData.read(buf, pos, version)
                topics.append(item_topics)
            node_endpoints = []
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    n, pos = p.read_compact_array_length(buf, pos, 8)
                    if n < 0:
                        p.refuse_null_array()
                    node_endpoints = []
                    for _ in range(n):
                        item_node_endpoints, pos = NodeEndpoint.read(buf, pos, version)
                        node_endpoints.append(item_node_endpoints)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(error_code, topics, node_endpoints), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = EndQuorumEpochResponseTopicData.read(buf, pos, version)
            topics.append(item_topics)
        node_endpoints = []
        return cls(error_code, topics, node_endpoints), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 1:
            out += _h.pack(self.error_code)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            tagged = []
            if self.node_endpoints:
                value = p.MessageBuffer()
                value += p.uvarint(len(self.node_endpoints) + 1)
                for item_node_endpoints in self.node_endpoints:
                    item_node_endpoints.write(value, version)
                tagged.append((0, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)


REQUEST = EndQuorumEpochRequest
RESPONSE = EndQuorumEpochResponse

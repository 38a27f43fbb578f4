"""Vote (API key 52). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_UU = Struct(">16s16s")
_T = Struct(">?")
_H = Struct(">H")
_h = Struct(">h")
_i = Struct(">i")
_ihiiT = Struct(">ihii?")
_iii = Struct(">iii")
_iq = Struct(">iq")


class VoteRequestPartitionData(Message):
    __slots__ = ("partition_index", "replica_epoch", "replica_id", "replica_directory_id", "voter_directory_id", "last_offset_epoch", "last_offset", "pre_vote")

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = p.ZERO_UUID,
        voter_directory_id: bytes = p.ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VoteRequestPartitionData, int]:
        partition_index, replica_epoch, replica_id = _iii.unpack_from(buf, pos)
        pos += 12
        if version >= 1:
            replica_directory_id, voter_directory_id = _UU.unpack_from(buf, pos)
            pos += 32
        else:
            replica_directory_id = p.ZERO_UUID
            voter_directory_id = p.ZERO_UUID
        last_offset_epoch, last_offset = _iq.unpack_from(buf, pos)
        pos += 12
        if version == 2:
            (pre_vote,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            pre_vote = False
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, replica_epoch, replica_id, replica_directory_id, voter_directory_id, last_offset_epoch, last_offset, pre_vote), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iii.pack(self.partition_index, self.replica_epoch, self.replica_id)
        if version >= 1:
            out += _UU.pack(self.replica_directory_id, self.voter_directory_id)
        out += _iq.pack(self.last_offset_epoch, self.last_offset)
        if version == 2:
            out += _T.pack(self.pre_vote)
        out += b"\0"


class VoteRequestTopicData(SlicedMessage):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteRequestPartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[VoteRequestTopicData]:
        partitions: list[VoteRequestPartitionData]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 25)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = VoteRequestPartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class VoteRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "voter_id", "topics")

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[VoteRequestTopicData] = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[VoteRequest]:
        cluster_id: str | None
        topics: list[VoteRequestTopicData]
        cluster_id, pos = p.read_compact_nullable_string(buf, pos)
        if version >= 1:
            (voter_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            voter_id = -1
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from VoteRequestTopicData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(cluster_id, voter_id, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.cluster_id)
        if version >= 1:
            out += _i.pack(self.voter_id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class VoteResponsePartitionData(Message):
    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VoteResponsePartitionData, int]:
        partition_index, error_code, leader_id, leader_epoch, vote_granted = _ihiiT.unpack_from(buf, pos)
        pos += 15
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, leader_id, leader_epoch, vote_granted), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihiiT.pack(self.partition_index, self.error_code, self.leader_id, self.leader_epoch, self.vote_granted)
        out += b"\0"


class VoteResponseTopicData(Message):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[VoteResponsePartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VoteResponseTopicData, int]:
        partitions: list[VoteResponsePartitionData]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 16)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = VoteResponsePartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic_name)
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
        if version >= 1:
            (node_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            node_id = 0
        if version >= 1:
            host, pos = p.read_compact_string(buf, pos)
        else:
            host = ""
        if version >= 1:
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
        if version >= 1:
            out += _i.pack(self.node_id)
        if version >= 1:
            out += p.compact_string(self.host)
        if version >= 1:
            out += _H.pack(self.port)
        out += b"\0"


class VoteResponse(Message):
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("error_code", "topics", "node_endpoints")

    def __init__(
        self,
        error_code: int = 0,
        topics: list[VoteResponseTopicData] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.error_code = error_code
        self.topics = [] if topics is NEW else topics
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VoteResponse, int]:
        topics: list[VoteResponseTopicData]
        node_endpoints: list[NodeEndpoint]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = VoteResponseTopicData.read(buf, pos, version)
            topics.append(item_topics)
        node_endpoints = []
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0 and version >= 1:
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

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _h.pack(self.error_code)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        tagged = []
        if version >= 1 and self.node_endpoints:
            value = p.MessageBuffer()
            value += p.uvarint(len(self.node_endpoints) + 1)
            for item_node_endpoints in self.node_endpoints:
                item_node_endpoints.write(value, version)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


REQUEST = VoteRequest
RESPONSE = VoteResponse

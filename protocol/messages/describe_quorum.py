"""DescribeQuorum (API key 55). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_H = Struct(">H")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")
_iiq = Struct(">iiq")
_q = Struct(">q")
_qq = Struct(">qq")


class DescribeQuorumRequestPartitionData(Message):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeQuorumRequestPartitionData, int]:
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)
        out += b"\0"


class DescribeQuorumRequestTopicData(SlicedMessage):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumRequestPartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeQuorumRequestTopicData]:
        partitions: list[DescribeQuorumRequestPartitionData]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = DescribeQuorumRequestPartitionData.read(buf, pos, version)
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


class DescribeQuorumRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[DescribeQuorumRequestTopicData] = NEW,
    ) -> None:
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeQuorumRequest]:
        topics: list[DescribeQuorumRequestTopicData]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from DescribeQuorumRequestTopicData.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class ReplicaState(Message):
    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = p.ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReplicaState, int]:
        (replica_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 2:
            (replica_directory_id,) = _U.unpack_from(buf, pos)
            pos += 16
        else:
            replica_directory_id = p.ZERO_UUID
        (log_end_offset,) = _q.unpack_from(buf, pos)
        pos += 8
        if version >= 1:
            last_fetch_timestamp, last_caught_up_timestamp = _qq.unpack_from(buf, pos)
            pos += 16
        else:
            last_fetch_timestamp = -1
            last_caught_up_timestamp = -1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.replica_id)
        if version == 2:
            out += _U.pack(self.replica_directory_id)
        out += _q.pack(self.log_end_offset)
        if version >= 1:
            out += _qq.pack(self.last_fetch_timestamp, self.last_caught_up_timestamp)
        out += b"\0"


class DescribeQuorumResponsePartitionData(Message):
    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = NEW,
        observers: list[ReplicaState] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is NEW else current_voters
        self.observers = [] if observers is NEW else observers

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeQuorumResponsePartitionData, int]:
        error_message: str | None
        current_voters: list[ReplicaState]
        observers: list[ReplicaState]
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        if version == 2:
            error_message, pos = p.read_compact_nullable_string(buf, pos)
        else:
            error_message = ""
        leader_id, leader_epoch, high_watermark = _iiq.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 13)
        if n < 0:
            p.refuse_null_array()
        current_voters = []
        for _ in range(n):
            item_current_voters, pos = ReplicaState.read(buf, pos, version)
            current_voters.append(item_current_voters)
        n, pos = p.read_compact_array_length(buf, pos, 13)
        if n < 0:
            p.refuse_null_array()
        observers = []
        for _ in range(n):
            item_observers, pos = ReplicaState.read(buf, pos, version)
            observers.append(item_observers)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        if version == 2:
            out += p.compact_nullable_string(self.error_message)
        out += _iiq.pack(self.leader_id, self.leader_epoch, self.high_watermark)
        out += p.uvarint(len(self.current_voters) + 1)
        for item_current_voters in self.current_voters:
            item_current_voters.write(out, version)
        out += p.uvarint(len(self.observers) + 1)
        for item_observers in self.observers:
            item_observers.write(out, version)
        out += b"\0"


class DescribeQuorumResponseTopicData(Message):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[DescribeQuorumResponsePartitionData] = NEW,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeQuorumResponseTopicData, int]:
        partitions: list[DescribeQuorumResponsePartitionData]
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 25)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = DescribeQuorumResponsePartitionData.read(buf, pos, version)
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


class Listener(Message):
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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Listener, int]:
        if version == 2:
            name, pos = p.read_compact_string(buf, pos)
        else:
            name = ""
        if version == 2:
            host, pos = p.read_compact_string(buf, pos)
        else:
            host = ""
        if version == 2:
            (port,) = _H.unpack_from(buf, pos)
            pos += 2
        else:
            port = 0
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 2:
            out += p.compact_string(self.name)
        if version == 2:
            out += p.compact_string(self.host)
        if version == 2:
            out += _H.pack(self.port)
        out += b"\0"


class Node(Message):
    __slots__ = ("node_id", "listeners")

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = NEW,
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is NEW else listeners

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Node, int]:
        listeners: list[Listener]
        if version == 2:
            (node_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            node_id = 0
        if version == 2:
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            listeners = []
            for _ in range(n):
                item_listeners, pos = Listener.read(buf, pos, version)
                listeners.append(item_listeners)
        else:
            listeners = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(node_id, listeners), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 2:
            out += _i.pack(self.node_id)
        if version == 2:
            out += p.uvarint(len(self.listeners) + 1)
            for item_listeners in self.listeners:
                item_listeners.write(out, version)
        out += b"\0"


class DescribeQuorumResponse(Message):
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("error_code", "error_message", "topics", "nodes")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponseTopicData] = NEW,
        nodes: list[Node] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NEW else topics
        self.nodes = [] if nodes is NEW else nodes

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeQuorumResponse, int]:
        error_message: str | None
        topics: list[DescribeQuorumResponseTopicData]
        nodes: list[Node]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        if version == 2:
            error_message, pos = p.read_compact_nullable_string(buf, pos)
        else:
            error_message = ""
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = DescribeQuorumResponseTopicData.read(buf, pos, version)
            topics.append(item_topics)
        if version == 2:
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            nodes = []
            for _ in range(n):
                item_nodes, pos = Node.read(buf, pos, version)
                nodes.append(item_nodes)
        else:
            nodes = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, error_message, topics, nodes), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        if version == 2:
            out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        if version == 2:
            out += p.uvarint(len(self.nodes) + 1)
            for item_nodes in self.nodes:
                item_nodes.write(out, version)
        out += b"\0"


REQUEST = DescribeQuorumRequest
RESPONSE = DescribeQuorumResponse

"""Metadata (API key 3). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_T = Struct(">?")
_TT = Struct(">??")
_h = Struct(">h")
_hii = Struct(">hii")
_hiii = Struct(">hiii")
_i = Struct(">i")


class MetadataRequestTopic(Message):
    __slots__ = ("topic_id", "name")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MetadataRequestTopic, int]:
        name: str | None
        if version >= 9:
            if version >= 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            if version >= 10:
                name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                name, pos = p.read_compact_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic_id, name), pos
        topic_id = p.ZERO_UUID
        name, pos = p.read_string(buf, pos)
        return cls(topic_id, name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if version >= 10:
                out += _U.pack(self.topic_id)
            out += p.compact_nullable_string(self.name)
            out += b"\0"
            return
        assert self.name is not None
        out += p.string(self.name)


class MetadataRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")

    def __init__(
        self,
        topics: list[MetadataRequestTopic] | None = NEW,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[MetadataRequest]:
        topics: list[MetadataRequestTopic] | None
        if version >= 9:
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                topics = None
            else:
                topics = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_topics, pos = MetadataRequestTopic.read(buf, pos, version)
                    topics.append(item_topics)
            (allow_auto_topic_creation,) = _T.unpack_from(buf, pos)
            pos += 1
            if version <= 10:
                (include_cluster_authorized_operations,) = _T.unpack_from(buf, pos)
                pos += 1
            else:
                include_cluster_authorized_operations = False
            (include_topic_authorized_operations,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), pos, stop
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0 and not (version >= 1):
            p.refuse_null_array()
        if n < 0:
            topics = None
        else:
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos = MetadataRequestTopic.read(buf, pos, version)
                topics.append(item_topics)
        if version >= 4:
            (allow_auto_topic_creation,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            allow_auto_topic_creation = True
        if version == 8:
            include_cluster_authorized_operations, include_topic_authorized_operations = _TT.unpack_from(buf, pos)
            pos += 2
        else:
            include_cluster_authorized_operations = False
            include_topic_authorized_operations = False
        return cls(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if self.topics is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.topics) + 1)
                for item_topics in self.topics:
                    item_topics.write(out, version)
            out += _T.pack(self.allow_auto_topic_creation)
            if version <= 10:
                out += _T.pack(self.include_cluster_authorized_operations)
            out += _T.pack(self.include_topic_authorized_operations)
            out += b"\0"
            return
        if self.topics is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.topics))
            for item_topics in self.topics:
                item_topics.write(out, version)
        if version >= 4:
            out += _T.pack(self.allow_auto_topic_creation)
        if version == 8:
            out += _TT.pack(self.include_cluster_authorized_operations, self.include_topic_authorized_operations)


class MetadataResponseBroker(Message):
    __slots__ = ("node_id", "host", "port", "rack")

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MetadataResponseBroker, int]:
        rack: str | None
        if version >= 9:
            (node_id,) = _i.unpack_from(buf, pos)
            pos += 4
            host, pos = p.read_compact_string(buf, pos)
            (port,) = _i.unpack_from(buf, pos)
            pos += 4
            rack, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(node_id, host, port, rack), pos
        (node_id,) = _i.unpack_from(buf, pos)
        pos += 4
        host, pos = p.read_string(buf, pos)
        (port,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 1:
            rack, pos = p.read_nullable_string(buf, pos)
        else:
            rack = None
        return cls(node_id, host, port, rack), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _i.pack(self.node_id)
            out += p.compact_string(self.host)
            out += _i.pack(self.port)
            out += p.compact_nullable_string(self.rack)
            out += b"\0"
            return
        out += _i.pack(self.node_id)
        out += p.string(self.host)
        out += _i.pack(self.port)
        if version >= 1:
            out += p.nullable_string(self.rack)


class MetadataResponsePartition(Message):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = NEW,
        isr_nodes: list[int] = NEW,
        offline_replicas: list[int] = NEW,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NEW else replica_nodes
        self.isr_nodes = [] if isr_nodes is NEW else isr_nodes
        self.offline_replicas = [] if offline_replicas is NEW else offline_replicas

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MetadataResponsePartition, int]:
        replica_nodes: list[int]
        isr_nodes: list[int]
        offline_replicas: list[int]
        if version >= 9:
            error_code, partition_index, leader_id, leader_epoch = _hiii.unpack_from(buf, pos)
            pos += 14
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            replica_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            isr_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            offline_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas), pos
        error_code, partition_index, leader_id = _hii.unpack_from(buf, pos)
        pos += 10
        if version >= 7:
            (leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            leader_epoch = -1
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        replica_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        isr_nodes = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if version >= 5:
            n, pos = p.read_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            offline_replicas = list(Struct(f">{n}i").unpack_from(buf, pos))
            pos += n * 4
        else:
            offline_replicas = []
        return cls(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _hiii.pack(self.error_code, self.partition_index, self.leader_id, self.leader_epoch)
            out += p.uvarint(len(self.replica_nodes) + 1)
            out += Struct(f">{len(self.replica_nodes)}i").pack(*self.replica_nodes)
            out += p.uvarint(len(self.isr_nodes) + 1)
            out += Struct(f">{len(self.isr_nodes)}i").pack(*self.isr_nodes)
            out += p.uvarint(len(self.offline_replicas) + 1)
            out += Struct(f">{len(self.offline_replicas)}i").pack(*self.offline_replicas)
            out += b"\0"
            return
        out += _hii.pack(self.error_code, self.partition_index, self.leader_id)
        if version >= 7:
            out += _i.pack(self.leader_epoch)
        out += p.array_length(len(self.replica_nodes))
        out += Struct(f">{len(self.replica_nodes)}i").pack(*self.replica_nodes)
        out += p.array_length(len(self.isr_nodes))
        out += Struct(f">{len(self.isr_nodes)}i").pack(*self.isr_nodes)
        if version >= 5:
            out += p.array_length(len(self.offline_replicas))
            out += Struct(f">{len(self.offline_replicas)}i").pack(*self.offline_replicas)


class MetadataResponseTopic(Message):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = p.ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = NEW,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NEW else partitions
        self.topic_authorized_operations = topic_authorized_operations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MetadataResponseTopic, int]:
        name: str | None
        partitions: list[MetadataResponsePartition]
        if version >= 9:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            if version >= 12:
                name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                name, pos = p.read_compact_string(buf, pos)
            if version >= 10:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            (is_internal,) = _T.unpack_from(buf, pos)
            pos += 1
            n, pos = p.read_compact_array_length(buf, pos, 18)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                item_partitions, pos = MetadataResponsePartition.read(buf, pos, version)
                partitions.append(item_partitions)
            (topic_authorized_operations,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        if version >= 1:
            (is_internal,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            is_internal = False
        n, pos = p.read_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = MetadataResponsePartition.read(buf, pos, version)
            partitions.append(item_partitions)
        if version == 8:
            (topic_authorized_operations,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            topic_authorized_operations = -2147483648
        return cls(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.name)
            if version >= 10:
                out += _U.pack(self.topic_id)
            out += _T.pack(self.is_internal)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += _i.pack(self.topic_authorized_operations)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        assert self.name is not None
        out += p.string(self.name)
        if version >= 1:
            out += _T.pack(self.is_internal)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        if version == 8:
            out += _i.pack(self.topic_authorized_operations)


class MetadataResponse(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = NEW,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = NEW,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is NEW else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is NEW else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[MetadataResponse, int]:
        brokers: list[MetadataResponseBroker]
        cluster_id: str | None
        topics: list[MetadataResponseTopic]
        if version >= 9:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 11)
            if n < 0:
                p.refuse_null_array()
            brokers = []
            for _ in range(n):
                item_brokers, pos = MetadataResponseBroker.read(buf, pos, version)
                brokers.append(item_brokers)
            cluster_id, pos = p.read_compact_nullable_string(buf, pos)
            (controller_id,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 10)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                item_topics, pos = MetadataResponseTopic.read(buf, pos, version)
                topics.append(item_topics)
            if version <= 10:
                (cluster_authorized_operations,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                cluster_authorized_operations = -2147483648
            if version == 13:
                (error_code,) = _h.unpack_from(buf, pos)
                pos += 2
            else:
                error_code = 0
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, error_code), pos
        if version >= 3:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        n, pos = p.read_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        brokers = []
        for _ in range(n):
            item_brokers, pos = MetadataResponseBroker.read(buf, pos, version)
            brokers.append(item_brokers)
        if version >= 2:
            cluster_id, pos = p.read_nullable_string(buf, pos)
        else:
            cluster_id = None
        if version >= 1:
            (controller_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            controller_id = -1
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = MetadataResponseTopic.read(buf, pos, version)
            topics.append(item_topics)
        if version == 8:
            (cluster_authorized_operations,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            cluster_authorized_operations = -2147483648
        error_code = 0
        return cls(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.brokers) + 1)
            for item_brokers in self.brokers:
                item_brokers.write(out, version)
            out += p.compact_nullable_string(self.cluster_id)
            out += _i.pack(self.controller_id)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            if version <= 10:
                out += _i.pack(self.cluster_authorized_operations)
            if version == 13:
                out += _h.pack(self.error_code)
            out += b"\0"
            return
        if version >= 3:
            out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.brokers))
        for item_brokers in self.brokers:
            item_brokers.write(out, version)
        if version >= 2:
            out += p.nullable_string(self.cluster_id)
        if version >= 1:
            out += _i.pack(self.controller_id)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        if version == 8:
            out += _i.pack(self.cluster_authorized_operations)


REQUEST = MetadataRequest
RESPONSE = MetadataResponse

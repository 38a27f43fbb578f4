"""StreamsGroupDescribe (API key 89). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_H = Struct(">H")
_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iq = Struct(">iq")


class StreamsGroupDescribeRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_ids", "include_authorized_operations", "include_topology_description")

    def __init__(
        self,
        group_ids: list[str] = NEW,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is NEW else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.include_topology_description = include_topology_description

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[StreamsGroupDescribeRequest]:
        group_ids: list[str]
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        group_ids = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_group_ids, pos = p.read_compact_string(buf, pos)
            group_ids.append(item_group_ids)
        (include_authorized_operations,) = _T.unpack_from(buf, pos)
        pos += 1
        if version == 1:
            (include_topology_description,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            include_topology_description = False
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_ids, include_authorized_operations, include_topology_description), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.group_ids) + 1)
        for item_group_ids in self.group_ids:
            out += p.compact_string(item_group_ids)
        out += _T.pack(self.include_authorized_operations)
        if version == 1:
            out += _T.pack(self.include_topology_description)
        out += b"\0"


class KeyValue(Message):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[KeyValue, int]:
        key, pos = p.read_compact_string(buf, pos)
        value, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(key, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.key)
        out += p.compact_string(self.value)
        out += b"\0"


class TopicInfo(Message):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[KeyValue] = NEW,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is NEW else topic_configs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicInfo, int]:
        topic_configs: list[KeyValue]
        name, pos = p.read_compact_string(buf, pos)
        partitions, replication_factor = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topic_configs = []
        for _ in range(n):
            item_topic_configs, pos = KeyValue.read(buf, pos, version)
            topic_configs.append(item_topic_configs)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions, replication_factor, topic_configs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _ih.pack(self.partitions, self.replication_factor)
        out += p.uvarint(len(self.topic_configs) + 1)
        for item_topic_configs in self.topic_configs:
            item_topic_configs.write(out, version)
        out += b"\0"


class Subtopology(Message):
    __slots__ = ("subtopology_id", "source_topics", "repartition_sink_topics", "state_changelog_topics", "repartition_source_topics")

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = NEW,
        repartition_sink_topics: list[str] = NEW,
        state_changelog_topics: list[TopicInfo] = NEW,
        repartition_source_topics: list[TopicInfo] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is NEW else source_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is NEW else repartition_sink_topics
        self.state_changelog_topics = [] if state_changelog_topics is NEW else state_changelog_topics
        self.repartition_source_topics = [] if repartition_source_topics is NEW else repartition_source_topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Subtopology, int]:
        source_topics: list[str]
        repartition_sink_topics: list[str]
        state_changelog_topics: list[TopicInfo]
        repartition_source_topics: list[TopicInfo]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topics = []
        for _ in range(n):
            item_source_topics, pos = p.read_compact_string(buf, pos)
            source_topics.append(item_source_topics)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        repartition_sink_topics = []
        for _ in range(n):
            item_repartition_sink_topics, pos = p.read_compact_string(buf, pos)
            repartition_sink_topics.append(item_repartition_sink_topics)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        state_changelog_topics = []
        for _ in range(n):
            item_state_changelog_topics, pos = TopicInfo.read(buf, pos, version)
            state_changelog_topics.append(item_state_changelog_topics)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        repartition_source_topics = []
        for _ in range(n):
            item_repartition_source_topics, pos = TopicInfo.read(buf, pos, version)
            repartition_source_topics.append(item_repartition_source_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, source_topics, repartition_sink_topics, state_changelog_topics, repartition_source_topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.source_topics) + 1)
        for item_source_topics in self.source_topics:
            out += p.compact_string(item_source_topics)
        out += p.uvarint(len(self.repartition_sink_topics) + 1)
        for item_repartition_sink_topics in self.repartition_sink_topics:
            out += p.compact_string(item_repartition_sink_topics)
        out += p.uvarint(len(self.state_changelog_topics) + 1)
        for item_state_changelog_topics in self.state_changelog_topics:
            item_state_changelog_topics.write(out, version)
        out += p.uvarint(len(self.repartition_source_topics) + 1)
        for item_repartition_source_topics in self.repartition_source_topics:
            item_repartition_source_topics.write(out, version)
        out += b"\0"


class Topology(Message):
    __slots__ = ("epoch", "subtopologies")

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] | None = None,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Topology, int]:
        subtopologies: list[Subtopology] | None
        (epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            subtopologies = None
        else:
            subtopologies = []
            for _ in range(n):
                item_subtopologies, pos = Subtopology.read(buf, pos, version)
                subtopologies.append(item_subtopologies)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(epoch, subtopologies), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.epoch)
        if self.subtopologies is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.subtopologies) + 1)
            for item_subtopologies in self.subtopologies:
                item_subtopologies.write(out, version)
        out += b"\0"


class Endpoint(Message):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Endpoint, int]:
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _H.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.host)
        out += _H.pack(self.port)
        out += b"\0"


class TaskOffset(Message):
    __slots__ = ("subtopology_id", "partition", "offset")

    def __init__(
        self,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TaskOffset, int]:
        subtopology_id, pos = p.read_compact_string(buf, pos)
        partition, offset = _iq.unpack_from(buf, pos)
        pos += 12
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, partition, offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += _iq.pack(self.partition, self.offset)
        out += b"\0"


class TaskIds(Message):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TaskIds, int]:
        partitions: list[int]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class Assignment(Message):
    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

    def __init__(
        self,
        active_tasks: list[TaskIds] = NEW,
        standby_tasks: list[TaskIds] = NEW,
        warmup_tasks: list[TaskIds] = NEW,
    ) -> None:
        self.active_tasks = [] if active_tasks is NEW else active_tasks
        self.standby_tasks = [] if standby_tasks is NEW else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NEW else warmup_tasks

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Assignment, int]:
        active_tasks: list[TaskIds]
        standby_tasks: list[TaskIds]
        warmup_tasks: list[TaskIds]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        active_tasks = []
        for _ in range(n):
            item_active_tasks, pos = TaskIds.read(buf, pos, version)
            active_tasks.append(item_active_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        standby_tasks = []
        for _ in range(n):
            item_standby_tasks, pos = TaskIds.read(buf, pos, version)
            standby_tasks.append(item_standby_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        warmup_tasks = []
        for _ in range(n):
            item_warmup_tasks, pos = TaskIds.read(buf, pos, version)
            warmup_tasks.append(item_warmup_tasks)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(active_tasks, standby_tasks, warmup_tasks), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.active_tasks) + 1)
        for item_active_tasks in self.active_tasks:
            item_active_tasks.write(out, version)
        out += p.uvarint(len(self.standby_tasks) + 1)
        for item_standby_tasks in self.standby_tasks:
            item_standby_tasks.write(out, version)
        out += p.uvarint(len(self.warmup_tasks) + 1)
        for item_warmup_tasks in self.warmup_tasks:
            item_warmup_tasks.write(out, version)
        out += b"\0"


class Member(Message):
    __slots__ = ("member_id", "member_epoch", "instance_id", "rack_id", "client_id", "client_host", "topology_epoch", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "assignment", "target_assignment", "is_classic")

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = NEW,
        task_offsets: list[TaskOffset] = NEW,
        task_end_offsets: list[TaskOffset] = NEW,
        assignment: Assignment = NEW,
        target_assignment: Assignment = NEW,
        is_classic: bool = False,
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is NEW else client_tags
        self.task_offsets = [] if task_offsets is NEW else task_offsets
        self.task_end_offsets = [] if task_end_offsets is NEW else task_end_offsets
        self.assignment = Assignment() if assignment is NEW else assignment
        self.target_assignment = Assignment() if target_assignment is NEW else target_assignment
        self.is_classic = is_classic

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Member, int]:
        instance_id: str | None
        rack_id: str | None
        user_endpoint: Endpoint | None
        client_tags: list[KeyValue]
        task_offsets: list[TaskOffset]
        task_end_offsets: list[TaskOffset]
        member_id, pos = p.read_compact_string(buf, pos)
        (member_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        instance_id, pos = p.read_compact_nullable_string(buf, pos)
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        client_id, pos = p.read_compact_string(buf, pos)
        client_host, pos = p.read_compact_string(buf, pos)
        (topology_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        process_id, pos = p.read_compact_string(buf, pos)
        pos += 1
        if buf[pos - 1] > 127:
            user_endpoint = None
        else:
            user_endpoint, pos = Endpoint.read(buf, pos, version)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        client_tags = []
        for _ in range(n):
            item_client_tags, pos = KeyValue.read(buf, pos, version)
            client_tags.append(item_client_tags)
        n, pos = p.read_compact_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        task_offsets = []
        for _ in range(n):
            item_task_offsets, pos = TaskOffset.read(buf, pos, version)
            task_offsets.append(item_task_offsets)
        n, pos = p.read_compact_array_length(buf, pos, 14)
        if n < 0:
            p.refuse_null_array()
        task_end_offsets = []
        for _ in range(n):
            item_task_end_offsets, pos = TaskOffset.read(buf, pos, version)
            task_end_offsets.append(item_task_end_offsets)
        assignment, pos = Assignment.read(buf, pos, version)
        target_assignment, pos = Assignment.read(buf, pos, version)
        (is_classic,) = _T.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(member_id, member_epoch, instance_id, rack_id, client_id, client_host, topology_epoch, process_id, user_endpoint, client_tags, task_offsets, task_end_offsets, assignment, target_assignment, is_classic), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.member_id)
        out += _i.pack(self.member_epoch)
        out += p.compact_nullable_string(self.instance_id)
        out += p.compact_nullable_string(self.rack_id)
        out += p.compact_string(self.client_id)
        out += p.compact_string(self.client_host)
        out += _i.pack(self.topology_epoch)
        out += p.compact_string(self.process_id)
        if self.user_endpoint is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.user_endpoint.write(out, version)
        out += p.uvarint(len(self.client_tags) + 1)
        for item_client_tags in self.client_tags:
            item_client_tags.write(out, version)
        out += p.uvarint(len(self.task_offsets) + 1)
        for item_task_offsets in self.task_offsets:
            item_task_offsets.write(out, version)
        out += p.uvarint(len(self.task_end_offsets) + 1)
        for item_task_end_offsets in self.task_end_offsets:
            item_task_end_offsets.write(out, version)
        self.assignment.write(out, version)
        self.target_assignment.write(out, version)
        out += _T.pack(self.is_classic)
        out += b"\0"


class TopologyDescriptionNode(Message):
    __slots__ = ("name", "node_type", "source_topics", "sink_topic", "stores", "successors")

    def __init__(
        self,
        name: str = "",
        node_type: int = 0,
        source_topics: list[str] = NEW,
        sink_topic: str | None = None,
        stores: list[str] = NEW,
        successors: list[str] = NEW,
    ) -> None:
        self.name = name
        self.node_type = node_type
        self.source_topics = [] if source_topics is NEW else source_topics
        self.sink_topic = sink_topic
        self.stores = [] if stores is NEW else stores
        self.successors = [] if successors is NEW else successors

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopologyDescriptionNode, int]:
        source_topics: list[str]
        sink_topic: str | None
        stores: list[str]
        successors: list[str]
        if version == 1:
            name, pos = p.read_compact_string(buf, pos)
        else:
            name = ""
        if version == 1:
            (node_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            node_type = 0
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            source_topics = []
            for _ in range(n):
                item_source_topics, pos = p.read_compact_string(buf, pos)
                source_topics.append(item_source_topics)
        else:
            source_topics = []
        if version == 1:
            sink_topic, pos = p.read_compact_nullable_string(buf, pos)
        else:
            sink_topic = None
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            stores = []
            for _ in range(n):
                item_stores, pos = p.read_compact_string(buf, pos)
                stores.append(item_stores)
        else:
            stores = []
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            successors = []
            for _ in range(n):
                item_successors, pos = p.read_compact_string(buf, pos)
                successors.append(item_successors)
        else:
            successors = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, node_type, source_topics, sink_topic, stores, successors), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            out += p.compact_string(self.name)
        if version == 1:
            out += _b.pack(self.node_type)
        if version == 1:
            out += p.uvarint(len(self.source_topics) + 1)
            for item_source_topics in self.source_topics:
                out += p.compact_string(item_source_topics)
        if version == 1:
            out += p.compact_nullable_string(self.sink_topic)
        if version == 1:
            out += p.uvarint(len(self.stores) + 1)
            for item_stores in self.stores:
                out += p.compact_string(item_stores)
        if version == 1:
            out += p.uvarint(len(self.successors) + 1)
            for item_successors in self.successors:
                out += p.compact_string(item_successors)
        out += b"\0"


class TopologyDescriptionSubtopology(Message):
    __slots__ = ("subtopology_id", "nodes")

    def __init__(
        self,
        subtopology_id: str = "",
        nodes: list[TopologyDescriptionNode] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.nodes = [] if nodes is NEW else nodes

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopologyDescriptionSubtopology, int]:
        nodes: list[TopologyDescriptionNode]
        if version == 1:
            subtopology_id, pos = p.read_compact_string(buf, pos)
        else:
            subtopology_id = ""
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            nodes = []
            for _ in range(n):
                item_nodes, pos = TopologyDescriptionNode.read(buf, pos, version)
                nodes.append(item_nodes)
        else:
            nodes = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, nodes), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            out += p.compact_string(self.subtopology_id)
        if version == 1:
            out += p.uvarint(len(self.nodes) + 1)
            for item_nodes in self.nodes:
                item_nodes.write(out, version)
        out += b"\0"


class TopologyDescriptionGlobalStore(Message):
    __slots__ = ("source", "processor")

    def __init__(
        self,
        source: TopologyDescriptionNode = NEW,
        processor: TopologyDescriptionNode = NEW,
    ) -> None:
        self.source = TopologyDescriptionNode() if source is NEW else source
        self.processor = TopologyDescriptionNode() if processor is NEW else processor

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopologyDescriptionGlobalStore, int]:
        if version == 1:
            source, pos = TopologyDescriptionNode.read(buf, pos, version)
        else:
            source = TopologyDescriptionNode()
        if version == 1:
            processor, pos = TopologyDescriptionNode.read(buf, pos, version)
        else:
            processor = TopologyDescriptionNode()
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(source, processor), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            self.source.write(out, version)
        if version == 1:
            self.processor.write(out, version)
        out += b"\0"


class TopologyDescription(Message):
    __slots__ = ("subtopologies", "global_stores")

    def __init__(
        self,
        subtopologies: list[TopologyDescriptionSubtopology] = NEW,
        global_stores: list[TopologyDescriptionGlobalStore] = NEW,
    ) -> None:
        self.subtopologies = [] if subtopologies is NEW else subtopologies
        self.global_stores = [] if global_stores is NEW else global_stores

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopologyDescription, int]:
        subtopologies: list[TopologyDescriptionSubtopology]
        global_stores: list[TopologyDescriptionGlobalStore]
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            subtopologies = []
            for _ in range(n):
                item_subtopologies, pos = TopologyDescriptionSubtopology.read(buf, pos, version)
                subtopologies.append(item_subtopologies)
        else:
            subtopologies = []
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 15)
            if n < 0:
                p.refuse_null_array()
            global_stores = []
            for _ in range(n):
                item_global_stores, pos = TopologyDescriptionGlobalStore.read(buf, pos, version)
                global_stores.append(item_global_stores)
        else:
            global_stores = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopologies, global_stores), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            out += p.uvarint(len(self.subtopologies) + 1)
            for item_subtopologies in self.subtopologies:
                item_subtopologies.write(out, version)
        if version == 1:
            out += p.uvarint(len(self.global_stores) + 1)
            for item_global_stores in self.global_stores:
                item_global_stores.write(out, version)
        out += b"\0"


class DescribedGroup(Message):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "topology", "members", "authorized_operations", "topology_description", "topology_description_status", "assignor_name")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: list[Member] = NEW,
        authorized_operations: int = -2147483648,
        topology_description: TopologyDescription | None = None,
        topology_description_status: int = 0,
        assignor_name: str | None = None,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = [] if members is NEW else members
        self.authorized_operations = authorized_operations
        self.topology_description = topology_description
        self.topology_description_status = topology_description_status
        self.assignor_name = assignor_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedGroup, int]:
        error_message: str | None
        topology: Topology | None
        members: list[Member]
        topology_description: TopologyDescription | None
        assignor_name: str | None
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        group_id, pos = p.read_compact_string(buf, pos)
        group_state, pos = p.read_compact_string(buf, pos)
        group_epoch, assignment_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        pos += 1
        if buf[pos - 1] > 127:
            topology = None
        else:
            topology, pos = Topology.read(buf, pos, version)
        n, pos = p.read_compact_array_length(buf, pos, 28)
        if n < 0:
            p.refuse_null_array()
        members = []
        for _ in range(n):
            item_members, pos = Member.read(buf, pos, version)
            members.append(item_members)
        (authorized_operations,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            pos += 1
            if buf[pos - 1] > 127:
                topology_description = None
            else:
                topology_description, pos = TopologyDescription.read(buf, pos, version)
        else:
            topology_description = None
        if version == 1:
            (topology_description_status,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            topology_description_status = 0
        if version == 1:
            assignor_name, pos = p.read_compact_nullable_string(buf, pos)
        else:
            assignor_name = None
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, topology, members, authorized_operations, topology_description, topology_description_status, assignor_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.compact_string(self.group_id)
        out += p.compact_string(self.group_state)
        out += _ii.pack(self.group_epoch, self.assignment_epoch)
        if self.topology is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.topology.write(out, version)
        out += p.uvarint(len(self.members) + 1)
        for item_members in self.members:
            item_members.write(out, version)
        out += _i.pack(self.authorized_operations)
        if version == 1:
            if self.topology_description is None:
                out += b"\xff"
            else:
                out += b"\x01"
                self.topology_description.write(out, version)
        if version == 1:
            out += _b.pack(self.topology_description_status)
        if version == 1:
            out += p.compact_nullable_string(self.assignor_name)
        out += b"\0"


class StreamsGroupDescribeResponse(Message):
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupDescribeResponse, int]:
        groups: list[DescribedGroup]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            item_groups, pos = DescribedGroup.read(buf, pos, version)
            groups.append(item_groups)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.groups) + 1)
        for item_groups in self.groups:
            item_groups.write(out, version)
        out += b"\0"


REQUEST = StreamsGroupDescribeRequest
RESPONSE = StreamsGroupDescribeResponse

"""StreamsGroupHeartbeat (API key 88). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_H = Struct(">H")
_b = Struct(">b")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iq = Struct(">iq")
_q = Struct(">q")


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


class TopicInfo(SlicedMessage):
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
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopicInfo]:
        topic_configs: list[KeyValue]
        name, pos = p.read_compact_string(buf, pos)
        partitions, replication_factor = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topic_configs = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topic_configs, pos = KeyValue.read(buf, pos, version)
            topic_configs.append(item_topic_configs)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions, replication_factor, topic_configs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _ih.pack(self.partitions, self.replication_factor)
        out += p.uvarint(len(self.topic_configs) + 1)
        for item_topic_configs in self.topic_configs:
            item_topic_configs.write(out, version)
        out += b"\0"


class CopartitionGroup(SlicedMessage):
    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")

    def __init__(
        self,
        source_topics: list[int] = NEW,
        source_topic_regex: list[int] = NEW,
        repartition_source_topics: list[int] = NEW,
    ) -> None:
        self.source_topics = [] if source_topics is NEW else source_topics
        self.source_topic_regex = [] if source_topic_regex is NEW else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is NEW else repartition_source_topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CopartitionGroup]:
        source_topics: list[int]
        source_topic_regex: list[int]
        repartition_source_topics: list[int]
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        source_topics, pos, stop = yield from p.read_numbers(buf, pos, n, "h", 2, stop)
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        source_topic_regex, pos, stop = yield from p.read_numbers(buf, pos, n, "h", 2, stop)
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        repartition_source_topics, pos, stop = yield from p.read_numbers(buf, pos, n, "h", 2, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(source_topics, source_topic_regex, repartition_source_topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.source_topics) + 1)
        out += Struct(f">{len(self.source_topics)}h").pack(*self.source_topics)
        out += p.uvarint(len(self.source_topic_regex) + 1)
        out += Struct(f">{len(self.source_topic_regex)}h").pack(*self.source_topic_regex)
        out += p.uvarint(len(self.repartition_source_topics) + 1)
        out += Struct(f">{len(self.repartition_source_topics)}h").pack(*self.repartition_source_topics)
        out += b"\0"


class Subtopology(SlicedMessage):
    __slots__ = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: list[str] = NEW,
        source_topic_regex: list[str] = NEW,
        state_changelog_topics: list[TopicInfo] = NEW,
        repartition_sink_topics: list[str] = NEW,
        repartition_source_topics: list[TopicInfo] = NEW,
        copartition_groups: list[CopartitionGroup] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is NEW else source_topics
        self.source_topic_regex = [] if source_topic_regex is NEW else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is NEW else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is NEW else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is NEW else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is NEW else copartition_groups

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[Subtopology]:
        source_topics: list[str]
        source_topic_regex: list[str]
        state_changelog_topics: list[TopicInfo]
        repartition_sink_topics: list[str]
        repartition_source_topics: list[TopicInfo]
        copartition_groups: list[CopartitionGroup]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_source_topics, pos = p.read_compact_string(buf, pos)
            source_topics.append(item_source_topics)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topic_regex = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_source_topic_regex, pos = p.read_compact_string(buf, pos)
            source_topic_regex.append(item_source_topic_regex)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        state_changelog_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_state_changelog_topics, pos, stop = yield from TopicInfo.read_steps(buf, pos, version, stop)
            state_changelog_topics.append(item_state_changelog_topics)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        repartition_sink_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_repartition_sink_topics, pos = p.read_compact_string(buf, pos)
            repartition_sink_topics.append(item_repartition_sink_topics)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        repartition_source_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_repartition_source_topics, pos, stop = yield from TopicInfo.read_steps(buf, pos, version, stop)
            repartition_source_topics.append(item_repartition_source_topics)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        copartition_groups = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_copartition_groups, pos, stop = yield from CopartitionGroup.read_steps(buf, pos, version, stop)
            copartition_groups.append(item_copartition_groups)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, source_topics, source_topic_regex, state_changelog_topics, repartition_sink_topics, repartition_source_topics, copartition_groups), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.source_topics) + 1)
        for item_source_topics in self.source_topics:
            out += p.compact_string(item_source_topics)
        out += p.uvarint(len(self.source_topic_regex) + 1)
        for item_source_topic_regex in self.source_topic_regex:
            out += p.compact_string(item_source_topic_regex)
        out += p.uvarint(len(self.state_changelog_topics) + 1)
        for item_state_changelog_topics in self.state_changelog_topics:
            item_state_changelog_topics.write(out, version)
        out += p.uvarint(len(self.repartition_sink_topics) + 1)
        for item_repartition_sink_topics in self.repartition_sink_topics:
            out += p.compact_string(item_repartition_sink_topics)
        out += p.uvarint(len(self.repartition_source_topics) + 1)
        for item_repartition_source_topics in self.repartition_source_topics:
            item_repartition_source_topics.write(out, version)
        out += p.uvarint(len(self.copartition_groups) + 1)
        for item_copartition_groups in self.copartition_groups:
            item_copartition_groups.write(out, version)
        out += b"\0"


class Topology(SlicedMessage):
    __slots__ = ("epoch", "subtopologies")

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: list[Subtopology] = NEW,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is NEW else subtopologies

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[Topology]:
        subtopologies: list[Subtopology]
        (epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        subtopologies = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_subtopologies, pos, stop = yield from Subtopology.read_steps(buf, pos, version, stop)
            subtopologies.append(item_subtopologies)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(epoch, subtopologies), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.epoch)
        out += p.uvarint(len(self.subtopologies) + 1)
        for item_subtopologies in self.subtopologies:
            item_subtopologies.write(out, version)
        out += b"\0"


class StreamsGroupHeartbeatRequestTaskIds(SlicedMessage):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[StreamsGroupHeartbeatRequestTaskIds]:
        partitions: list[int]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class StreamsGroupHeartbeatRequestEndpoint(Message):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupHeartbeatRequestEndpoint, int]:
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


class StreamsGroupHeartbeatRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "member_id", "member_epoch", "endpoint_information_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "shutdown_application")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[StreamsGroupHeartbeatRequest]:
        instance_id: str | None
        rack_id: str | None
        topology: Topology | None
        active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
        standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
        warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None
        process_id: str | None
        user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None
        client_tags: list[KeyValue] | None
        task_offsets: list[TaskOffset] | None
        task_end_offsets: list[TaskOffset] | None
        group_id, pos = p.read_compact_string(buf, pos)
        member_id, pos = p.read_compact_string(buf, pos)
        member_epoch, endpoint_information_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        instance_id, pos = p.read_compact_nullable_string(buf, pos)
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        (rebalance_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        pos += 1
        if buf[pos - 1] > 127:
            topology = None
        else:
            topology, pos, stop = yield from Topology.read_steps(buf, pos, version, stop)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            active_tasks = None
        else:
            active_tasks = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_active_tasks, pos, stop = yield from StreamsGroupHeartbeatRequestTaskIds.read_steps(buf, pos, version, stop)
                active_tasks.append(item_active_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            standby_tasks = None
        else:
            standby_tasks = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_standby_tasks, pos, stop = yield from StreamsGroupHeartbeatRequestTaskIds.read_steps(buf, pos, version, stop)
                standby_tasks.append(item_standby_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            warmup_tasks = None
        else:
            warmup_tasks = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_warmup_tasks, pos, stop = yield from StreamsGroupHeartbeatRequestTaskIds.read_steps(buf, pos, version, stop)
                warmup_tasks.append(item_warmup_tasks)
        process_id, pos = p.read_compact_nullable_string(buf, pos)
        pos += 1
        if buf[pos - 1] > 127:
            user_endpoint = None
        else:
            user_endpoint, pos = StreamsGroupHeartbeatRequestEndpoint.read(buf, pos, version)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            client_tags = None
        else:
            client_tags = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_client_tags, pos = KeyValue.read(buf, pos, version)
                client_tags.append(item_client_tags)
        n, pos = p.read_compact_array_length(buf, pos, 14)
        if n < 0:
            task_offsets = None
        else:
            task_offsets = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_task_offsets, pos = TaskOffset.read(buf, pos, version)
                task_offsets.append(item_task_offsets)
        n, pos = p.read_compact_array_length(buf, pos, 14)
        if n < 0:
            task_end_offsets = None
        else:
            task_end_offsets = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_task_end_offsets, pos = TaskOffset.read(buf, pos, version)
                task_end_offsets.append(item_task_end_offsets)
        (shutdown_application,) = _T.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, member_id, member_epoch, endpoint_information_epoch, instance_id, rack_id, rebalance_timeout_ms, topology, active_tasks, standby_tasks, warmup_tasks, process_id, user_endpoint, client_tags, task_offsets, task_end_offsets, shutdown_application), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.compact_string(self.member_id)
        out += _ii.pack(self.member_epoch, self.endpoint_information_epoch)
        out += p.compact_nullable_string(self.instance_id)
        out += p.compact_nullable_string(self.rack_id)
        out += _i.pack(self.rebalance_timeout_ms)
        if self.topology is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.topology.write(out, version)
        if self.active_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.active_tasks) + 1)
            for item_active_tasks in self.active_tasks:
                item_active_tasks.write(out, version)
        if self.standby_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.standby_tasks) + 1)
            for item_standby_tasks in self.standby_tasks:
                item_standby_tasks.write(out, version)
        if self.warmup_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.warmup_tasks) + 1)
            for item_warmup_tasks in self.warmup_tasks:
                item_warmup_tasks.write(out, version)
        out += p.compact_nullable_string(self.process_id)
        if self.user_endpoint is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.user_endpoint.write(out, version)
        if self.client_tags is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.client_tags) + 1)
            for item_client_tags in self.client_tags:
                item_client_tags.write(out, version)
        if self.task_offsets is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.task_offsets) + 1)
            for item_task_offsets in self.task_offsets:
                item_task_offsets.write(out, version)
        if self.task_end_offsets is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.task_end_offsets) + 1)
            for item_task_end_offsets in self.task_end_offsets:
                item_task_end_offsets.write(out, version)
        out += _T.pack(self.shutdown_application)
        out += b"\0"


class Status(Message):
    __slots__ = ("status_code", "status_detail")

    def __init__(
        self,
        status_code: int = 0,
        status_detail: str = "",
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Status, int]:
        (status_code,) = _b.unpack_from(buf, pos)
        pos += 1
        status_detail, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(status_code, status_detail), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _b.pack(self.status_code)
        out += p.compact_string(self.status_detail)
        out += b"\0"


class StreamsGroupHeartbeatResponseTaskIds(Message):
    __slots__ = ("subtopology_id", "partitions")

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupHeartbeatResponseTaskIds, int]:
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


class StreamsGroupHeartbeatResponseEndpoint(Message):
    __slots__ = ("host", "port")

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupHeartbeatResponseEndpoint, int]:
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


class TopicPartition(Message):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicPartition, int]:
        partitions: list[int]
        topic, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.topic)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class EndpointToPartitions(Message):
    __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")

    def __init__(
        self,
        user_endpoint: StreamsGroupHeartbeatResponseEndpoint = NEW,
        active_partitions: list[TopicPartition] = NEW,
        standby_partitions: list[TopicPartition] = NEW,
    ) -> None:
        self.user_endpoint = StreamsGroupHeartbeatResponseEndpoint() if user_endpoint is NEW else user_endpoint
        self.active_partitions = [] if active_partitions is NEW else active_partitions
        self.standby_partitions = [] if standby_partitions is NEW else standby_partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndpointToPartitions, int]:
        active_partitions: list[TopicPartition]
        standby_partitions: list[TopicPartition]
        user_endpoint, pos = StreamsGroupHeartbeatResponseEndpoint.read(buf, pos, version)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        active_partitions = []
        for _ in range(n):
            item_active_partitions, pos = TopicPartition.read(buf, pos, version)
            active_partitions.append(item_active_partitions)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        standby_partitions = []
        for _ in range(n):
            item_standby_partitions, pos = TopicPartition.read(buf, pos, version)
            standby_partitions.append(item_standby_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(user_endpoint, active_partitions, standby_partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        self.user_endpoint.write(out, version)
        out += p.uvarint(len(self.active_partitions) + 1)
        for item_active_partitions in self.active_partitions:
            item_active_partitions.write(out, version)
        out += p.uvarint(len(self.standby_partitions) + 1)
        for item_standby_partitions in self.standby_partitions:
            item_standby_partitions.write(out, version)
        out += b"\0"


class StreamsGroupHeartbeatResponse(Message):
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag_legacy", "task_offset_interval_ms", "acceptable_recovery_lag", "status", "active_tasks", "standby_tasks", "warmup_tasks", "topology_description_required", "endpoint_information_epoch", "partitions_by_user_endpoint")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag_legacy: int = 0,
        task_offset_interval_ms: int = 0,
        acceptable_recovery_lag: int = -1,
        status: list[Status] | None = NEW,
        active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None,
        topology_description_required: bool = False,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag_legacy = acceptable_recovery_lag_legacy
        self.task_offset_interval_ms = task_offset_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.status = [] if status is NEW else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.topology_description_required = topology_description_required
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
        error_message: str | None
        status: list[Status] | None
        active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
        standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
        warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None
        partitions_by_user_endpoint: list[EndpointToPartitions] | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        member_id, pos = p.read_compact_string(buf, pos)
        member_epoch, heartbeat_interval_ms = _ii.unpack_from(buf, pos)
        pos += 8
        if version == 0:
            (acceptable_recovery_lag_legacy,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            acceptable_recovery_lag_legacy = 0
        (task_offset_interval_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            (acceptable_recovery_lag,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            acceptable_recovery_lag = -1
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            status = None
        else:
            status = []
            for _ in range(n):
                item_status, pos = Status.read(buf, pos, version)
                status.append(item_status)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            active_tasks = None
        else:
            active_tasks = []
            for _ in range(n):
                item_active_tasks, pos = StreamsGroupHeartbeatResponseTaskIds.read(buf, pos, version)
                active_tasks.append(item_active_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            standby_tasks = None
        else:
            standby_tasks = []
            for _ in range(n):
                item_standby_tasks, pos = StreamsGroupHeartbeatResponseTaskIds.read(buf, pos, version)
                standby_tasks.append(item_standby_tasks)
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            warmup_tasks = None
        else:
            warmup_tasks = []
            for _ in range(n):
                item_warmup_tasks, pos = StreamsGroupHeartbeatResponseTaskIds.read(buf, pos, version)
                warmup_tasks.append(item_warmup_tasks)
        if version == 1:
            (topology_description_required,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            topology_description_required = False
        (endpoint_information_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            partitions_by_user_endpoint = None
        else:
            partitions_by_user_endpoint = []
            for _ in range(n):
                item_partitions_by_user_endpoint, pos = EndpointToPartitions.read(buf, pos, version)
                partitions_by_user_endpoint.append(item_partitions_by_user_endpoint)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, acceptable_recovery_lag_legacy, task_offset_interval_ms, acceptable_recovery_lag, status, active_tasks, standby_tasks, warmup_tasks, topology_description_required, endpoint_information_epoch, partitions_by_user_endpoint), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.compact_string(self.member_id)
        out += _ii.pack(self.member_epoch, self.heartbeat_interval_ms)
        if version == 0:
            out += _i.pack(self.acceptable_recovery_lag_legacy)
        out += _i.pack(self.task_offset_interval_ms)
        if version == 1:
            out += _q.pack(self.acceptable_recovery_lag)
        if self.status is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.status) + 1)
            for item_status in self.status:
                item_status.write(out, version)
        if self.active_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.active_tasks) + 1)
            for item_active_tasks in self.active_tasks:
                item_active_tasks.write(out, version)
        if self.standby_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.standby_tasks) + 1)
            for item_standby_tasks in self.standby_tasks:
                item_standby_tasks.write(out, version)
        if self.warmup_tasks is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.warmup_tasks) + 1)
            for item_warmup_tasks in self.warmup_tasks:
                item_warmup_tasks.write(out, version)
        if version == 1:
            out += _T.pack(self.topology_description_required)
        out += _i.pack(self.endpoint_information_epoch)
        if self.partitions_by_user_endpoint is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.partitions_by_user_endpoint) + 1)
            for item_partitions_by_user_endpoint in self.partitions_by_user_endpoint:
                item_partitions_by_user_endpoint.write(out, version)
        out += b"\0"


REQUEST = StreamsGroupHeartbeatRequest
RESPONSE = StreamsGroupHeartbeatResponse

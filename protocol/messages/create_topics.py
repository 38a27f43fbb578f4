"""CreateTopics (API key 19). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_TbT = Struct(">?b?")
_h = Struct(">h")
_i = Struct(">i")
_iT = Struct(">i?")
_ih = Struct(">ih")


class CreatableReplicaAssignment(SlicedMessage):
    __slots__ = ("partition_index", "broker_ids")

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is NEW else broker_ids

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatableReplicaAssignment]:
        broker_ids: list[int]
        if version >= 5:
            (partition_index,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            broker_ids, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(partition_index, broker_ids), pos, stop
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        broker_ids, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(partition_index, broker_ids), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += _i.pack(self.partition_index)
            out += p.uvarint(len(self.broker_ids) + 1)
            out += Struct(f">{len(self.broker_ids)}i").pack(*self.broker_ids)
            out += b"\0"
            return
        out += _i.pack(self.partition_index)
        out += p.array_length(len(self.broker_ids))
        out += Struct(f">{len(self.broker_ids)}i").pack(*self.broker_ids)


class CreatableTopicConfig(Message):
    __slots__ = ("name", "value")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CreatableTopicConfig, int]:
        value: str | None
        if version >= 5:
            name, pos = p.read_compact_string(buf, pos)
            value, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, value), pos
        name, pos = p.read_string(buf, pos)
        value, pos = p.read_nullable_string(buf, pos)
        return cls(name, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.compact_string(self.name)
            out += p.compact_nullable_string(self.value)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.nullable_string(self.value)


class CreatableTopic(SlicedMessage):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = NEW,
        configs: list[CreatableTopicConfig] = NEW,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is NEW else assignments
        self.configs = [] if configs is NEW else configs

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatableTopic]:
        assignments: list[CreatableReplicaAssignment]
        configs: list[CreatableTopicConfig]
        if version >= 5:
            name, pos = p.read_compact_string(buf, pos)
            num_partitions, replication_factor = _ih.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            assignments = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_assignments, pos, stop = yield from CreatableReplicaAssignment.read_steps(buf, pos, version, stop)
                assignments.append(item_assignments)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            configs = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_configs, pos = CreatableTopicConfig.read(buf, pos, version)
                configs.append(item_configs)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, num_partitions, replication_factor, assignments, configs), pos, stop
        name, pos = p.read_string(buf, pos)
        num_partitions, replication_factor = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        assignments = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_assignments, pos, stop = yield from CreatableReplicaAssignment.read_steps(buf, pos, version, stop)
            assignments.append(item_assignments)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        configs = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_configs, pos = CreatableTopicConfig.read(buf, pos, version)
            configs.append(item_configs)
        return cls(name, num_partitions, replication_factor, assignments, configs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.compact_string(self.name)
            out += _ih.pack(self.num_partitions, self.replication_factor)
            out += p.uvarint(len(self.assignments) + 1)
            for item_assignments in self.assignments:
                item_assignments.write(out, version)
            out += p.uvarint(len(self.configs) + 1)
            for item_configs in self.configs:
                item_configs.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += _ih.pack(self.num_partitions, self.replication_factor)
        out += p.array_length(len(self.assignments))
        for item_assignments in self.assignments:
            item_assignments.write(out, version)
        out += p.array_length(len(self.configs))
        for item_configs in self.configs:
            item_configs.write(out, version)


class CreateTopicsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatableTopic] = NEW,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreateTopicsRequest]:
        topics: list[CreatableTopic]
        if version >= 5:
            n, pos = p.read_compact_array_length(buf, pos, 10)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from CreatableTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            timeout_ms, validate_only = _iT.unpack_from(buf, pos)
            pos += 5
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topics, timeout_ms, validate_only), pos, stop
        n, pos = p.read_array_length(buf, pos, 16)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from CreatableTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        timeout_ms, validate_only = _iT.unpack_from(buf, pos)
        pos += 5
        return cls(topics, timeout_ms, validate_only), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += _iT.pack(self.timeout_ms, self.validate_only)
            out += b"\0"
            return
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _iT.pack(self.timeout_ms, self.validate_only)


class CreatableTopicConfigs(Message):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CreatableTopicConfigs, int]:
        value: str | None
        if version >= 5:
            name, pos = p.read_compact_string(buf, pos)
            value, pos = p.read_compact_nullable_string(buf, pos)
            read_only, config_source, is_sensitive = _TbT.unpack_from(buf, pos)
            pos += 3
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, value, read_only, config_source, is_sensitive), pos
        name = ""
        value = ""
        read_only = False
        config_source = -1
        is_sensitive = False
        return cls(name, value, read_only, config_source, is_sensitive), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
            out += p.compact_string(self.name)
            out += p.compact_nullable_string(self.value)
            out += _TbT.pack(self.read_only, self.config_source, self.is_sensitive)
            out += b"\0"
            return
        return


class CreatableTopicResult(SlicedMessage):
    __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is NEW else configs

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreatableTopicResult]:
        error_message: str | None
        configs: list[CreatableTopicConfigs] | None
        if version >= 5:
            name, pos = p.read_compact_string(buf, pos)
            if version == 7:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            num_partitions, replication_factor = _ih.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                configs = None
            else:
                configs = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_configs, pos = CreatableTopicConfigs.read(buf, pos, version)
                    configs.append(item_configs)
            topic_config_error_code = 0
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    (topic_config_error_code,) = _h.unpack_from(buf, pos)
                    pos += 2
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs), pos, stop
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        topic_config_error_code = 0
        num_partitions = -1
        replication_factor = -1
        configs = []
        return cls(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 5:
            out += p.compact_string(self.name)
            if version == 7:
                out += _U.pack(self.topic_id)
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += _ih.pack(self.num_partitions, self.replication_factor)
            if self.configs is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.configs) + 1)
                for item_configs in self.configs:
                    item_configs.write(out, version)
            tagged = []
            if self.topic_config_error_code != 0:
                value = p.MessageBuffer()
                value += _h.pack(self.topic_config_error_code)
                tagged.append((0, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += p.string(self.name)
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)


class CreateTopicsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5

    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreateTopicsResponse]:
        topics: list[CreatableTopicResult]
        if version >= 5:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 12)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from CreatableTopicResult.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, topics), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from CreatableTopicResult.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        return cls(throttle_time_ms, topics), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 5:
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


REQUEST = CreateTopicsRequest
RESPONSE = CreateTopicsResponse

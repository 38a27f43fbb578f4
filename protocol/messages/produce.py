"""Produce (API key 0). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_hi = Struct(">hi")
_i = Struct(">i")
_ihqq = Struct(">ihqq")
_ihqqq = Struct(">ihqqq")
_ii = Struct(">ii")
_q = Struct(">q")


class PartitionProduceData(Message):
    __slots__ = ("index", "records")

    def __init__(
        self,
        index: int = 0,
        records: p.Records | None = b"",
    ) -> None:
        self.index = index
        self.records = records

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionProduceData, int]:
        records: p.Records | None
        if version >= 9:
            (index,) = _i.unpack_from(buf, pos)
            pos += 4
            records, pos = p.read_compact_nullable_records(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(index, records), pos
        (index,) = _i.unpack_from(buf, pos)
        pos += 4
        records, pos = p.read_nullable_records(buf, pos)
        return cls(index, records), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _i.pack(self.index)
            p.write_compact_records(out, self.records)
            out += b"\0"
            return
        out += _i.pack(self.index)
        p.write_records(out, self.records)


class TopicProduceData(SlicedMessage):
    __slots__ = ("name", "topic_id", "partition_data")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partition_data: list[PartitionProduceData] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is NEW else partition_data

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopicProduceData]:
        partition_data: list[PartitionProduceData]
        if version >= 9:
            if version <= 12:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 13:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            partition_data = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partition_data, pos = PartitionProduceData.read(buf, pos, version)
                stop += p.unread_bytes(item_partition_data.records)
                partition_data.append(item_partition_data)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partition_data), pos, stop
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        partition_data = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partition_data, pos = PartitionProduceData.read(buf, pos, version)
            stop += p.unread_bytes(item_partition_data.records)
            partition_data.append(item_partition_data)
        return cls(name, topic_id, partition_data), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if version <= 12:
                out += p.compact_string(self.name)
            if version == 13:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partition_data) + 1)
            for item_partition_data in self.partition_data:
                item_partition_data.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partition_data))
        for item_partition_data in self.partition_data:
            item_partition_data.write(out, version)


class ProduceRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = NEW,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is NEW else topic_data

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ProduceRequest]:
        transactional_id: str | None
        topic_data: list[TopicProduceData]
        if version >= 9:
            transactional_id, pos = p.read_compact_nullable_string(buf, pos)
            acks, timeout_ms = _hi.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            topic_data = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topic_data, pos, stop = yield from TopicProduceData.read_steps(buf, pos, version, stop)
                topic_data.append(item_topic_data)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(transactional_id, acks, timeout_ms, topic_data), pos, stop
        transactional_id, pos = p.read_nullable_string(buf, pos)
        acks, timeout_ms = _hi.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topic_data = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topic_data, pos, stop = yield from TopicProduceData.read_steps(buf, pos, version, stop)
            topic_data.append(item_topic_data)
        return cls(transactional_id, acks, timeout_ms, topic_data), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += p.compact_nullable_string(self.transactional_id)
            out += _hi.pack(self.acks, self.timeout_ms)
            out += p.uvarint(len(self.topic_data) + 1)
            for item_topic_data in self.topic_data:
                item_topic_data.write(out, version)
            out += b"\0"
            return
        out += p.nullable_string(self.transactional_id)
        out += _hi.pack(self.acks, self.timeout_ms)
        out += p.array_length(len(self.topic_data))
        for item_topic_data in self.topic_data:
            item_topic_data.write(out, version)


class BatchIndexAndErrorMessage(Message):
    __slots__ = ("batch_index", "batch_index_error_message")

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BatchIndexAndErrorMessage, int]:
        batch_index_error_message: str | None
        if version >= 9:
            (batch_index,) = _i.unpack_from(buf, pos)
            pos += 4
            batch_index_error_message, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(batch_index, batch_index_error_message), pos
        if version == 8:
            (batch_index,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            batch_index = 0
        if version == 8:
            batch_index_error_message, pos = p.read_nullable_string(buf, pos)
        else:
            batch_index_error_message = None
        return cls(batch_index, batch_index_error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            out += _i.pack(self.batch_index)
            out += p.compact_nullable_string(self.batch_index_error_message)
            out += b"\0"
            return
        if version == 8:
            out += _i.pack(self.batch_index)
        if version == 8:
            out += p.nullable_string(self.batch_index_error_message)


class LeaderIdAndEpoch(Message):
    __slots__ = ("leader_id", "leader_epoch")

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderIdAndEpoch, int]:
        if version >= 9:
            if version >= 10:
                leader_id, leader_epoch = _ii.unpack_from(buf, pos)
                pos += 8
            else:
                leader_id = -1
                leader_epoch = -1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(leader_id, leader_epoch), pos
        leader_id = -1
        leader_epoch = -1
        return cls(leader_id, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if version >= 10:
                out += _ii.pack(self.leader_id, self.leader_epoch)
            out += b"\0"
            return
        return


class PartitionProduceResponse(Message):
    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = NEW,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is NEW else record_errors
        self.error_message = error_message
        self.current_leader = current_leader

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionProduceResponse, int]:
        record_errors: list[BatchIndexAndErrorMessage]
        error_message: str | None
        current_leader: LeaderIdAndEpoch | None
        if version >= 9:
            index, error_code, base_offset, log_append_time_ms, log_start_offset = _ihqqq.unpack_from(buf, pos)
            pos += 30
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            record_errors = []
            for _ in range(n):
                item_record_errors, pos = BatchIndexAndErrorMessage.read(buf, pos, version)
                record_errors.append(item_record_errors)
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            current_leader = None
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0 and version >= 10:
                    current_leader, pos = LeaderIdAndEpoch.read(buf, pos, version)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader), pos
        index, error_code, base_offset, log_append_time_ms = _ihqq.unpack_from(buf, pos)
        pos += 22
        if version >= 5:
            (log_start_offset,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            log_start_offset = -1
        if version == 8:
            n, pos = p.read_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            record_errors = []
            for _ in range(n):
                item_record_errors, pos = BatchIndexAndErrorMessage.read(buf, pos, version)
                record_errors.append(item_record_errors)
        else:
            record_errors = []
        if version == 8:
            error_message, pos = p.read_nullable_string(buf, pos)
        else:
            error_message = None
        current_leader = None
        return cls(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 9:
            out += _ihqqq.pack(self.index, self.error_code, self.base_offset, self.log_append_time_ms, self.log_start_offset)
            out += p.uvarint(len(self.record_errors) + 1)
            for item_record_errors in self.record_errors:
                item_record_errors.write(out, version)
            out += p.compact_nullable_string(self.error_message)
            tagged = []
            if version >= 10 and self.current_leader is not None and self.current_leader != LeaderIdAndEpoch():
                value = p.MessageBuffer()
                assert self.current_leader is not None
                self.current_leader.write(value, version)
                tagged.append((0, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _ihqq.pack(self.index, self.error_code, self.base_offset, self.log_append_time_ms)
        if version >= 5:
            out += _q.pack(self.log_start_offset)
        if version == 8:
            out += p.array_length(len(self.record_errors))
            for item_record_errors in self.record_errors:
                item_record_errors.write(out, version)
        if version == 8:
            out += p.nullable_string(self.error_message)


class TopicProduceResponse(Message):
    __slots__ = ("name", "topic_id", "partition_responses")

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = NEW,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is NEW else partition_responses

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicProduceResponse, int]:
        partition_responses: list[PartitionProduceResponse]
        if version >= 9:
            if version <= 12:
                name, pos = p.read_compact_string(buf, pos)
            else:
                name = ""
            if version == 13:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 33)
            if n < 0:
                p.refuse_null_array()
            partition_responses = []
            for _ in range(n):
                item_partition_responses, pos = PartitionProduceResponse.read(buf, pos, version)
                partition_responses.append(item_partition_responses)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, topic_id, partition_responses), pos
        name, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 22)
        if n < 0:
            p.refuse_null_array()
        partition_responses = []
        for _ in range(n):
            item_partition_responses, pos = PartitionProduceResponse.read(buf, pos, version)
            partition_responses.append(item_partition_responses)
        return cls(name, topic_id, partition_responses), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if version <= 12:
                out += p.compact_string(self.name)
            if version == 13:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partition_responses) + 1)
            for item_partition_responses in self.partition_responses:
                item_partition_responses.write(out, version)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.array_length(len(self.partition_responses))
        for item_partition_responses in self.partition_responses:
            item_partition_responses.write(out, version)


class NodeEndpoint(Message):
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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[NodeEndpoint, int]:
        rack: str | None
        if version >= 9:
            if version >= 10:
                (node_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                node_id = 0
            if version >= 10:
                host, pos = p.read_compact_string(buf, pos)
            else:
                host = ""
            if version >= 10:
                (port,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                port = 0
            if version >= 10:
                rack, pos = p.read_compact_nullable_string(buf, pos)
            else:
                rack = None
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(node_id, host, port, rack), pos
        node_id = 0
        host = ""
        port = 0
        rack = None
        return cls(node_id, host, port, rack), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 9:
            if version >= 10:
                out += _i.pack(self.node_id)
            if version >= 10:
                out += p.compact_string(self.host)
            if version >= 10:
                out += _i.pack(self.port)
            if version >= 10:
                out += p.compact_nullable_string(self.rack)
            out += b"\0"
            return
        return


class ProduceResponse(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")

    def __init__(
        self,
        responses: list[TopicProduceResponse] = NEW,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.responses = [] if responses is NEW else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ProduceResponse, int]:
        responses: list[TopicProduceResponse]
        node_endpoints: list[NodeEndpoint]
        if version >= 9:
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            responses = []
            for _ in range(n):
                item_responses, pos = TopicProduceResponse.read(buf, pos, version)
                responses.append(item_responses)
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            node_endpoints = []
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0 and version >= 10:
                    n, pos = p.read_compact_array_length(buf, pos, 11)
                    if n < 0:
                        p.refuse_null_array()
                    node_endpoints = []
                    for _ in range(n):
                        item_node_endpoints, pos = NodeEndpoint.read(buf, pos, version)
                        node_endpoints.append(item_node_endpoints)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(responses, throttle_time_ms, node_endpoints), pos
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            item_responses, pos = TopicProduceResponse.read(buf, pos, version)
            responses.append(item_responses)
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        node_endpoints = []
        return cls(responses, throttle_time_ms, node_endpoints), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 9:
            out += p.uvarint(len(self.responses) + 1)
            for item_responses in self.responses:
                item_responses.write(out, version)
            out += _i.pack(self.throttle_time_ms)
            tagged = []
            if version >= 10 and self.node_endpoints:
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
        out += p.array_length(len(self.responses))
        for item_responses in self.responses:
            item_responses.write(out, version)
        out += _i.pack(self.throttle_time_ms)


REQUEST = ProduceRequest
RESPONSE = ProduceResponse

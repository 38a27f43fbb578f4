"""ShareFetch (API key 78). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_bT = Struct(">b?")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iiiiii = Struct(">iiiiii")
_qq = Struct(">qq")
_qqh = Struct(">qqh")


class AcknowledgementBatch(SlicedMessage):
    __slots__ = ("first_offset", "last_offset", "acknowledge_types")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: list[int] = NEW,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is NEW else acknowledge_types

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AcknowledgementBatch]:
        acknowledge_types: list[int]
        first_offset, last_offset = _qq.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        acknowledge_types, pos, stop = yield from p.read_numbers(buf, pos, n, "b", 1, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(first_offset, last_offset, acknowledge_types), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qq.pack(self.first_offset, self.last_offset)
        out += p.uvarint(len(self.acknowledge_types) + 1)
        out += Struct(f">{len(self.acknowledge_types)}b").pack(*self.acknowledge_types)
        out += b"\0"


class FetchPartition(SlicedMessage):
    __slots__ = ("partition_index", "partition_max_bytes", "acknowledgement_batches")

    def __init__(
        self,
        partition_index: int = 0,
        partition_max_bytes: int = 0,
        acknowledgement_batches: list[AcknowledgementBatch] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.partition_max_bytes = partition_max_bytes
        self.acknowledgement_batches = [] if acknowledgement_batches is NEW else acknowledgement_batches

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchPartition]:
        acknowledgement_batches: list[AcknowledgementBatch]
        (partition_index,) = _i.unpack_from(buf, pos)
        pos += 4
        partition_max_bytes = 0
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        acknowledgement_batches = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_acknowledgement_batches, pos, stop = yield from AcknowledgementBatch.read_steps(buf, pos, version, stop)
            acknowledgement_batches.append(item_acknowledgement_batches)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, partition_max_bytes, acknowledgement_batches), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.partition_index)
        out += p.uvarint(len(self.acknowledgement_batches) + 1)
        for item_acknowledgement_batches in self.acknowledgement_batches:
            item_acknowledgement_batches.write(out, version)
        out += b"\0"


class FetchTopic(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[FetchPartition] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchTopic]:
        partitions: list[FetchPartition]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos, stop = yield from FetchPartition.read_steps(buf, pos, version, stop)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class ForgottenTopic(SlicedMessage):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ForgottenTopic]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class ShareFetchRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("group_id", "member_id", "share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size", "share_acquire_mode", "is_renew_ack", "topics", "forgotten_topics_data")

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[FetchTopic] = NEW,
        forgotten_topics_data: list[ForgottenTopic] = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is NEW else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is NEW else forgotten_topics_data

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ShareFetchRequest]:
        group_id: str | None
        member_id: str | None
        topics: list[FetchTopic]
        forgotten_topics_data: list[ForgottenTopic]
        group_id, pos = p.read_compact_nullable_string(buf, pos)
        member_id, pos = p.read_compact_nullable_string(buf, pos)
        share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size = _iiiiii.unpack_from(buf, pos)
        pos += 24
        if version == 2:
            share_acquire_mode, is_renew_ack = _bT.unpack_from(buf, pos)
            pos += 2
        else:
            share_acquire_mode = 0
            is_renew_ack = False
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from FetchTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        forgotten_topics_data = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_forgotten_topics_data, pos, stop = yield from ForgottenTopic.read_steps(buf, pos, version, stop)
            forgotten_topics_data.append(item_forgotten_topics_data)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, member_id, share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack, topics, forgotten_topics_data), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.group_id)
        out += p.compact_nullable_string(self.member_id)
        out += _iiiiii.pack(self.share_session_epoch, self.max_wait_ms, self.min_bytes, self.max_bytes, self.max_records, self.batch_size)
        if version == 2:
            out += _bT.pack(self.share_acquire_mode, self.is_renew_ack)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += p.uvarint(len(self.forgotten_topics_data) + 1)
        for item_forgotten_topics_data in self.forgotten_topics_data:
            item_forgotten_topics_data.write(out, version)
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


class AcquiredRecords(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_count = delivery_count

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AcquiredRecords, int]:
        first_offset, last_offset, delivery_count = _qqh.unpack_from(buf, pos)
        pos += 18
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(first_offset, last_offset, delivery_count), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qqh.pack(self.first_offset, self.last_offset, self.delivery_count)
        out += b"\0"


class PartitionData(Message):
    __slots__ = ("partition_index", "error_code", "error_message", "acknowledge_error_code", "acknowledge_error_message", "current_leader", "records", "acquired_records")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acknowledge_error_code: int = 0,
        acknowledge_error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = NEW,
        records: p.Records = b"",
        acquired_records: list[AcquiredRecords] = NEW,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.acknowledge_error_code = acknowledge_error_code
        self.acknowledge_error_message = acknowledge_error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is NEW else current_leader
        self.records = records
        self.acquired_records = [] if acquired_records is NEW else acquired_records

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionData, int]:
        error_message: str | None
        acknowledge_error_message: str | None
        acquired_records: list[AcquiredRecords]
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        (acknowledge_error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        acknowledge_error_message, pos = p.read_compact_nullable_string(buf, pos)
        current_leader, pos = LeaderIdAndEpoch.read(buf, pos, version)
        records, pos = p.read_compact_records(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        acquired_records = []
        for _ in range(n):
            item_acquired_records, pos = AcquiredRecords.read(buf, pos, version)
            acquired_records.append(item_acquired_records)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code, error_message, acknowledge_error_code, acknowledge_error_message, current_leader, records, acquired_records), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += _h.pack(self.acknowledge_error_code)
        out += p.compact_nullable_string(self.acknowledge_error_message)
        self.current_leader.write(out, version)
        p.write_compact_records(out, self.records)
        out += p.uvarint(len(self.acquired_records) + 1)
        for item_acquired_records in self.acquired_records:
            item_acquired_records.write(out, version)
        out += b"\0"


class ShareFetchableTopicResponse(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareFetchableTopicResponse, int]:
        partitions: list[PartitionData]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 22)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


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

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.node_id)
        out += p.compact_string(self.host)
        out += _i.pack(self.port)
        out += p.compact_nullable_string(self.rack)
        out += b"\0"


class ShareFetchResponse(Message):
    API_KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareFetchableTopicResponse] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is NEW else responses
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareFetchResponse, int]:
        error_message: str | None
        responses: list[ShareFetchableTopicResponse]
        node_endpoints: list[NodeEndpoint]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        (acquisition_lock_timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 18)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            item_responses, pos = ShareFetchableTopicResponse.read(buf, pos, version)
            responses.append(item_responses)
        n, pos = p.read_compact_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        node_endpoints = []
        for _ in range(n):
            item_node_endpoints, pos = NodeEndpoint.read(buf, pos, version)
            node_endpoints.append(item_node_endpoints)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += _i.pack(self.acquisition_lock_timeout_ms)
        out += p.uvarint(len(self.responses) + 1)
        for item_responses in self.responses:
            item_responses.write(out, version)
        out += p.uvarint(len(self.node_endpoints) + 1)
        for item_node_endpoints in self.node_endpoints:
            item_node_endpoints.write(out, version)
        out += b"\0"


REQUEST = ShareFetchRequest
RESPONSE = ShareFetchResponse

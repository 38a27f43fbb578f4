"""Fetch (API key 1). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_hi = Struct(">hi")
_i = Struct(">i")
_ihi = Struct(">ihi")
_ihqq = Struct(">ihqq")
_ihqqq = Struct(">ihqqq")
_ii = Struct(">ii")
_iiib = Struct(">iiib")
_iiibii = Struct(">iiibii")
_iiqiqi = Struct(">iiqiqi")
_iq = Struct(">iq")
_q = Struct(">q")
_qi = Struct(">qi")
_qq = Struct(">qq")


class ReplicaState(Message):
    __slots__ = ("replica_id", "replica_epoch")

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ReplicaState, int]:
        if version >= 12:
            if version >= 15:
                replica_id, replica_epoch = _iq.unpack_from(buf, pos)
                pos += 12
            else:
                replica_id = -1
                replica_epoch = -1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(replica_id, replica_epoch), pos
        replica_id = -1
        replica_epoch = -1
        return cls(replica_id, replica_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            if version >= 15:
                out += _iq.pack(self.replica_id, self.replica_epoch)
            out += b"\0"
            return
        return


class FetchPartition(Message):
    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = p.ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchPartition, int]:
        if version >= 12:
            partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _iiqiqi.unpack_from(buf, pos)
            pos += 32
            replica_directory_id = p.ZERO_UUID
            high_watermark = 9223372036854775807
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0 and version >= 17:
                    (replica_directory_id,) = _U.unpack_from(buf, pos)
                    pos += 16
                elif tag == 1 and version == 18:
                    (high_watermark,) = _q.unpack_from(buf, pos)
                    pos += 8
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark), pos
        (partition,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 9:
            (current_leader_epoch,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            current_leader_epoch = -1
        (fetch_offset,) = _q.unpack_from(buf, pos)
        pos += 8
        last_fetched_epoch = -1
        if version >= 5:
            (log_start_offset,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            log_start_offset = -1
        (partition_max_bytes,) = _i.unpack_from(buf, pos)
        pos += 4
        replica_directory_id = p.ZERO_UUID
        high_watermark = 9223372036854775807
        return cls(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 12:
            out += _iiqiqi.pack(self.partition, self.current_leader_epoch, self.fetch_offset, self.last_fetched_epoch, self.log_start_offset, self.partition_max_bytes)
            tagged = []
            if version >= 17 and self.replica_directory_id != p.ZERO_UUID:
                value = p.MessageBuffer()
                value += _U.pack(self.replica_directory_id)
                tagged.append((0, value))
            if version == 18 and self.high_watermark != 9223372036854775807:
                value = p.MessageBuffer()
                value += _q.pack(self.high_watermark)
                tagged.append((1, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _i.pack(self.partition)
        if version >= 9:
            out += _i.pack(self.current_leader_epoch)
        out += _q.pack(self.fetch_offset)
        if version >= 5:
            out += _q.pack(self.log_start_offset)
        out += _i.pack(self.partition_max_bytes)


class FetchTopic(SlicedMessage):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[FetchPartition] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchTopic]:
        partitions: list[FetchPartition]
        if version >= 12:
            if version == 12:
                topic, pos = p.read_compact_string(buf, pos)
            else:
                topic = ""
            if version >= 13:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 33)
            if n < 0:
                p.refuse_null_array()
            partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_partitions, pos = FetchPartition.read(buf, pos, version)
                partitions.append(item_partitions)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, topic_id, partitions), pos, stop
        topic, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 16)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_partitions, pos = FetchPartition.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic, topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            if version == 12:
                out += p.compact_string(self.topic)
            if version >= 13:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


class ForgottenTopic(SlicedMessage):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ForgottenTopic]:
        partitions: list[int]
        if version >= 12:
            if version == 12:
                topic, pos = p.read_compact_string(buf, pos)
            else:
                topic = ""
            if version >= 13:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(topic, topic_id, partitions), pos, stop
        if version >= 7:
            topic, pos = p.read_string(buf, pos)
        else:
            topic = ""
        topic_id = p.ZERO_UUID
        if version >= 7:
            n, pos = p.read_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        else:
            partitions = []
        return cls(topic, topic_id, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            if version == 12:
                out += p.compact_string(self.topic)
            if version >= 13:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partitions) + 1)
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
            out += b"\0"
            return
        if version >= 7:
            out += p.string(self.topic)
        if version >= 7:
            out += p.array_length(len(self.partitions))
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class FetchRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12

    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = NEW,
        forgotten_topics_data: list[ForgottenTopic] = NEW,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is NEW else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is NEW else forgotten_topics_data
        self.rack_id = rack_id

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[FetchRequest]:
        cluster_id: str | None
        replica_state: ReplicaState | None
        topics: list[FetchTopic]
        forgotten_topics_data: list[ForgottenTopic]
        if version >= 12:
            if version <= 14:
                (replica_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                replica_id = -1
            max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _iiibii.unpack_from(buf, pos)
            pos += 21
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            topics = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_topics, pos, stop = yield from FetchTopic.read_steps(buf, pos, version, stop)
                topics.append(item_topics)
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            forgotten_topics_data = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_forgotten_topics_data, pos, stop = yield from ForgottenTopic.read_steps(buf, pos, version, stop)
                forgotten_topics_data.append(item_forgotten_topics_data)
            rack_id, pos = p.read_compact_string(buf, pos)
            cluster_id = None
            replica_state = None
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    cluster_id, pos = p.read_compact_nullable_string(buf, pos)
                elif tag == 1 and version >= 15:
                    replica_state, pos = ReplicaState.read(buf, pos, version)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(cluster_id, replica_id, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos, stop
        cluster_id = None
        (replica_id,) = _i.unpack_from(buf, pos)
        pos += 4
        replica_state = None
        max_wait_ms, min_bytes, max_bytes, isolation_level = _iiib.unpack_from(buf, pos)
        pos += 13
        if version >= 7:
            session_id, session_epoch = _ii.unpack_from(buf, pos)
            pos += 8
        else:
            session_id = 0
            session_epoch = -1
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from FetchTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        if version >= 7:
            n, pos = p.read_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            forgotten_topics_data = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_forgotten_topics_data, pos, stop = yield from ForgottenTopic.read_steps(buf, pos, version, stop)
                forgotten_topics_data.append(item_forgotten_topics_data)
        else:
            forgotten_topics_data = []
        if version == 11:
            rack_id, pos = p.read_string(buf, pos)
        else:
            rack_id = ""
        return cls(cluster_id, replica_id, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 12:
            if version <= 14:
                out += _i.pack(self.replica_id)
            out += _iiibii.pack(self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level, self.session_id, self.session_epoch)
            out += p.uvarint(len(self.topics) + 1)
            for item_topics in self.topics:
                item_topics.write(out, version)
            out += p.uvarint(len(self.forgotten_topics_data) + 1)
            for item_forgotten_topics_data in self.forgotten_topics_data:
                item_forgotten_topics_data.write(out, version)
            out += p.compact_string(self.rack_id)
            tagged = []
            if self.cluster_id is not None:
                value = p.MessageBuffer()
                value += p.compact_nullable_string(self.cluster_id)
                tagged.append((0, value))
            if version >= 15 and self.replica_state is not None and self.replica_state != ReplicaState():
                value = p.MessageBuffer()
                assert self.replica_state is not None
                self.replica_state.write(value, version)
                tagged.append((1, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _i.pack(self.replica_id)
        out += _iiib.pack(self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level)
        if version >= 7:
            out += _ii.pack(self.session_id, self.session_epoch)
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            item_topics.write(out, version)
        if version >= 7:
            out += p.array_length(len(self.forgotten_topics_data))
            for item_forgotten_topics_data in self.forgotten_topics_data:
                item_forgotten_topics_data.write(out, version)
        if version == 11:
            out += p.string(self.rack_id)


class EpochEndOffset(Message):
    __slots__ = ("epoch", "end_offset")

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EpochEndOffset, int]:
        if version >= 12:
            epoch, end_offset = _iq.unpack_from(buf, pos)
            pos += 12
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(epoch, end_offset), pos
        epoch = -1
        end_offset = -1
        return cls(epoch, end_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            out += _iq.pack(self.epoch, self.end_offset)
            out += b"\0"
            return
        return


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
        if version >= 12:
            leader_id, leader_epoch = _ii.unpack_from(buf, pos)
            pos += 8
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(leader_id, leader_epoch), pos
        leader_id = -1
        leader_epoch = -1
        return cls(leader_id, leader_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            out += _ii.pack(self.leader_id, self.leader_epoch)
            out += b"\0"
            return
        return


class SnapshotId(Message):
    __slots__ = ("end_offset", "epoch")

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SnapshotId, int]:
        if version >= 12:
            end_offset, epoch = _qi.unpack_from(buf, pos)
            pos += 12
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(end_offset, epoch), pos
        end_offset, epoch = _qi.unpack_from(buf, pos)
        pos += 12
        return cls(end_offset, epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            out += _qi.pack(self.end_offset, self.epoch)
            out += b"\0"
            return
        out += _qi.pack(self.end_offset, self.epoch)


class AbortedTransaction(Message):
    __slots__ = ("producer_id", "first_offset")

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AbortedTransaction, int]:
        if version >= 12:
            producer_id, first_offset = _qq.unpack_from(buf, pos)
            pos += 16
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(producer_id, first_offset), pos
        producer_id, first_offset = _qq.unpack_from(buf, pos)
        pos += 16
        return cls(producer_id, first_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            out += _qq.pack(self.producer_id, self.first_offset)
            out += b"\0"
            return
        out += _qq.pack(self.producer_id, self.first_offset)


class PartitionData(Message):
    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = NEW,
        preferred_read_replica: int = -1,
        records: p.Records | None = b"",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.aborted_transactions = [] if aborted_transactions is NEW else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[PartitionData, int]:
        diverging_epoch: EpochEndOffset | None
        current_leader: LeaderIdAndEpoch | None
        snapshot_id: SnapshotId | None
        aborted_transactions: list[AbortedTransaction] | None
        records: p.Records | None
        if version >= 12:
            partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _ihqqq.unpack_from(buf, pos)
            pos += 30
            n, pos = p.read_compact_array_length(buf, pos, 17)
            if n < 0:
                aborted_transactions = None
            else:
                aborted_transactions = []
                for _ in range(n):
                    item_aborted_transactions, pos = AbortedTransaction.read(buf, pos, version)
                    aborted_transactions.append(item_aborted_transactions)
            (preferred_read_replica,) = _i.unpack_from(buf, pos)
            pos += 4
            records, pos = p.read_compact_nullable_records(buf, pos)
            diverging_epoch = None
            current_leader = None
            snapshot_id = None
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    diverging_epoch, pos = EpochEndOffset.read(buf, pos, version)
                elif tag == 1:
                    current_leader, pos = LeaderIdAndEpoch.read(buf, pos, version)
                elif tag == 2:
                    snapshot_id, pos = SnapshotId.read(buf, pos, version)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records), pos
        partition_index, error_code, high_watermark, last_stable_offset = _ihqq.unpack_from(buf, pos)
        pos += 22
        if version >= 5:
            (log_start_offset,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            log_start_offset = -1
        diverging_epoch = None
        current_leader = None
        snapshot_id = None
        n, pos = p.read_array_length(buf, pos, 16)
        if n < 0:
            aborted_transactions = None
        else:
            aborted_transactions = []
            for _ in range(n):
                item_aborted_transactions, pos = AbortedTransaction.read(buf, pos, version)
                aborted_transactions.append(item_aborted_transactions)
        if version == 11:
            (preferred_read_replica,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            preferred_read_replica = -1
        records, pos = p.read_nullable_records(buf, pos)
        return cls(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 12:
            out += _ihqqq.pack(self.partition_index, self.error_code, self.high_watermark, self.last_stable_offset, self.log_start_offset)
            if self.aborted_transactions is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.aborted_transactions) + 1)
                for item_aborted_transactions in self.aborted_transactions:
                    item_aborted_transactions.write(out, version)
            out += _i.pack(self.preferred_read_replica)
            p.write_compact_records(out, self.records)
            tagged = []
            if self.diverging_epoch is not None and self.diverging_epoch != EpochEndOffset():
                value = p.MessageBuffer()
                assert self.diverging_epoch is not None
                self.diverging_epoch.write(value, version)
                tagged.append((0, value))
            if self.current_leader is not None and self.current_leader != LeaderIdAndEpoch():
                value = p.MessageBuffer()
                assert self.current_leader is not None
                self.current_leader.write(value, version)
                tagged.append((1, value))
            if self.snapshot_id is not None and self.snapshot_id != SnapshotId():
                value = p.MessageBuffer()
                assert self.snapshot_id is not None
                self.snapshot_id.write(value, version)
                tagged.append((2, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _ihqq.pack(self.partition_index, self.error_code, self.high_watermark, self.last_stable_offset)
        if version >= 5:
            out += _q.pack(self.log_start_offset)
        if self.aborted_transactions is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.aborted_transactions))
            for item_aborted_transactions in self.aborted_transactions:
                item_aborted_transactions.write(out, version)
        if version == 11:
            out += _i.pack(self.preferred_read_replica)
        p.write_records(out, self.records)


class FetchableTopicResponse(Message):
    __slots__ = ("topic", "topic_id", "partitions")

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[PartitionData] = NEW,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchableTopicResponse, int]:
        partitions: list[PartitionData]
        if version >= 12:
            if version == 12:
                topic, pos = p.read_compact_string(buf, pos)
            else:
                topic = ""
            if version >= 13:
                (topic_id,) = _U.unpack_from(buf, pos)
                pos += 16
            else:
                topic_id = p.ZERO_UUID
            n, pos = p.read_compact_array_length(buf, pos, 37)
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
            return cls(topic, topic_id, partitions), pos
        topic, pos = p.read_string(buf, pos)
        topic_id = p.ZERO_UUID
        n, pos = p.read_array_length(buf, pos, 30)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = PartitionData.read(buf, pos, version)
            partitions.append(item_partitions)
        return cls(topic, topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 12:
            if version == 12:
                out += p.compact_string(self.topic)
            if version >= 13:
                out += _U.pack(self.topic_id)
            out += p.uvarint(len(self.partitions) + 1)
            for item_partitions in self.partitions:
                item_partitions.write(out, version)
            out += b"\0"
            return
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        for item_partitions in self.partitions:
            item_partitions.write(out, version)


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
        if version >= 12:
            if version >= 16:
                (node_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                node_id = 0
            if version >= 16:
                host, pos = p.read_compact_string(buf, pos)
            else:
                host = ""
            if version >= 16:
                (port,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                port = 0
            if version >= 16:
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
        if version >= 12:
            if version >= 16:
                out += _i.pack(self.node_id)
            if version >= 16:
                out += p.compact_string(self.host)
            if version >= 16:
                out += _i.pack(self.port)
            if version >= 16:
                out += p.compact_nullable_string(self.rack)
            out += b"\0"
            return
        return


class FetchResponse(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12

    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = NEW,
        node_endpoints: list[NodeEndpoint] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is NEW else responses
        self.node_endpoints = [] if node_endpoints is NEW else node_endpoints

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchResponse, int]:
        responses: list[FetchableTopicResponse]
        node_endpoints: list[NodeEndpoint]
        if version >= 12:
            throttle_time_ms, error_code, session_id = _ihi.unpack_from(buf, pos)
            pos += 10
            n, pos = p.read_compact_array_length(buf, pos, 2)
            if n < 0:
                p.refuse_null_array()
            responses = []
            for _ in range(n):
                item_responses, pos = FetchableTopicResponse.read(buf, pos, version)
                responses.append(item_responses)
            node_endpoints = []
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0 and version >= 16:
                    n, pos = p.read_compact_array_length(buf, pos, 11)
                    if n < 0:
                        p.refuse_null_array()
                    node_endpoints = []
                    for _ in range(n):
                        item_node_endpoints, pos = NodeEndpoint.read(buf, pos, version)
                        node_endpoints.append(item_node_endpoints)
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(throttle_time_ms, error_code, session_id, responses, node_endpoints), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        if version >= 7:
            error_code, session_id = _hi.unpack_from(buf, pos)
            pos += 6
        else:
            error_code = 0
            session_id = 0
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            item_responses, pos = FetchableTopicResponse.read(buf, pos, version)
            responses.append(item_responses)
        node_endpoints = []
        return cls(throttle_time_ms, error_code, session_id, responses, node_endpoints), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 12:
            out += _ihi.pack(self.throttle_time_ms, self.error_code, self.session_id)
            out += p.uvarint(len(self.responses) + 1)
            for item_responses in self.responses:
                item_responses.write(out, version)
            tagged = []
            if version >= 16 and self.node_endpoints:
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
        out += _i.pack(self.throttle_time_ms)
        if version >= 7:
            out += _hi.pack(self.error_code, self.session_id)
        out += p.array_length(len(self.responses))
        for item_responses in self.responses:
            item_responses.write(out, version)


REQUEST = FetchRequest
RESPONSE = FetchResponse

"""The messages of consumer-protocol.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_T = Struct(">?")
_H = Struct(">H")
_h = Struct(">h")
_hh = Struct(">hh")
_hi = Struct(">hi")
_hq = Struct(">hq")
_i = Struct(">i")
_iU = Struct(">i16s")
_qqqq = Struct(">qqqq")


class AbortedTxn(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("producer_id", "first_offset", "last_offset", "last_stable_offset")

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
        last_offset: int = 0,
        last_stable_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.last_stable_offset = last_stable_offset

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AbortedTxn, int]:
        producer_id, first_offset, last_offset, last_stable_offset = _qqqq.unpack_from(buf, pos)
        pos += 32
        return cls(producer_id, first_offset, last_offset, last_stable_offset), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qqqq.pack(self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset)


class ConsumerProtocolAssignmentTopicPartition(SlicedMessage):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ConsumerProtocolAssignmentTopicPartition]:
        partitions: list[int]
        topic, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        return cls(topic, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.topic)
        out += p.array_length(len(self.partitions))
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class ConsumerProtocolAssignment(SlicedMessage):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("assigned_partitions", "user_data")

    def __init__(
        self,
        assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = NEW,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is NEW else assigned_partitions
        self.user_data = user_data

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ConsumerProtocolAssignment]:
        assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition]
        user_data: bytes | None
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        assigned_partitions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_assigned_partitions, pos, stop = yield from ConsumerProtocolAssignmentTopicPartition.read_steps(buf, pos, version, stop)
            assigned_partitions.append(item_assigned_partitions)
        user_data, pos = p.read_nullable_bytes(buf, pos)
        stop += p.unread_bytes(user_data)
        return cls(assigned_partitions, user_data), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.array_length(len(self.assigned_partitions))
        for item_assigned_partitions in self.assigned_partitions:
            item_assigned_partitions.write(out, version)
        p.write_records(out, self.user_data)


class ConsumerProtocolSubscriptionTopicPartition(SlicedMessage):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ConsumerProtocolSubscriptionTopicPartition]:
        partitions: list[int]
        if version >= 1:
            topic, pos = p.read_string(buf, pos)
        else:
            topic = ""
        if version >= 1:
            n, pos = p.read_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            partitions, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        else:
            partitions = []
        return cls(topic, partitions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.string(self.topic)
        if version >= 1:
            out += p.array_length(len(self.partitions))
            out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)


class ConsumerProtocolSubscription(SlicedMessage):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")

    def __init__(
        self,
        topics: list[str] = NEW,
        user_data: bytes | None = None,
        owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = NEW,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is NEW else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ConsumerProtocolSubscription]:
        topics: list[str]
        user_data: bytes | None
        owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition]
        rack_id: str | None
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos = p.read_string(buf, pos)
            topics.append(item_topics)
        user_data, pos = p.read_nullable_bytes(buf, pos)
        stop += p.unread_bytes(user_data)
        if version >= 1:
            n, pos = p.read_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            owned_partitions = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_owned_partitions, pos, stop = yield from ConsumerProtocolSubscriptionTopicPartition.read_steps(buf, pos, version, stop)
                owned_partitions.append(item_owned_partitions)
        else:
            owned_partitions = []
        if version >= 2:
            (generation_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            generation_id = -1
        if version == 3:
            rack_id, pos = p.read_nullable_string(buf, pos)
        else:
            rack_id = None
        return cls(topics, user_data, owned_partitions, generation_id, rack_id), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.array_length(len(self.topics))
        for item_topics in self.topics:
            out += p.string(item_topics)
        p.write_records(out, self.user_data)
        if version >= 1:
            out += p.array_length(len(self.owned_partitions))
            for item_owned_partitions in self.owned_partitions:
                item_owned_partitions.write(out, version)
        if version >= 2:
            out += _i.pack(self.generation_id)
        if version == 3:
            out += p.nullable_string(self.rack_id)


class ControlRecordTypeSchema(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("type",)

    def __init__(
        self,
        type: int = 0,
    ) -> None:
        self.type = type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ControlRecordTypeSchema, int]:
        (type,) = _h.unpack_from(buf, pos)
        pos += 2
        return cls(type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.type)


class DefaultPrincipalData(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("type", "name", "token_authenticated")

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DefaultPrincipalData, int]:
        type, pos = p.read_compact_string(buf, pos)
        name, pos = p.read_compact_string(buf, pos)
        (token_authenticated,) = _T.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(type, name, token_authenticated), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.type)
        out += p.compact_string(self.name)
        out += _T.pack(self.token_authenticated)
        out += b"\0"


class EndTxnMarker(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("coordinator_epoch",)

    def __init__(
        self,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch = coordinator_epoch

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EndTxnMarker, int]:
        (coordinator_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(coordinator_epoch), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.coordinator_epoch)


class KRaftVersionRecord(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "k_raft_version")

    def __init__(
        self,
        version: int = 0,
        k_raft_version: int = 0,
    ) -> None:
        self.version = version
        self.k_raft_version = k_raft_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[KRaftVersionRecord, int]:
        version_, k_raft_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(version_, k_raft_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hh.pack(self.version, self.k_raft_version)
        out += b"\0"


class LeaderChangeMessageVoter(Message):
    __slots__ = ("voter_id", "voter_directory_id")

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = p.ZERO_UUID,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderChangeMessageVoter, int]:
        (voter_id,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 1:
            (voter_directory_id,) = _U.unpack_from(buf, pos)
            pos += 16
        else:
            voter_directory_id = p.ZERO_UUID
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(voter_id, voter_directory_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.voter_id)
        if version == 1:
            out += _U.pack(self.voter_directory_id)
        out += b"\0"


class LeaderChangeMessage(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "leader_id", "voters", "granting_voters")

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[LeaderChangeMessageVoter] = NEW,
        granting_voters: list[LeaderChangeMessageVoter] = NEW,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is NEW else voters
        self.granting_voters = [] if granting_voters is NEW else granting_voters

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[LeaderChangeMessage, int]:
        voters: list[LeaderChangeMessageVoter]
        granting_voters: list[LeaderChangeMessageVoter]
        version_, leader_id = _hi.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        voters = []
        for _ in range(n):
            item_voters, pos = LeaderChangeMessageVoter.read(buf, pos, version)
            voters.append(item_voters)
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        granting_voters = []
        for _ in range(n):
            item_granting_voters, pos = LeaderChangeMessageVoter.read(buf, pos, version)
            granting_voters.append(item_granting_voters)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(version_, leader_id, voters, granting_voters), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hi.pack(self.version, self.leader_id)
        out += p.uvarint(len(self.voters) + 1)
        for item_voters in self.voters:
            item_voters.write(out, version)
        out += p.uvarint(len(self.granting_voters) + 1)
        for item_granting_voters in self.granting_voters:
            item_granting_voters.write(out, version)
        out += b"\0"


class SnapshotFooterRecord(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version",)

    def __init__(
        self,
        version: int = 0,
    ) -> None:
        self.version = version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SnapshotFooterRecord, int]:
        (version_,) = _h.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(version_), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.version)
        out += b"\0"


class SnapshotHeaderRecord(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "last_contained_log_timestamp")

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SnapshotHeaderRecord, int]:
        version_, last_contained_log_timestamp = _hq.unpack_from(buf, pos)
        pos += 10
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(version_, last_contained_log_timestamp), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hq.pack(self.version, self.last_contained_log_timestamp)
        out += b"\0"


class Endpoint(Message):
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
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Endpoint, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _H.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _H.pack(self.port)
        out += b"\0"


class KRaftVersionFeature(Message):
    __slots__ = ("min_supported_version", "max_supported_version")

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[KRaftVersionFeature, int]:
        min_supported_version, max_supported_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(min_supported_version, max_supported_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hh.pack(self.min_supported_version, self.max_supported_version)
        out += b"\0"


class VotersRecordVoter(Message):
    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "k_raft_version_feature")

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = p.ZERO_UUID,
        endpoints: list[Endpoint] = NEW,
        k_raft_version_feature: KRaftVersionFeature = NEW,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is NEW else endpoints
        self.k_raft_version_feature = KRaftVersionFeature() if k_raft_version_feature is NEW else k_raft_version_feature

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VotersRecordVoter, int]:
        endpoints: list[Endpoint]
        voter_id, voter_directory_id = _iU.unpack_from(buf, pos)
        pos += 20
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        endpoints = []
        for _ in range(n):
            item_endpoints, pos = Endpoint.read(buf, pos, version)
            endpoints.append(item_endpoints)
        k_raft_version_feature, pos = KRaftVersionFeature.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(voter_id, voter_directory_id, endpoints, k_raft_version_feature), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _iU.pack(self.voter_id, self.voter_directory_id)
        out += p.uvarint(len(self.endpoints) + 1)
        for item_endpoints in self.endpoints:
            item_endpoints.write(out, version)
        self.k_raft_version_feature.write(out, version)
        out += b"\0"


class VotersRecord(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "voters")

    def __init__(
        self,
        version: int = 0,
        voters: list[VotersRecordVoter] = NEW,
    ) -> None:
        self.version = version
        self.voters = [] if voters is NEW else voters

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[VotersRecord, int]:
        voters: list[VotersRecordVoter]
        (version_,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_compact_array_length(buf, pos, 27)
        if n < 0:
            p.refuse_null_array()
        voters = []
        for _ in range(n):
            item_voters, pos = VotersRecordVoter.read(buf, pos, version)
            voters.append(item_voters)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(version_, voters), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.version)
        out += p.uvarint(len(self.voters) + 1)
        for item_voters in self.voters:
            item_voters.write(out, version)
        out += b"\0"

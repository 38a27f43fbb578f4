"""ShareGroupDescribe (API key 77). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_T = Struct(">?")
_h = Struct(">h")
_i = Struct(">i")
_ii = Struct(">ii")


class ShareGroupDescribeRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 77
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("group_ids", "include_authorized_operations")

    def __init__(
        self,
        group_ids: list[str] = NEW,
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = [] if group_ids is NEW else group_ids
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ShareGroupDescribeRequest]:
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
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_ids, include_authorized_operations), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.group_ids) + 1)
        for item_group_ids in self.group_ids:
            out += p.compact_string(item_group_ids)
        out += _T.pack(self.include_authorized_operations)
        out += b"\0"


class TopicPartitions(Message):
    __slots__ = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicPartitions, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        topic_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, topic_name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
        out += p.compact_string(self.topic_name)
        out += p.uvarint(len(self.partitions) + 1)
        out += Struct(f">{len(self.partitions)}i").pack(*self.partitions)
        out += b"\0"


class Assignment(Message):
    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = NEW,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is NEW else topic_partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Assignment, int]:
        topic_partitions: list[TopicPartitions]
        n, pos = p.read_compact_array_length(buf, pos, 19)
        if n < 0:
            p.refuse_null_array()
        topic_partitions = []
        for _ in range(n):
            item_topic_partitions, pos = TopicPartitions.read(buf, pos, version)
            topic_partitions.append(item_topic_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.topic_partitions) + 1)
        for item_topic_partitions in self.topic_partitions:
            item_topic_partitions.write(out, version)
        out += b"\0"


class Member(Message):
    __slots__ = ("member_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "assignment")

    def __init__(
        self,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = NEW,
        assignment: Assignment = NEW,
    ) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NEW else subscribed_topic_names
        self.assignment = Assignment() if assignment is NEW else assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Member, int]:
        rack_id: str | None
        subscribed_topic_names: list[str]
        member_id, pos = p.read_compact_string(buf, pos)
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        (member_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        client_id, pos = p.read_compact_string(buf, pos)
        client_host, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        subscribed_topic_names = []
        for _ in range(n):
            item_subscribed_topic_names, pos = p.read_compact_string(buf, pos)
            subscribed_topic_names.append(item_subscribed_topic_names)
        assignment, pos = Assignment.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(member_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.member_id)
        out += p.compact_nullable_string(self.rack_id)
        out += _i.pack(self.member_epoch)
        out += p.compact_string(self.client_id)
        out += p.compact_string(self.client_host)
        out += p.uvarint(len(self.subscribed_topic_names) + 1)
        for item_subscribed_topic_names in self.subscribed_topic_names:
            out += p.compact_string(item_subscribed_topic_names)
        self.assignment.write(out, version)
        out += b"\0"


class DescribedGroup(Message):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: list[Member] = NEW,
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is NEW else members
        self.authorized_operations = authorized_operations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedGroup, int]:
        error_message: str | None
        members: list[Member]
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        group_id, pos = p.read_compact_string(buf, pos)
        group_state, pos = p.read_compact_string(buf, pos)
        group_epoch, assignment_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        assignor_name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 12)
        if n < 0:
            p.refuse_null_array()
        members = []
        for _ in range(n):
            item_members, pos = Member.read(buf, pos, version)
            members.append(item_members)
        (authorized_operations,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.compact_string(self.group_id)
        out += p.compact_string(self.group_state)
        out += _ii.pack(self.group_epoch, self.assignment_epoch)
        out += p.compact_string(self.assignor_name)
        out += p.uvarint(len(self.members) + 1)
        for item_members in self.members:
            item_members.write(out, version)
        out += _i.pack(self.authorized_operations)
        out += b"\0"


class ShareGroupDescribeResponse(Message):
    API_KEY: ClassVar[int] = 77
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupDescribeResponse, int]:
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


REQUEST = ShareGroupDescribeRequest
RESPONSE = ShareGroupDescribeResponse

"""ShareGroupHeartbeat (API key 76). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_U = Struct(">16s")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")


class ShareGroupHeartbeatRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ShareGroupHeartbeatRequest]:
        rack_id: str | None
        subscribed_topic_names: list[str] | None
        group_id, pos = p.read_compact_string(buf, pos)
        member_id, pos = p.read_compact_string(buf, pos)
        (member_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        rack_id, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            subscribed_topic_names = None
        else:
            subscribed_topic_names = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_subscribed_topic_names, pos = p.read_compact_string(buf, pos)
                subscribed_topic_names.append(item_subscribed_topic_names)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, member_id, member_epoch, rack_id, subscribed_topic_names), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.compact_string(self.member_id)
        out += _i.pack(self.member_epoch)
        out += p.compact_nullable_string(self.rack_id)
        if self.subscribed_topic_names is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.subscribed_topic_names) + 1)
            for item_subscribed_topic_names in self.subscribed_topic_names:
                out += p.compact_string(item_subscribed_topic_names)
        out += b"\0"


class TopicPartitions(Message):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: bytes = p.ZERO_UUID,
        partitions: list[int] = NEW,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TopicPartitions, int]:
        partitions: list[int]
        (topic_id,) = _U.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partitions = list(Struct(f">{n}i").unpack_from(buf, pos))
        pos += n * 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(topic_id, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _U.pack(self.topic_id)
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
        n, pos = p.read_compact_array_length(buf, pos, 18)
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


class ShareGroupHeartbeatResponse(Message):
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareGroupHeartbeatResponse, int]:
        error_message: str | None
        member_id: str | None
        assignment: Assignment | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        member_id, pos = p.read_compact_nullable_string(buf, pos)
        member_epoch, heartbeat_interval_ms = _ii.unpack_from(buf, pos)
        pos += 8
        pos += 1
        if buf[pos - 1] > 127:
            assignment = None
        else:
            assignment, pos = Assignment.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.compact_nullable_string(self.member_id)
        out += _ii.pack(self.member_epoch, self.heartbeat_interval_ms)
        if self.assignment is None:
            out += b"\xff"
        else:
            out += b"\x01"
            self.assignment.write(out, version)
        out += b"\0"


REQUEST = ShareGroupHeartbeatRequest
RESPONSE = ShareGroupHeartbeatResponse

"""The messages of share-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_Ui = Struct(">16si")
_i = Struct(">i")
_iiiqqq = Struct(">iiiqqq")
_iiq = Struct(">iiq")
_qqbh = Struct(">qqbh")


class ShareSnapshotKey(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "topic_id", "partition")

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareSnapshotKey, int]:
        group_id, pos = p.read_string(buf, pos)
        topic_id, partition = _Ui.unpack_from(buf, pos)
        pos += 20
        return cls(group_id, topic_id, partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += _Ui.pack(self.topic_id, self.partition)


class ShareSnapshotValueStateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareSnapshotValueStateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _qqbh.unpack_from(buf, pos)
        pos += 19
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(first_offset, last_offset, delivery_state, delivery_count), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qqbh.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        out += b"\0"


class ShareSnapshotValue(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("snapshot_epoch", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "create_timestamp", "write_timestamp", "state_batches")

    def __init__(
        self,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[ShareSnapshotValueStateBatch] = NEW,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is NEW else state_batches

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareSnapshotValue, int]:
        state_batches: list[ShareSnapshotValueStateBatch]
        snapshot_epoch, state_epoch, leader_epoch, start_offset, create_timestamp, write_timestamp = _iiiqqq.unpack_from(buf, pos)
        pos += 36
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        state_batches = []
        for _ in range(n):
            item_state_batches, pos = ShareSnapshotValueStateBatch.read(buf, pos, version)
            state_batches.append(item_state_batches)
        delivery_complete_count = -1
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (delivery_complete_count,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(snapshot_epoch, state_epoch, leader_epoch, start_offset, delivery_complete_count, create_timestamp, write_timestamp, state_batches), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iiiqqq.pack(self.snapshot_epoch, self.state_epoch, self.leader_epoch, self.start_offset, self.create_timestamp, self.write_timestamp)
        out += p.uvarint(len(self.state_batches) + 1)
        for item_state_batches in self.state_batches:
            item_state_batches.write(out, version)
        tagged = []
        if self.delivery_complete_count != -1:
            value = p.MessageBuffer()
            value += _i.pack(self.delivery_complete_count)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class ShareUpdateKey(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    __slots__ = ("group_id", "topic_id", "partition")

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = p.ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareUpdateKey, int]:
        group_id, pos = p.read_string(buf, pos)
        topic_id, partition = _Ui.unpack_from(buf, pos)
        pos += 20
        return cls(group_id, topic_id, partition), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.string(self.group_id)
        out += _Ui.pack(self.topic_id, self.partition)


class ShareUpdateValueStateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareUpdateValueStateBatch, int]:
        first_offset, last_offset, delivery_state, delivery_count = _qqbh.unpack_from(buf, pos)
        pos += 19
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(first_offset, last_offset, delivery_state, delivery_count), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qqbh.pack(self.first_offset, self.last_offset, self.delivery_state, self.delivery_count)
        out += b"\0"


class ShareUpdateValue(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[ShareUpdateValueStateBatch] = NEW,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is NEW else state_batches

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ShareUpdateValue, int]:
        state_batches: list[ShareUpdateValueStateBatch]
        snapshot_epoch, leader_epoch, start_offset = _iiq.unpack_from(buf, pos)
        pos += 16
        n, pos = p.read_compact_array_length(buf, pos, 20)
        if n < 0:
            p.refuse_null_array()
        state_batches = []
        for _ in range(n):
            item_state_batches, pos = ShareUpdateValueStateBatch.read(buf, pos, version)
            state_batches.append(item_state_batches)
        delivery_complete_count = -1
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                (delivery_complete_count,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(snapshot_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iiq.pack(self.snapshot_epoch, self.leader_epoch, self.start_offset)
        out += p.uvarint(len(self.state_batches) + 1)
        for item_state_batches in self.state_batches:
            item_state_batches.write(out, version)
        tagged = []
        if self.delivery_complete_count != -1:
            value = p.MessageBuffer()
            value += _i.pack(self.delivery_complete_count)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"

"""AlterClientQuotas (API key 49). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_dT = Struct(">d?")
_h = Struct(">h")
_i = Struct(">i")


class AlterClientQuotasRequestEntityData(Message):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasRequestEntityData, int]:
        entity_name: str | None
        if version >= 1:
            entity_type, pos = p.read_compact_string(buf, pos)
            entity_name, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity_type, entity_name), pos
        entity_type, pos = p.read_string(buf, pos)
        entity_name, pos = p.read_nullable_string(buf, pos)
        return cls(entity_type, entity_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.entity_type)
            out += p.compact_nullable_string(self.entity_name)
            out += b"\0"
            return
        out += p.string(self.entity_type)
        out += p.nullable_string(self.entity_name)


class OpData(Message):
    __slots__ = ("key", "value", "remove")

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[OpData, int]:
        if version >= 1:
            key, pos = p.read_compact_string(buf, pos)
            value, remove = _dT.unpack_from(buf, pos)
            pos += 9
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(key, value, remove), pos
        key, pos = p.read_string(buf, pos)
        value, remove = _dT.unpack_from(buf, pos)
        pos += 9
        return cls(key, value, remove), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.key)
            out += _dT.pack(self.value, self.remove)
            out += b"\0"
            return
        out += p.string(self.key)
        out += _dT.pack(self.value, self.remove)


class AlterClientQuotasRequestEntryData(SlicedMessage):
    __slots__ = ("entity", "ops")

    def __init__(
        self,
        entity: list[AlterClientQuotasRequestEntityData] = NEW,
        ops: list[OpData] = NEW,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.ops = [] if ops is NEW else ops

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterClientQuotasRequestEntryData]:
        entity: list[AlterClientQuotasRequestEntityData]
        ops: list[OpData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entity = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_entity, pos = AlterClientQuotasRequestEntityData.read(buf, pos, version)
                entity.append(item_entity)
            n, pos = p.read_compact_array_length(buf, pos, 11)
            if n < 0:
                p.refuse_null_array()
            ops = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_ops, pos = OpData.read(buf, pos, version)
                ops.append(item_ops)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity, ops), pos, stop
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_entity, pos = AlterClientQuotasRequestEntityData.read(buf, pos, version)
            entity.append(item_entity)
        n, pos = p.read_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        ops = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_ops, pos = OpData.read(buf, pos, version)
            ops.append(item_ops)
        return cls(entity, ops), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.uvarint(len(self.entity) + 1)
            for item_entity in self.entity:
                item_entity.write(out, version)
            out += p.uvarint(len(self.ops) + 1)
            for item_ops in self.ops:
                item_ops.write(out, version)
            out += b"\0"
            return
        out += p.array_length(len(self.entity))
        for item_entity in self.entity:
            item_entity.write(out, version)
        out += p.array_length(len(self.ops))
        for item_ops in self.ops:
            item_ops.write(out, version)


class AlterClientQuotasRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("entries", "validate_only")

    def __init__(
        self,
        entries: list[AlterClientQuotasRequestEntryData] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.entries = [] if entries is NEW else entries
        self.validate_only = validate_only

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterClientQuotasRequest]:
        entries: list[AlterClientQuotasRequestEntryData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entries = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_entries, pos, stop = yield from AlterClientQuotasRequestEntryData.read_steps(buf, pos, version, stop)
                entries.append(item_entries)
            (validate_only,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entries, validate_only), pos, stop
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        entries = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_entries, pos, stop = yield from AlterClientQuotasRequestEntryData.read_steps(buf, pos, version, stop)
            entries.append(item_entries)
        (validate_only,) = _T.unpack_from(buf, pos)
        pos += 1
        return cls(entries, validate_only), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.uvarint(len(self.entries) + 1)
            for item_entries in self.entries:
                item_entries.write(out, version)
            out += _T.pack(self.validate_only)
            out += b"\0"
            return
        out += p.array_length(len(self.entries))
        for item_entries in self.entries:
            item_entries.write(out, version)
        out += _T.pack(self.validate_only)


class AlterClientQuotasResponseEntityData(Message):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasResponseEntityData, int]:
        entity_name: str | None
        if version >= 1:
            entity_type, pos = p.read_compact_string(buf, pos)
            entity_name, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity_type, entity_name), pos
        entity_type, pos = p.read_string(buf, pos)
        entity_name, pos = p.read_nullable_string(buf, pos)
        return cls(entity_type, entity_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.entity_type)
            out += p.compact_nullable_string(self.entity_name)
            out += b"\0"
            return
        out += p.string(self.entity_type)
        out += p.nullable_string(self.entity_name)


class AlterClientQuotasResponseEntryData(SlicedMessage):
    __slots__ = ("error_code", "error_message", "entity")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[AlterClientQuotasResponseEntityData] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is NEW else entity

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterClientQuotasResponseEntryData]:
        error_message: str | None
        entity: list[AlterClientQuotasResponseEntityData]
        if version >= 1:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entity = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_entity, pos = AlterClientQuotasResponseEntityData.read(buf, pos, version)
                entity.append(item_entity)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, entity), pos, stop
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_entity, pos = AlterClientQuotasResponseEntityData.read(buf, pos, version)
            entity.append(item_entity)
        return cls(error_code, error_message, entity), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += p.uvarint(len(self.entity) + 1)
            for item_entity in self.entity:
                item_entity.write(out, version)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        out += p.array_length(len(self.entity))
        for item_entity in self.entity:
            item_entity.write(out, version)


class AlterClientQuotasResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponseEntryData] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is NEW else entries

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterClientQuotasResponse]:
        entries: list[AlterClientQuotasResponseEntryData]
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            entries = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_entries, pos, stop = yield from AlterClientQuotasResponseEntryData.read_steps(buf, pos, version, stop)
                entries.append(item_entries)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, entries), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        entries = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_entries, pos, stop = yield from AlterClientQuotasResponseEntryData.read_steps(buf, pos, version, stop)
            entries.append(item_entries)
        return cls(throttle_time_ms, entries), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.entries) + 1)
            for item_entries in self.entries:
                item_entries.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.entries))
        for item_entries in self.entries:
            item_entries.write(out, version)


REQUEST = AlterClientQuotasRequest
RESPONSE = AlterClientQuotasResponse

"""AlterClientQuotas (API key 49). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from protocol import primitives as p

_T = Struct(">?")
_dT = Struct(">d?")
_h = Struct(">h")
_i = Struct(">i")


@dataclass(slots=True)
class AlterClientQuotasRequestEntityData:
    entity_type: str = ""
    entity_name: str | None = ""

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


@dataclass(slots=True)
class OpData:
    key: str = ""
    value: float = 0.0
    remove: bool = False

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


@dataclass(slots=True)
class AlterClientQuotasRequestEntryData:
    entity: list[AlterClientQuotasRequestEntityData] = field(default_factory=list)
    ops: list[OpData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasRequestEntryData, int]:
        entity: list[AlterClientQuotasRequestEntityData]
        ops: list[OpData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entity = []
            for _ in range(n):
                item_entity, pos = AlterClientQuotasRequestEntityData.read(buf, pos, version)
                entity.append(item_entity)
            n, pos = p.read_compact_array_length(buf, pos, 11)
            if n < 0:
                p.refuse_null_array()
            ops = []
            for _ in range(n):
                item_ops, pos = OpData.read(buf, pos, version)
                ops.append(item_ops)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity, ops), pos
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            item_entity, pos = AlterClientQuotasRequestEntityData.read(buf, pos, version)
            entity.append(item_entity)
        n, pos = p.read_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        ops = []
        for _ in range(n):
            item_ops, pos = OpData.read(buf, pos, version)
            ops.append(item_ops)
        return cls(entity, ops), pos

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


@dataclass(slots=True)
class AlterClientQuotasRequest:
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    entries: list[AlterClientQuotasRequestEntryData] = field(default_factory=list)
    validate_only: bool = False

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasRequest, int]:
        entries: list[AlterClientQuotasRequestEntryData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entries = []
            for _ in range(n):
                item_entries, pos = AlterClientQuotasRequestEntryData.read(buf, pos, version)
                entries.append(item_entries)
            (validate_only,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entries, validate_only), pos
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        entries = []
        for _ in range(n):
            item_entries, pos = AlterClientQuotasRequestEntryData.read(buf, pos, version)
            entries.append(item_entries)
        (validate_only,) = _T.unpack_from(buf, pos)
        pos += 1
        return cls(entries, validate_only), pos

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


@dataclass(slots=True)
class AlterClientQuotasResponseEntityData:
    entity_type: str = ""
    entity_name: str | None = ""

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


@dataclass(slots=True)
class AlterClientQuotasResponseEntryData:
    error_code: int = 0
    error_message: str | None = ""
    entity: list[AlterClientQuotasResponseEntityData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasResponseEntryData, int]:
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
                item_entity, pos = AlterClientQuotasResponseEntityData.read(buf, pos, version)
                entity.append(item_entity)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, entity), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            item_entity, pos = AlterClientQuotasResponseEntityData.read(buf, pos, version)
            entity.append(item_entity)
        return cls(error_code, error_message, entity), pos

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


@dataclass(slots=True)
class AlterClientQuotasResponse:
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    throttle_time_ms: int = 0
    entries: list[AlterClientQuotasResponseEntryData] = field(default_factory=list)

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterClientQuotasResponse, int]:
        entries: list[AlterClientQuotasResponseEntryData]
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            entries = []
            for _ in range(n):
                item_entries, pos = AlterClientQuotasResponseEntryData.read(buf, pos, version)
                entries.append(item_entries)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, entries), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        entries = []
        for _ in range(n):
            item_entries, pos = AlterClientQuotasResponseEntryData.read(buf, pos, version)
            entries.append(item_entries)
        return cls(throttle_time_ms, entries), pos

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

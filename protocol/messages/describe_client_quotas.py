"""DescribeClientQuotas (API key 48). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_b = Struct(">b")
_d = Struct(">d")
_ih = Struct(">ih")


class ComponentData(Message):
    __slots__ = ("entity_type", "match_type", "match")

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ComponentData, int]:
        match: str | None
        if version >= 1:
            entity_type, pos = p.read_compact_string(buf, pos)
            (match_type,) = _b.unpack_from(buf, pos)
            pos += 1
            match, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity_type, match_type, match), pos
        entity_type, pos = p.read_string(buf, pos)
        (match_type,) = _b.unpack_from(buf, pos)
        pos += 1
        match, pos = p.read_nullable_string(buf, pos)
        return cls(entity_type, match_type, match), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.entity_type)
            out += _b.pack(self.match_type)
            out += p.compact_nullable_string(self.match)
            out += b"\0"
            return
        out += p.string(self.entity_type)
        out += _b.pack(self.match_type)
        out += p.nullable_string(self.match)


class DescribeClientQuotasRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("components", "strict")

    def __init__(
        self,
        components: list[ComponentData] = NEW,
        strict: bool = False,
    ) -> None:
        self.components = [] if components is NEW else components
        self.strict = strict

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeClientQuotasRequest]:
        components: list[ComponentData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            components = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_components, pos = ComponentData.read(buf, pos, version)
                components.append(item_components)
            (strict,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(components, strict), pos, stop
        n, pos = p.read_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        components = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_components, pos = ComponentData.read(buf, pos, version)
            components.append(item_components)
        (strict,) = _T.unpack_from(buf, pos)
        pos += 1
        return cls(components, strict), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.uvarint(len(self.components) + 1)
            for item_components in self.components:
                item_components.write(out, version)
            out += _T.pack(self.strict)
            out += b"\0"
            return
        out += p.array_length(len(self.components))
        for item_components in self.components:
            item_components.write(out, version)
        out += _T.pack(self.strict)


class EntityData(Message):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EntityData, int]:
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


class ValueData(Message):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ValueData, int]:
        if version >= 1:
            key, pos = p.read_compact_string(buf, pos)
            (value,) = _d.unpack_from(buf, pos)
            pos += 8
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(key, value), pos
        key, pos = p.read_string(buf, pos)
        (value,) = _d.unpack_from(buf, pos)
        pos += 8
        return cls(key, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.key)
            out += _d.pack(self.value)
            out += b"\0"
            return
        out += p.string(self.key)
        out += _d.pack(self.value)


class EntryData(Message):
    __slots__ = ("entity", "values")

    def __init__(
        self,
        entity: list[EntityData] = NEW,
        values: list[ValueData] = NEW,
    ) -> None:
        self.entity = [] if entity is NEW else entity
        self.values = [] if values is NEW else values

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[EntryData, int]:
        entity: list[EntityData]
        values: list[ValueData]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            entity = []
            for _ in range(n):
                item_entity, pos = EntityData.read(buf, pos, version)
                entity.append(item_entity)
            n, pos = p.read_compact_array_length(buf, pos, 10)
            if n < 0:
                p.refuse_null_array()
            values = []
            for _ in range(n):
                item_values, pos = ValueData.read(buf, pos, version)
                values.append(item_values)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(entity, values), pos
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        entity = []
        for _ in range(n):
            item_entity, pos = EntityData.read(buf, pos, version)
            entity.append(item_entity)
        n, pos = p.read_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        values = []
        for _ in range(n):
            item_values, pos = ValueData.read(buf, pos, version)
            values.append(item_values)
        return cls(entity, values), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.uvarint(len(self.entity) + 1)
            for item_entity in self.entity:
                item_entity.write(out, version)
            out += p.uvarint(len(self.values) + 1)
            for item_values in self.values:
                item_values.write(out, version)
            out += b"\0"
            return
        out += p.array_length(len(self.entity))
        for item_entity in self.entity:
            item_entity.write(out, version)
        out += p.array_length(len(self.values))
        for item_values in self.values:
            item_values.write(out, version)


class DescribeClientQuotasResponse(Message):
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is NEW else entries

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeClientQuotasResponse, int]:
        error_message: str | None
        entries: list[EntryData] | None
        if version >= 1:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                entries = None
            else:
                entries = []
                for _ in range(n):
                    item_entries, pos = EntryData.read(buf, pos, version)
                    entries.append(item_entries)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, error_message, entries), pos
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_nullable_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 8)
        if n < 0:
            entries = None
        else:
            entries = []
            for _ in range(n):
                item_entries, pos = EntryData.read(buf, pos, version)
                entries.append(item_entries)
        return cls(throttle_time_ms, error_code, error_message, entries), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += p.compact_nullable_string(self.error_message)
            if self.entries is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.entries) + 1)
                for item_entries in self.entries:
                    item_entries.write(out, version)
            out += b"\0"
            return
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.nullable_string(self.error_message)
        if self.entries is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.entries))
            for item_entries in self.entries:
                item_entries.write(out, version)


REQUEST = DescribeClientQuotasRequest
RESPONSE = DescribeClientQuotasResponse

"""DescribeConfigs (API key 32). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_TT = Struct(">??")
_TbT = Struct(">?b?")
_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")


class DescribeConfigsResource(SlicedMessage):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is NEW else configuration_keys

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeConfigsResource]:
        configuration_keys: list[str] | None
        if version >= 4:
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                configuration_keys = None
            else:
                configuration_keys = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_configuration_keys, pos = p.read_compact_string(buf, pos)
                    configuration_keys.append(item_configuration_keys)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resource_type, resource_name, configuration_keys), pos, stop
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 2)
        if n < 0:
            configuration_keys = None
        else:
            configuration_keys = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_configuration_keys, pos = p.read_string(buf, pos)
                configuration_keys.append(item_configuration_keys)
        return cls(resource_type, resource_name, configuration_keys), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            if self.configuration_keys is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.configuration_keys) + 1)
                for item_configuration_keys in self.configuration_keys:
                    out += p.compact_string(item_configuration_keys)
            out += b"\0"
            return
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        if self.configuration_keys is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.configuration_keys))
            for item_configuration_keys in self.configuration_keys:
                out += p.string(item_configuration_keys)


class DescribeConfigsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("resources", "include_synonyms", "include_documentation")

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = NEW,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is NEW else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeConfigsRequest]:
        resources: list[DescribeConfigsResource]
        if version >= 4:
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            resources = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_resources, pos, stop = yield from DescribeConfigsResource.read_steps(buf, pos, version, stop)
                resources.append(item_resources)
            include_synonyms, include_documentation = _TT.unpack_from(buf, pos)
            pos += 2
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resources, include_synonyms, include_documentation), pos, stop
        n, pos = p.read_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        resources = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_resources, pos, stop = yield from DescribeConfigsResource.read_steps(buf, pos, version, stop)
            resources.append(item_resources)
        (include_synonyms,) = _T.unpack_from(buf, pos)
        pos += 1
        if version == 3:
            (include_documentation,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            include_documentation = False
        return cls(resources, include_synonyms, include_documentation), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.uvarint(len(self.resources) + 1)
            for item_resources in self.resources:
                item_resources.write(out, version)
            out += _TT.pack(self.include_synonyms, self.include_documentation)
            out += b"\0"
            return
        out += p.array_length(len(self.resources))
        for item_resources in self.resources:
            item_resources.write(out, version)
        out += _T.pack(self.include_synonyms)
        if version == 3:
            out += _T.pack(self.include_documentation)


class DescribeConfigsSynonym(Message):
    __slots__ = ("name", "value", "source")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeConfigsSynonym, int]:
        value: str | None
        if version >= 4:
            name, pos = p.read_compact_string(buf, pos)
            value, pos = p.read_compact_nullable_string(buf, pos)
            (source,) = _b.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, value, source), pos
        name, pos = p.read_string(buf, pos)
        value, pos = p.read_nullable_string(buf, pos)
        (source,) = _b.unpack_from(buf, pos)
        pos += 1
        return cls(name, value, source), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.name)
            out += p.compact_nullable_string(self.value)
            out += _b.pack(self.source)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.nullable_string(self.value)
        out += _b.pack(self.source)


class DescribeConfigsResourceResult(Message):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = NEW,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is NEW else synonyms
        self.config_type = config_type
        self.documentation = documentation

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeConfigsResourceResult, int]:
        value: str | None
        synonyms: list[DescribeConfigsSynonym]
        documentation: str | None
        if version >= 4:
            name, pos = p.read_compact_string(buf, pos)
            value, pos = p.read_compact_nullable_string(buf, pos)
            read_only, config_source, is_sensitive = _TbT.unpack_from(buf, pos)
            pos += 3
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            synonyms = []
            for _ in range(n):
                item_synonyms, pos = DescribeConfigsSynonym.read(buf, pos, version)
                synonyms.append(item_synonyms)
            (config_type,) = _b.unpack_from(buf, pos)
            pos += 1
            documentation, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation), pos
        name, pos = p.read_string(buf, pos)
        value, pos = p.read_nullable_string(buf, pos)
        read_only, config_source, is_sensitive = _TbT.unpack_from(buf, pos)
        pos += 3
        n, pos = p.read_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        synonyms = []
        for _ in range(n):
            item_synonyms, pos = DescribeConfigsSynonym.read(buf, pos, version)
            synonyms.append(item_synonyms)
        if version == 3:
            (config_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            config_type = 0
        if version == 3:
            documentation, pos = p.read_nullable_string(buf, pos)
        else:
            documentation = ""
        return cls(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += p.compact_string(self.name)
            out += p.compact_nullable_string(self.value)
            out += _TbT.pack(self.read_only, self.config_source, self.is_sensitive)
            out += p.uvarint(len(self.synonyms) + 1)
            for item_synonyms in self.synonyms:
                item_synonyms.write(out, version)
            out += _b.pack(self.config_type)
            out += p.compact_nullable_string(self.documentation)
            out += b"\0"
            return
        out += p.string(self.name)
        out += p.nullable_string(self.value)
        out += _TbT.pack(self.read_only, self.config_source, self.is_sensitive)
        out += p.array_length(len(self.synonyms))
        for item_synonyms in self.synonyms:
            item_synonyms.write(out, version)
        if version == 3:
            out += _b.pack(self.config_type)
        if version == 3:
            out += p.nullable_string(self.documentation)


class DescribeConfigsResult(Message):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = NEW,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NEW else configs

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeConfigsResult, int]:
        error_message: str | None
        configs: list[DescribeConfigsResourceResult]
        if version >= 4:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 9)
            if n < 0:
                p.refuse_null_array()
            configs = []
            for _ in range(n):
                item_configs, pos = DescribeConfigsResourceResult.read(buf, pos, version)
                configs.append(item_configs)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, resource_type, resource_name, configs), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        configs = []
        for _ in range(n):
            item_configs, pos = DescribeConfigsResourceResult.read(buf, pos, version)
            configs.append(item_configs)
        return cls(error_code, error_message, resource_type, resource_name, configs), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += p.uvarint(len(self.configs) + 1)
            for item_configs in self.configs:
                item_configs.write(out, version)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        out += p.array_length(len(self.configs))
        for item_configs in self.configs:
            item_configs.write(out, version)


class DescribeConfigsResponse(Message):
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeConfigsResponse, int]:
        results: list[DescribeConfigsResult]
        if version >= 4:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                item_results, pos = DescribeConfigsResult.read(buf, pos, version)
                results.append(item_results)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, results), pos
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = DescribeConfigsResult.read(buf, pos, version)
            results.append(item_results)
        return cls(throttle_time_ms, results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 4:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.results) + 1)
            for item_results in self.results:
                item_results.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.results))
        for item_results in self.results:
            item_results.write(out, version)


REQUEST = DescribeConfigsRequest
RESPONSE = DescribeConfigsResponse

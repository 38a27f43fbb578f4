"""IncrementalAlterConfigs (API key 44). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")


class AlterableConfig(Message):
    __slots__ = ("name", "config_operation", "value")

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterableConfig, int]:
        value: str | None
        if version >= 1:
            name, pos = p.read_compact_string(buf, pos)
            (config_operation,) = _b.unpack_from(buf, pos)
            pos += 1
            value, pos = p.read_compact_nullable_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, config_operation, value), pos
        name, pos = p.read_string(buf, pos)
        (config_operation,) = _b.unpack_from(buf, pos)
        pos += 1
        value, pos = p.read_nullable_string(buf, pos)
        return cls(name, config_operation, value), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.compact_string(self.name)
            out += _b.pack(self.config_operation)
            out += p.compact_nullable_string(self.value)
            out += b"\0"
            return
        out += p.string(self.name)
        out += _b.pack(self.config_operation)
        out += p.nullable_string(self.value)


class AlterConfigsResource(SlicedMessage):
    __slots__ = ("resource_type", "resource_name", "configs")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = NEW,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NEW else configs

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterConfigsResource]:
        configs: list[AlterableConfig]
        if version >= 1:
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            configs = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_configs, pos = AlterableConfig.read(buf, pos, version)
                configs.append(item_configs)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resource_type, resource_name, configs), pos, stop
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        n, pos = p.read_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        configs = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_configs, pos = AlterableConfig.read(buf, pos, version)
            configs.append(item_configs)
        return cls(resource_type, resource_name, configs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += p.uvarint(len(self.configs) + 1)
            for item_configs in self.configs:
                item_configs.write(out, version)
            out += b"\0"
            return
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)
        out += p.array_length(len(self.configs))
        for item_configs in self.configs:
            item_configs.write(out, version)


class IncrementalAlterConfigsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("resources", "validate_only")

    def __init__(
        self,
        resources: list[AlterConfigsResource] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is NEW else resources
        self.validate_only = validate_only

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[IncrementalAlterConfigsRequest]:
        resources: list[AlterConfigsResource]
        if version >= 1:
            n, pos = p.read_compact_array_length(buf, pos, 4)
            if n < 0:
                p.refuse_null_array()
            resources = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_resources, pos, stop = yield from AlterConfigsResource.read_steps(buf, pos, version, stop)
                resources.append(item_resources)
            (validate_only,) = _T.unpack_from(buf, pos)
            pos += 1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(resources, validate_only), pos, stop
        n, pos = p.read_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        resources = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_resources, pos, stop = yield from AlterConfigsResource.read_steps(buf, pos, version, stop)
            resources.append(item_resources)
        (validate_only,) = _T.unpack_from(buf, pos)
        pos += 1
        return cls(resources, validate_only), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += p.uvarint(len(self.resources) + 1)
            for item_resources in self.resources:
                item_resources.write(out, version)
            out += _T.pack(self.validate_only)
            out += b"\0"
            return
        out += p.array_length(len(self.resources))
        for item_resources in self.resources:
            item_resources.write(out, version)
        out += _T.pack(self.validate_only)


class AlterConfigsResourceResponse(Message):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterConfigsResourceResponse, int]:
        error_message: str | None
        if version >= 1:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            error_message, pos = p.read_compact_nullable_string(buf, pos)
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
            resource_name, pos = p.read_compact_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, error_message, resource_type, resource_name), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_nullable_string(buf, pos)
        (resource_type,) = _b.unpack_from(buf, pos)
        pos += 1
        resource_name, pos = p.read_string(buf, pos)
        return cls(error_code, error_message, resource_type, resource_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _h.pack(self.error_code)
            out += p.compact_nullable_string(self.error_message)
            out += _b.pack(self.resource_type)
            out += p.compact_string(self.resource_name)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.nullable_string(self.error_message)
        out += _b.pack(self.resource_type)
        out += p.string(self.resource_name)


class IncrementalAlterConfigsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NEW else responses

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[IncrementalAlterConfigsResponse]:
        responses: list[AlterConfigsResourceResponse]
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            n, pos = p.read_compact_array_length(buf, pos, 6)
            if n < 0:
                p.refuse_null_array()
            responses = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_responses, pos = AlterConfigsResourceResponse.read(buf, pos, version)
                responses.append(item_responses)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, responses), pos, stop
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        responses = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_responses, pos = AlterConfigsResourceResponse.read(buf, pos, version)
            responses.append(item_responses)
        return cls(throttle_time_ms, responses), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
            out += p.uvarint(len(self.responses) + 1)
            for item_responses in self.responses:
                item_responses.write(out, version)
            out += b"\0"
            return
        out += _i.pack(self.throttle_time_ms)
        out += p.array_length(len(self.responses))
        for item_responses in self.responses:
            item_responses.write(out, version)


REQUEST = IncrementalAlterConfigsRequest
RESPONSE = IncrementalAlterConfigsResponse

"""ListConfigResources (API key 74). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_ih = Struct(">ih")


class ListConfigResourcesRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("resource_types",)

    def __init__(
        self,
        resource_types: list[int] = NEW,
    ) -> None:
        self.resource_types = [] if resource_types is NEW else resource_types

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListConfigResourcesRequest]:
        resource_types: list[int]
        if version == 1:
            n, pos = p.read_compact_array_length(buf, pos, 1)
            if n < 0:
                p.refuse_null_array()
            resource_types, pos, stop = yield from p.read_numbers(buf, pos, n, "b", 1, stop)
        else:
            resource_types = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(resource_types), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 1:
            out += p.uvarint(len(self.resource_types) + 1)
            out += Struct(f">{len(self.resource_types)}b").pack(*self.resource_types)
        out += b"\0"


class ConfigResource(Message):
    __slots__ = ("resource_name", "resource_type")

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ConfigResource, int]:
        resource_name, pos = p.read_compact_string(buf, pos)
        if version == 1:
            (resource_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            resource_type = 16
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(resource_name, resource_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.resource_name)
        if version == 1:
            out += _b.pack(self.resource_type)
        out += b"\0"


class ListConfigResourcesResponse(Message):
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "config_resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is NEW else config_resources

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListConfigResourcesResponse, int]:
        config_resources: list[ConfigResource]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            p.refuse_null_array()
        config_resources = []
        for _ in range(n):
            item_config_resources, pos = ConfigResource.read(buf, pos, version)
            config_resources.append(item_config_resources)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, config_resources), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.uvarint(len(self.config_resources) + 1)
        for item_config_resources in self.config_resources:
            item_config_resources.write(out, version)
        out += b"\0"


REQUEST = ListConfigResourcesRequest
RESPONSE = ListConfigResourcesResponse

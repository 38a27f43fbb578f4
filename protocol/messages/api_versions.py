"""ApiVersions (API key 18). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_T = Struct(">?")
_h = Struct(">h")
_hh = Struct(">hh")
_hhh = Struct(">hhh")
_i = Struct(">i")
_q = Struct(">q")


class ApiVersionsRequest(Message):
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("client_software_name", "client_software_version", "cluster_id", "node_id")

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ApiVersionsRequest, int]:
        cluster_id: str | None
        if version >= 3:
            client_software_name, pos = p.read_compact_string(buf, pos)
            client_software_version, pos = p.read_compact_string(buf, pos)
            if version == 5:
                cluster_id, pos = p.read_compact_nullable_string(buf, pos)
            else:
                cluster_id = None
            if version == 5:
                (node_id,) = _i.unpack_from(buf, pos)
                pos += 4
            else:
                node_id = -1
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(client_software_name, client_software_version, cluster_id, node_id), pos
        client_software_name = ""
        client_software_version = ""
        cluster_id = None
        node_id = -1
        return cls(client_software_name, client_software_version, cluster_id, node_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.client_software_name)
            out += p.compact_string(self.client_software_version)
            if version == 5:
                out += p.compact_nullable_string(self.cluster_id)
            if version == 5:
                out += _i.pack(self.node_id)
            out += b"\0"
            return
        return


class ApiVersion(Message):
    __slots__ = ("api_key", "min_version", "max_version")

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ApiVersion, int]:
        if version >= 3:
            api_key, min_version, max_version = _hhh.unpack_from(buf, pos)
            pos += 6
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(api_key, min_version, max_version), pos
        api_key, min_version, max_version = _hhh.unpack_from(buf, pos)
        pos += 6
        return cls(api_key, min_version, max_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _hhh.pack(self.api_key, self.min_version, self.max_version)
            out += b"\0"
            return
        out += _hhh.pack(self.api_key, self.min_version, self.max_version)


class SupportedFeatureKey(Message):
    __slots__ = ("name", "min_version", "max_version")

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[SupportedFeatureKey, int]:
        if version >= 3:
            name, pos = p.read_compact_string(buf, pos)
            min_version, max_version = _hh.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, min_version, max_version), pos
        name = ""
        min_version = 0
        max_version = 0
        return cls(name, min_version, max_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.name)
            out += _hh.pack(self.min_version, self.max_version)
            out += b"\0"
            return
        return


class FinalizedFeatureKey(Message):
    __slots__ = ("name", "max_version_level", "min_version_level")

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FinalizedFeatureKey, int]:
        if version >= 3:
            name, pos = p.read_compact_string(buf, pos)
            max_version_level, min_version_level = _hh.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(name, max_version_level, min_version_level), pos
        name = ""
        max_version_level = 0
        min_version_level = 0
        return cls(name, max_version_level, min_version_level), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.name)
            out += _hh.pack(self.max_version_level, self.min_version_level)
            out += b"\0"
            return
        return


class ApiVersionsResponse(Message):
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = NEW,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = NEW,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = NEW,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is NEW else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is NEW else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is NEW else finalized_features
        self.zk_migration_ready = zk_migration_ready

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ApiVersionsResponse, int]:
        api_keys: list[ApiVersion]
        supported_features: list[SupportedFeatureKey]
        finalized_features: list[FinalizedFeatureKey]
        if version >= 3:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            n, pos = p.read_compact_array_length(buf, pos, 7)
            if n < 0:
                p.refuse_null_array()
            api_keys = []
            for _ in range(n):
                item_api_keys, pos = ApiVersion.read(buf, pos, version)
                api_keys.append(item_api_keys)
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            supported_features = []
            finalized_features_epoch = -1
            finalized_features = []
            zk_migration_ready = False
            tags, pos = p.read_tag_count(buf, pos)
            for _ in range(tags):
                tag, pos, size = p.read_tag(buf, pos)
                if tag == 0:
                    n, pos = p.read_compact_array_length(buf, pos, 6)
                    if n < 0:
                        p.refuse_null_array()
                    supported_features = []
                    for _ in range(n):
                        item_supported_features, pos = SupportedFeatureKey.read(buf, pos, version)
                        supported_features.append(item_supported_features)
                elif tag == 1:
                    (finalized_features_epoch,) = _q.unpack_from(buf, pos)
                    pos += 8
                elif tag == 2:
                    n, pos = p.read_compact_array_length(buf, pos, 6)
                    if n < 0:
                        p.refuse_null_array()
                    finalized_features = []
                    for _ in range(n):
                        item_finalized_features, pos = FinalizedFeatureKey.read(buf, pos, version)
                        finalized_features.append(item_finalized_features)
                elif tag == 3:
                    (zk_migration_ready,) = _T.unpack_from(buf, pos)
                    pos += 1
                else:
                    pos = p.skip_tag(buf, pos, size)
            return cls(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        api_keys = []
        for _ in range(n):
            item_api_keys, pos = ApiVersion.read(buf, pos, version)
            api_keys.append(item_api_keys)
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        supported_features = []
        finalized_features_epoch = -1
        finalized_features = []
        zk_migration_ready = False
        return cls(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        if version >= 3:
            out += _h.pack(self.error_code)
            out += p.uvarint(len(self.api_keys) + 1)
            for item_api_keys in self.api_keys:
                item_api_keys.write(out, version)
            out += _i.pack(self.throttle_time_ms)
            tagged = []
            if self.supported_features:
                value = p.MessageBuffer()
                value += p.uvarint(len(self.supported_features) + 1)
                for item_supported_features in self.supported_features:
                    item_supported_features.write(value, version)
                tagged.append((0, value))
            if self.finalized_features_epoch != -1:
                value = p.MessageBuffer()
                value += _q.pack(self.finalized_features_epoch)
                tagged.append((1, value))
            if self.finalized_features:
                value = p.MessageBuffer()
                value += p.uvarint(len(self.finalized_features) + 1)
                for item_finalized_features in self.finalized_features:
                    item_finalized_features.write(value, version)
                tagged.append((2, value))
            if self.zk_migration_ready != False:
                value = p.MessageBuffer()
                value += _T.pack(self.zk_migration_ready)
                tagged.append((3, value))
            if tagged:
                p.write_tagged_fields(out, tagged)
            else:
                out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.array_length(len(self.api_keys))
        for item_api_keys in self.api_keys:
            item_api_keys.write(out, version)
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)


REQUEST = ApiVersionsRequest
RESPONSE = ApiVersionsResponse

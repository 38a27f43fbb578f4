"""UpdateFeatures (API key 57). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_T = Struct(">?")
_b = Struct(">b")
_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class FeatureUpdateKey(Message):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FeatureUpdateKey, int]:
        feature, pos = p.read_compact_string(buf, pos)
        (max_version_level,) = _h.unpack_from(buf, pos)
        pos += 2
        if version == 0:
            (allow_downgrade,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            allow_downgrade = False
        if version >= 1:
            (upgrade_type,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            upgrade_type = 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(feature, max_version_level, allow_downgrade, upgrade_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.feature)
        out += _h.pack(self.max_version_level)
        if version == 0:
            out += _T.pack(self.allow_downgrade)
        if version >= 1:
            out += _b.pack(self.upgrade_type)
        out += b"\0"


class UpdateFeaturesRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("timeout_ms", "feature_updates", "validate_only")

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = NEW,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is NEW else feature_updates
        self.validate_only = validate_only

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[UpdateFeaturesRequest]:
        feature_updates: list[FeatureUpdateKey]
        (timeout_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        feature_updates = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_feature_updates, pos = FeatureUpdateKey.read(buf, pos, version)
            feature_updates.append(item_feature_updates)
        if version >= 1:
            (validate_only,) = _T.unpack_from(buf, pos)
            pos += 1
        else:
            validate_only = False
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(timeout_ms, feature_updates, validate_only), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.timeout_ms)
        out += p.uvarint(len(self.feature_updates) + 1)
        for item_feature_updates in self.feature_updates:
            item_feature_updates.write(out, version)
        if version >= 1:
            out += _T.pack(self.validate_only)
        out += b"\0"


class UpdatableFeatureResult(Message):
    __slots__ = ("feature", "error_code", "error_message")

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UpdatableFeatureResult, int]:
        error_message: str | None
        feature, pos = p.read_compact_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(feature, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.feature)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class UpdateFeaturesResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NEW else results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[UpdateFeaturesResponse]:
        error_message: str | None
        results: list[UpdatableFeatureResult]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if version <= 1:
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                p.refuse_null_array()
            results = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_results, pos = UpdatableFeatureResult.read(buf, pos, version)
                results.append(item_results)
        else:
            results = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, results), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        if version <= 1:
            out += p.uvarint(len(self.results) + 1)
            for item_results in self.results:
                item_results.write(out, version)
        out += b"\0"


REQUEST = UpdateFeaturesRequest
RESPONSE = UpdateFeaturesResponse

"""AlterUserScramCredentials (API key 51). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_bi = Struct(">bi")
_h = Struct(">h")
_i = Struct(">i")


class ScramCredentialDeletion(Message):
    __slots__ = ("name", "mechanism")

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ScramCredentialDeletion, int]:
        name, pos = p.read_compact_string(buf, pos)
        (mechanism,) = _b.unpack_from(buf, pos)
        pos += 1
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, mechanism), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _b.pack(self.mechanism)
        out += b"\0"


class ScramCredentialUpsertion(Message):
    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ScramCredentialUpsertion, int]:
        name, pos = p.read_compact_string(buf, pos)
        mechanism, iterations = _bi.unpack_from(buf, pos)
        pos += 5
        salt, pos = p.read_compact_bytes(buf, pos)
        salted_password, pos = p.read_compact_bytes(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, mechanism, iterations, salt, salted_password), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _bi.pack(self.mechanism, self.iterations)
        p.write_compact_records(out, self.salt)
        p.write_compact_records(out, self.salted_password)
        out += b"\0"


class AlterUserScramCredentialsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("deletions", "upsertions")

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = NEW,
        upsertions: list[ScramCredentialUpsertion] = NEW,
    ) -> None:
        self.deletions = [] if deletions is NEW else deletions
        self.upsertions = [] if upsertions is NEW else upsertions

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterUserScramCredentialsRequest]:
        deletions: list[ScramCredentialDeletion]
        upsertions: list[ScramCredentialUpsertion]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        deletions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_deletions, pos = ScramCredentialDeletion.read(buf, pos, version)
            deletions.append(item_deletions)
        n, pos = p.read_compact_array_length(buf, pos, 9)
        if n < 0:
            p.refuse_null_array()
        upsertions = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_upsertions, pos = ScramCredentialUpsertion.read(buf, pos, version)
            stop += p.unread_bytes(item_upsertions.salt)
            stop += p.unread_bytes(item_upsertions.salted_password)
            upsertions.append(item_upsertions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(deletions, upsertions), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.deletions) + 1)
        for item_deletions in self.deletions:
            item_deletions.write(out, version)
        out += p.uvarint(len(self.upsertions) + 1)
        for item_upsertions in self.upsertions:
            item_upsertions.write(out, version)
        out += b"\0"


class AlterUserScramCredentialsResult(Message):
    __slots__ = ("user", "error_code", "error_message")

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[AlterUserScramCredentialsResult, int]:
        error_message: str | None
        user, pos = p.read_compact_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(user, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.user)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


class AlterUserScramCredentialsResponse(SlicedMessage):
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NEW else results

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[AlterUserScramCredentialsResponse]:
        results: list[AlterUserScramCredentialsResult]
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_results, pos = AlterUserScramCredentialsResult.read(buf, pos, version)
            results.append(item_results)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, results), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _i.pack(self.throttle_time_ms)
        out += p.uvarint(len(self.results) + 1)
        for item_results in self.results:
            item_results.write(out, version)
        out += b"\0"


REQUEST = AlterUserScramCredentialsRequest
RESPONSE = AlterUserScramCredentialsResponse

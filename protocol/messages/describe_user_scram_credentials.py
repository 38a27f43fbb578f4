"""DescribeUserScramCredentials (API key 50). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_bi = Struct(">bi")
_h = Struct(">h")
_ih = Struct(">ih")


class UserName(Message):
    __slots__ = ("name",)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UserName, int]:
        name, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += b"\0"


class DescribeUserScramCredentialsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("users",)

    def __init__(
        self,
        users: list[UserName] | None = NEW,
    ) -> None:
        self.users = [] if users is NEW else users

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeUserScramCredentialsRequest]:
        users: list[UserName] | None
        n, pos = p.read_compact_array_length(buf, pos, 2)
        if n < 0:
            users = None
        else:
            users = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_users, pos = UserName.read(buf, pos, version)
                users.append(item_users)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(users), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if self.users is None:
            out += b"\0"
        else:
            out += p.uvarint(len(self.users) + 1)
            for item_users in self.users:
                item_users.write(out, version)
        out += b"\0"


class CredentialInfo(Message):
    __slots__ = ("mechanism", "iterations")

    def __init__(
        self,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CredentialInfo, int]:
        mechanism, iterations = _bi.unpack_from(buf, pos)
        pos += 5
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(mechanism, iterations), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _bi.pack(self.mechanism, self.iterations)
        out += b"\0"


class DescribeUserScramCredentialsResult(Message):
    __slots__ = ("user", "error_code", "error_message", "credential_infos")

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = NEW,
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is NEW else credential_infos

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeUserScramCredentialsResult, int]:
        error_message: str | None
        credential_infos: list[CredentialInfo]
        user, pos = p.read_compact_string(buf, pos)
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        credential_infos = []
        for _ in range(n):
            item_credential_infos, pos = CredentialInfo.read(buf, pos, version)
            credential_infos.append(item_credential_infos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(user, error_code, error_message, credential_infos), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.user)
        out += _h.pack(self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.credential_infos) + 1)
        for item_credential_infos in self.credential_infos:
            item_credential_infos.write(out, version)
        out += b"\0"


class DescribeUserScramCredentialsResponse(Message):
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NEW else results

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
        error_message: str | None
        results: list[DescribeUserScramCredentialsResult]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 6)
        if n < 0:
            p.refuse_null_array()
        results = []
        for _ in range(n):
            item_results, pos = DescribeUserScramCredentialsResult.read(buf, pos, version)
            results.append(item_results)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message, results), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += p.uvarint(len(self.results) + 1)
        for item_results in self.results:
            item_results.write(out, version)
        out += b"\0"


REQUEST = DescribeUserScramCredentialsRequest
RESPONSE = DescribeUserScramCredentialsResponse

"""CreateDelegationToken (API key 38). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_q = Struct(">q")
_qqq = Struct(">qqq")


class CreatableRenewers(Message):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CreatableRenewers, int]:
        if version >= 2:
            principal_type, pos = p.read_compact_string(buf, pos)
            principal_name, pos = p.read_compact_string(buf, pos)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(principal_type, principal_name), pos
        principal_type, pos = p.read_string(buf, pos)
        principal_name, pos = p.read_string(buf, pos)
        return cls(principal_type, principal_name), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.principal_type)
            out += p.compact_string(self.principal_name)
            out += b"\0"
            return
        out += p.string(self.principal_type)
        out += p.string(self.principal_name)


class CreateDelegationTokenRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = NEW,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is NEW else renewers
        self.max_lifetime_ms = max_lifetime_ms

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[CreateDelegationTokenRequest]:
        owner_principal_type: str | None
        owner_principal_name: str | None
        renewers: list[CreatableRenewers]
        if version >= 2:
            if version == 3:
                owner_principal_type, pos = p.read_compact_nullable_string(buf, pos)
            else:
                owner_principal_type = ""
            if version == 3:
                owner_principal_name, pos = p.read_compact_nullable_string(buf, pos)
            else:
                owner_principal_name = ""
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            renewers = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_renewers, pos = CreatableRenewers.read(buf, pos, version)
                renewers.append(item_renewers)
            (max_lifetime_ms,) = _q.unpack_from(buf, pos)
            pos += 8
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(owner_principal_type, owner_principal_name, renewers, max_lifetime_ms), pos, stop
        owner_principal_type = ""
        owner_principal_name = ""
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        renewers = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_renewers, pos = CreatableRenewers.read(buf, pos, version)
            renewers.append(item_renewers)
        (max_lifetime_ms,) = _q.unpack_from(buf, pos)
        pos += 8
        return cls(owner_principal_type, owner_principal_name, renewers, max_lifetime_ms), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            if version == 3:
                out += p.compact_nullable_string(self.owner_principal_type)
            if version == 3:
                out += p.compact_nullable_string(self.owner_principal_name)
            out += p.uvarint(len(self.renewers) + 1)
            for item_renewers in self.renewers:
                item_renewers.write(out, version)
            out += _q.pack(self.max_lifetime_ms)
            out += b"\0"
            return
        out += p.array_length(len(self.renewers))
        for item_renewers in self.renewers:
            item_renewers.write(out, version)
        out += _q.pack(self.max_lifetime_ms)


class CreateDelegationTokenResponse(Message):
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CreateDelegationTokenResponse, int]:
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            principal_type, pos = p.read_compact_string(buf, pos)
            principal_name, pos = p.read_compact_string(buf, pos)
            if version == 3:
                token_requester_principal_type, pos = p.read_compact_string(buf, pos)
            else:
                token_requester_principal_type = ""
            if version == 3:
                token_requester_principal_name, pos = p.read_compact_string(buf, pos)
            else:
                token_requester_principal_name = ""
            issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _qqq.unpack_from(buf, pos)
            pos += 24
            token_id, pos = p.read_compact_string(buf, pos)
            hmac, pos = p.read_compact_bytes(buf, pos)
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        principal_type, pos = p.read_string(buf, pos)
        principal_name, pos = p.read_string(buf, pos)
        token_requester_principal_type = ""
        token_requester_principal_name = ""
        issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _qqq.unpack_from(buf, pos)
        pos += 24
        token_id, pos = p.read_string(buf, pos)
        hmac, pos = p.read_bytes(buf, pos)
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(error_code, principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.compact_string(self.principal_type)
            out += p.compact_string(self.principal_name)
            if version == 3:
                out += p.compact_string(self.token_requester_principal_type)
            if version == 3:
                out += p.compact_string(self.token_requester_principal_name)
            out += _qqq.pack(self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms)
            out += p.compact_string(self.token_id)
            p.write_compact_records(out, self.hmac)
            out += _i.pack(self.throttle_time_ms)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.string(self.principal_type)
        out += p.string(self.principal_name)
        out += _qqq.pack(self.issue_timestamp_ms, self.expiry_timestamp_ms, self.max_timestamp_ms)
        out += p.string(self.token_id)
        p.write_records(out, self.hmac)
        out += _i.pack(self.throttle_time_ms)


REQUEST = CreateDelegationTokenRequest
RESPONSE = CreateDelegationTokenResponse

"""DescribeDelegationToken (API key 41). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_qqq = Struct(">qqq")


class DescribeDelegationTokenOwner(Message):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeDelegationTokenOwner, int]:
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


class DescribeDelegationTokenRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("owners",)

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None = NEW,
    ) -> None:
        self.owners = [] if owners is NEW else owners

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[DescribeDelegationTokenRequest]:
        owners: list[DescribeDelegationTokenOwner] | None
        if version >= 2:
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                owners = None
            else:
                owners = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_owners, pos = DescribeDelegationTokenOwner.read(buf, pos, version)
                    owners.append(item_owners)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(owners), pos, stop
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            owners = None
        else:
            owners = []
            for _ in range(n):
                if pos > stop:
                    yield
                    stop = pos + p.SLICE_BYTES
                item_owners, pos = DescribeDelegationTokenOwner.read(buf, pos, version)
                owners.append(item_owners)
        return cls(owners), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            if self.owners is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.owners) + 1)
                for item_owners in self.owners:
                    item_owners.write(out, version)
            out += b"\0"
            return
        if self.owners is None:
            out += p.array_length(-1)
        else:
            out += p.array_length(len(self.owners))
            for item_owners in self.owners:
                item_owners.write(out, version)


class DescribedDelegationTokenRenewer(Message):
    __slots__ = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedDelegationTokenRenewer, int]:
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


class DescribedDelegationToken(Message):
    __slots__ = ("principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp", "expiry_timestamp", "max_timestamp", "token_id", "hmac", "renewers")

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = NEW,
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is NEW else renewers

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribedDelegationToken, int]:
        renewers: list[DescribedDelegationTokenRenewer]
        if version >= 2:
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
            issue_timestamp, expiry_timestamp, max_timestamp = _qqq.unpack_from(buf, pos)
            pos += 24
            token_id, pos = p.read_compact_string(buf, pos)
            hmac, pos = p.read_compact_bytes(buf, pos)
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            renewers = []
            for _ in range(n):
                item_renewers, pos = DescribedDelegationTokenRenewer.read(buf, pos, version)
                renewers.append(item_renewers)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), pos
        principal_type, pos = p.read_string(buf, pos)
        principal_name, pos = p.read_string(buf, pos)
        token_requester_principal_type = ""
        token_requester_principal_name = ""
        issue_timestamp, expiry_timestamp, max_timestamp = _qqq.unpack_from(buf, pos)
        pos += 24
        token_id, pos = p.read_string(buf, pos)
        hmac, pos = p.read_bytes(buf, pos)
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        renewers = []
        for _ in range(n):
            item_renewers, pos = DescribedDelegationTokenRenewer.read(buf, pos, version)
            renewers.append(item_renewers)
        return cls(principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += p.compact_string(self.principal_type)
            out += p.compact_string(self.principal_name)
            if version == 3:
                out += p.compact_string(self.token_requester_principal_type)
            if version == 3:
                out += p.compact_string(self.token_requester_principal_name)
            out += _qqq.pack(self.issue_timestamp, self.expiry_timestamp, self.max_timestamp)
            out += p.compact_string(self.token_id)
            p.write_compact_records(out, self.hmac)
            out += p.uvarint(len(self.renewers) + 1)
            for item_renewers in self.renewers:
                item_renewers.write(out, version)
            out += b"\0"
            return
        out += p.string(self.principal_type)
        out += p.string(self.principal_name)
        out += _qqq.pack(self.issue_timestamp, self.expiry_timestamp, self.max_timestamp)
        out += p.string(self.token_id)
        p.write_records(out, self.hmac)
        out += p.array_length(len(self.renewers))
        for item_renewers in self.renewers:
            item_renewers.write(out, version)


class DescribeDelegationTokenResponse(Message):
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    __slots__ = ("error_code", "tokens", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = NEW,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is NEW else tokens
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[DescribeDelegationTokenResponse, int]:
        tokens: list[DescribedDelegationToken]
        if version >= 2:
            (error_code,) = _h.unpack_from(buf, pos)
            pos += 2
            n, pos = p.read_compact_array_length(buf, pos, 30)
            if n < 0:
                p.refuse_null_array()
            tokens = []
            for _ in range(n):
                item_tokens, pos = DescribedDelegationToken.read(buf, pos, version)
                tokens.append(item_tokens)
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(error_code, tokens, throttle_time_ms), pos
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_array_length(buf, pos, 38)
        if n < 0:
            p.refuse_null_array()
        tokens = []
        for _ in range(n):
            item_tokens, pos = DescribedDelegationToken.read(buf, pos, version)
            tokens.append(item_tokens)
        (throttle_time_ms,) = _i.unpack_from(buf, pos)
        pos += 4
        return cls(error_code, tokens, throttle_time_ms), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 2:
            out += _h.pack(self.error_code)
            out += p.uvarint(len(self.tokens) + 1)
            for item_tokens in self.tokens:
                item_tokens.write(out, version)
            out += _i.pack(self.throttle_time_ms)
            out += b"\0"
            return
        out += _h.pack(self.error_code)
        out += p.array_length(len(self.tokens))
        for item_tokens in self.tokens:
            item_tokens.write(out, version)
        out += _i.pack(self.throttle_time_ms)


REQUEST = DescribeDelegationTokenRequest
RESPONSE = DescribeDelegationTokenResponse

"""UpdateRaftVoter (API key 82). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_H = Struct(">H")
_hh = Struct(">hh")
_i = Struct(">i")
_ih = Struct(">ih")
_ii = Struct(">ii")
_iiU = Struct(">ii16s")


class Listener(Message):
    __slots__ = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Listener, int]:
        name, pos = p.read_compact_string(buf, pos)
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _H.unpack_from(buf, pos)
        pos += 2
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.compact_string(self.host)
        out += _H.pack(self.port)
        out += b"\0"


class KRaftVersionFeature(Message):
    __slots__ = ("min_supported_version", "max_supported_version")

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[KRaftVersionFeature, int]:
        min_supported_version, max_supported_version = _hh.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(min_supported_version, max_supported_version), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _hh.pack(self.min_supported_version, self.max_supported_version)
        out += b"\0"


class UpdateRaftVoterRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "current_leader_epoch", "voter_id", "voter_directory_id", "listeners", "k_raft_version_feature")

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = p.ZERO_UUID,
        listeners: list[Listener] = NEW,
        k_raft_version_feature: KRaftVersionFeature = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NEW else listeners
        self.k_raft_version_feature = KRaftVersionFeature() if k_raft_version_feature is NEW else k_raft_version_feature

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[UpdateRaftVoterRequest]:
        cluster_id: str | None
        listeners: list[Listener]
        cluster_id, pos = p.read_compact_nullable_string(buf, pos)
        current_leader_epoch, voter_id, voter_directory_id = _iiU.unpack_from(buf, pos)
        pos += 24
        n, pos = p.read_compact_array_length(buf, pos, 5)
        if n < 0:
            p.refuse_null_array()
        listeners = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_listeners, pos = Listener.read(buf, pos, version)
            listeners.append(item_listeners)
        k_raft_version_feature, pos = KRaftVersionFeature.read(buf, pos, version)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(cluster_id, current_leader_epoch, voter_id, voter_directory_id, listeners, k_raft_version_feature), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_nullable_string(self.cluster_id)
        out += _iiU.pack(self.current_leader_epoch, self.voter_id, self.voter_directory_id)
        out += p.uvarint(len(self.listeners) + 1)
        for item_listeners in self.listeners:
            item_listeners.write(out, version)
        self.k_raft_version_feature.write(out, version)
        out += b"\0"


class CurrentLeader(Message):
    __slots__ = ("leader_id", "leader_epoch", "host", "port")

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[CurrentLeader, int]:
        leader_id, leader_epoch = _ii.unpack_from(buf, pos)
        pos += 8
        host, pos = p.read_compact_string(buf, pos)
        (port,) = _i.unpack_from(buf, pos)
        pos += 4
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(leader_id, leader_epoch, host, port), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ii.pack(self.leader_id, self.leader_epoch)
        out += p.compact_string(self.host)
        out += _i.pack(self.port)
        out += b"\0"


class UpdateRaftVoterResponse(Message):
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "current_leader")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = current_leader

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[UpdateRaftVoterResponse, int]:
        current_leader: CurrentLeader | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        current_leader = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0:
                current_leader, pos = CurrentLeader.read(buf, pos, version)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(throttle_time_ms, error_code, current_leader), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        tagged = []
        if self.current_leader is not None and self.current_leader != CurrentLeader():
            value = p.MessageBuffer()
            assert self.current_leader is not None
            self.current_leader.write(value, version)
            tagged.append((0, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


REQUEST = UpdateRaftVoterRequest
RESPONSE = UpdateRaftVoterResponse

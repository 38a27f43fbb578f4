"""The messages of raft-records.json. Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message

_U = Struct(">16s")
_i = Struct(">i")
_iii = Struct(">iii")
_q = Struct(">q")


class Voter(Message):
    __slots__ = ("voter_id",)

    def __init__(
        self,
        voter_id: int = 0,
    ) -> None:
        self.voter_id = voter_id

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[Voter, int]:
        if version == 0:
            (voter_id,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            voter_id = 0
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(voter_id), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 0:
            out += _i.pack(self.voter_id)
        out += b"\0"


class QuorumStateData(Message):
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "leader_id", "leader_epoch", "voted_id", "voted_directory_id", "applied_offset", "current_voters")

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = p.ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is NEW else current_voters

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[QuorumStateData, int]:
        current_voters: list[Voter] | None
        if version == 0:
            cluster_id, pos = p.read_compact_string(buf, pos)
        else:
            cluster_id = ""
        leader_id, leader_epoch, voted_id = _iii.unpack_from(buf, pos)
        pos += 12
        if version == 1:
            (voted_directory_id,) = _U.unpack_from(buf, pos)
            pos += 16
        else:
            voted_directory_id = p.ZERO_UUID
        if version == 0:
            (applied_offset,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            applied_offset = 0
        if version == 0:
            n, pos = p.read_compact_array_length(buf, pos, 5)
            if n < 0:
                current_voters = None
            else:
                current_voters = []
                for _ in range(n):
                    item_current_voters, pos = Voter.read(buf, pos, version)
                    current_voters.append(item_current_voters)
        else:
            current_voters = []
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(cluster_id, leader_id, leader_epoch, voted_id, voted_directory_id, applied_offset, current_voters), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version == 0:
            out += p.compact_string(self.cluster_id)
        out += _iii.pack(self.leader_id, self.leader_epoch, self.voted_id)
        if version == 1:
            out += _U.pack(self.voted_directory_id)
        if version == 0:
            out += _q.pack(self.applied_offset)
        if version == 0:
            if self.current_voters is None:
                out += b"\0"
            else:
                out += p.uvarint(len(self.current_voters) + 1)
                for item_current_voters in self.current_voters:
                    item_current_voters.write(out, version)
        out += b"\0"

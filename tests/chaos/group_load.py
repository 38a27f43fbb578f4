"""A member of a consumer group over raw requests: the classic protocol, and what it was given.

It joins, takes the keys that the group's leader gave it, reads them from the committed offsets and
commits how far it came. Now and then it leaves, or goes without a word. Every assignment, commit
and committed offset is written down with its generation.
"""

from __future__ import annotations

import asyncio
import json

from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.chaos.history import FAIL, INFO, OK, Assigned, Commit, Committed
from tests.chaos.raw_client import Hung, NotSent, topic_of
from tests.chaos.workload import RETRY_S, Reader, Shared

GROUP = "chaos"
SESSION_MS = 6_000
REBALANCE_MS = 8_000
BEAT_S = 0.7
COMMIT_S = 1.0
JOIN_TIMEOUT_S = 15.0


class _Out(Exception):
    """It has to join again."""


class GroupMember(Reader):
    """One of the members."""

    def __init__(self, name: str, shared: Shared) -> None:
        super().__init__(name, shared)
        self._member_id = ""
        self._generation = -1
        self._coordinator: int | None = None
        self._beat_at = 0.0
        self._commit_at = 0.0

    async def work(self) -> None:
        try:
            if self._generation < 0:
                await self._join()
            await self._beat()
            if self.positions:
                await self.read(self.rng.choice(list(self.positions)))
            await self._commit_now_and_then()
            if self.rng.random() < 0.002:
                await self._go()
        except _Out:
            self._generation = -1
            self.positions = {}
            await asyncio.sleep(RETRY_S)
        except (NotSent, Hung):
            self._coordinator = None
            await asyncio.sleep(RETRY_S)

    async def end(self) -> None:
        """A last look at what is committed."""
        self.positions = {}

    async def _ask_coordinator(self, request: object, version: int, timeout_s: float = 8) -> object:
        if self._coordinator is None:
            self._coordinator = await self.client.coordinator(GROUP)
        if self._coordinator is None:
            raise NotSent("no coordinator is known")
        return await self.client.call(self._coordinator, request, version, timeout_s)

    def _judge(self, code: int) -> None:
        """Nothing for NONE; otherwise what a member has to do about it."""
        error = ErrorCode(code)
        if error is ErrorCode.NONE:
            return
        if error in (
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ):
            raise Hung(error.name)
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._member_id = ""
        raise _Out(error.name)

    async def _join(self) -> None:
        protocols = [JoinGroupRequestProtocol("chaos", b"")]
        request = JoinGroupRequest(
            *(GROUP, SESSION_MS, REBALANCE_MS, self._member_id, None, "chaos", protocols)
        )
        joined = await self._ask_coordinator(request, 5, JOIN_TIMEOUT_S)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = joined.member_id
            raise _Out("a member id was given")
        self._judge(joined.error_code)
        self._member_id = joined.member_id
        shares = []
        if joined.leader == joined.member_id:
            shares = self._shares([member.member_id for member in joined.members])
        sync = SyncGroupRequest(
            GROUP, joined.generation_id, self._member_id, None, assignments=shares
        )
        synced = await self._ask_coordinator(sync, 3, JOIN_TIMEOUT_S)
        self._judge(synced.error_code)
        keys = json.loads(bytes(synced.assignment) or b"[]")
        self._generation = joined.generation_id
        now = self.shared.now()
        self.history.add(Assigned(GROUP, self._generation, self._member_id, keys, now))
        self.session += 1
        self.positions = {}
        self.positions = await self._look_up(keys)
        self._beat_at = self._commit_at = now

    def _shares(self, members: list[str]) -> list[SyncGroupRequestAssignment]:
        members.sort()
        keys = sorted(self.shared.keys)
        return [
            SyncGroupRequestAssignment(member, json.dumps(keys[index :: len(members)]).encode())
            for index, member in enumerate(members)
        ]

    async def _look_up(self, keys: list[str]) -> dict[str, int]:
        """Where the group stands."""
        if not keys:
            return {}
        topics: dict[str, list[int]] = {}
        for key in keys:
            topic, partition = topic_of(key)
            topics.setdefault(topic, []).append(partition)
        wanted = [OffsetFetchRequestTopic(topic, parts) for topic, parts in topics.items()]
        positions = {}
        while True:
            t0 = self.shared.now()
            answer = await self._ask_coordinator(OffsetFetchRequest(GROUP, wanted), 5)
            self._judge(answer.error_code)
            parts = [(topic.name, part) for topic in answer.topics for part in topic.partitions]
            if all(part.error_code == ErrorCode.NONE for _, part in parts):
                break
            await asyncio.sleep(RETRY_S)
        now = self.shared.now()
        for name, part in parts:
            key = f"{name}-{part.partition_index}"
            positions[key] = max(0, part.committed_offset)
            self.history.add(Committed(GROUP, key, part.committed_offset, t0, now))
        return positions

    async def _beat(self) -> None:
        now = self.shared.now()
        if now - self._beat_at < BEAT_S:
            return
        self._beat_at = now
        request = HeartbeatRequest(GROUP, self._generation, self._member_id)
        answer = await self._ask_coordinator(request, 3)
        if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            await self._commit()
        self._judge(answer.error_code)

    async def _commit_now_and_then(self) -> None:
        if self.shared.now() - self._commit_at >= COMMIT_S and self.positions:
            self._commit_at = self.shared.now()
            await self._commit()

    async def _commit(self) -> None:
        positions = dict(self.positions)
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for key, position in positions.items():
            topic, partition = topic_of(key)
            parts = topics.setdefault(topic, [])
            parts.append(OffsetCommitRequestPartition(partition, position, -1, ""))
        request = OffsetCommitRequest(
            GROUP,
            self._generation,
            self._member_id,
            topics=[
                OffsetCommitRequestTopic(topic, partitions=parts) for topic, parts in topics.items()
            ],
        )
        t0 = self.shared.now()
        codes = dict.fromkeys(positions, -1)
        try:
            answer = await self._ask_coordinator(request, 7)
            for topic in answer.topics:
                for part in topic.partitions:
                    codes[f"{topic.name}-{part.partition_index}"] = part.error_code
        finally:
            now = self.shared.now()
            for key, position in positions.items():
                outcome = {0: OK, -1: INFO}.get(codes[key], FAIL)
                self.history.add(
                    Commit(
                        *(GROUP, self._generation, self._member_id, key, position),
                        *(outcome, t0, now),
                    )
                )
        for code in codes.values():
            self._judge(code)

    async def _go(self) -> None:
        """Leave, or only be silent until the session ends."""
        if self.rng.random() < 0.5:
            identity = MemberIdentity(self._member_id, None)
            await self._ask_coordinator(LeaveGroupRequest(GROUP, "", [identity]), 3)
        self._member_id = ""
        raise _Out("gone")

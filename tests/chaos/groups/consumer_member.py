"""A member of a consumer group over raw requests (KIP-848), whose every step can be struck at.

It does what it is told as a client does: commits what it has to give up, says that it has given it
up, reads what is committed of what it is given, and asks for all again after an answer was lost.
Each step is named to `at` when it happens. Owns its part of the ledger; never kills anything.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.chaos.groups.ledger import Ledger
from tests.chaos.raw_client import Address, Hung, NotSent, RawClient

BEAT_S = 0.1
RETRY_S = 0.05
REBALANCE_MS = 60_000
LEAVE_EPOCH = -1
ON_ITS_WAY_S = 0.003
"""At most so long after a request is sent it is struck at: it may have arrived, or be answered."""

JOIN_POINTS = ("join-sent", "joined")
HAND_OVER_POINTS = (
    "told-to-give-up",
    "last-commit-sent",
    "last-committed",
    "given-up-sent",
    "given-up",
    "given",
)
LEAVE_POINTS = ("leave-sent", "left")
POINTS = (*JOIN_POINTS, *HAND_OVER_POINTS, *LEAVE_POINTS)

ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
)
FENCED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)

At: TypeAlias = Callable[[str, int], None]
"""Is told the name of a step, and the node that coordinates the group."""


class ConsumerMember:
    """One member of `group`, which reads `topic` (id `topic_id`)."""

    def __init__(
        self,
        name: str,
        addresses: dict[int, Address],
        ledger: Ledger,
        group: str,
        topic: tuple[str, bytes],
        at: At,
        rng: random.Random,
    ) -> None:
        self.name = name
        self.epoch = 0
        self.owned: list[int] = []
        self.beats = 0
        """Heartbeats that were answered well."""
        self.fenced: list[str] = []
        self._ledger = ledger
        self._group = group
        self._topic, self._topic_id = topic
        self._at = at
        self._rng = rng
        self._client = RawClient(name, addresses, rng)
        self._coordinator: int | None = None
        self._positions: dict[int, int] = {}
        self._unread: list[int] = []
        self._tells_all = True
        self._gave_up = False
        self._leaving = False

    @property
    def is_at_rest(self) -> bool:
        """Whether it has read where all of its partitions stand, and owes no answer."""
        return self.epoch > 0 and not (self._unread or self._gave_up or self._tells_all)

    @property
    def is_leaving(self) -> bool:
        """Whether it is about to leave, or has left."""
        return self._leaving

    def leave(self) -> None:
        """Leave with the next turn; `run` ends then."""
        self._leaving = True

    async def run(self) -> None:
        """Until it has left."""
        try:
            while not self._leaving:
                await self._turn(self._work)
                await asyncio.sleep(BEAT_S)
            self._ledger.gone(self.name)
            while self.epoch > 0 and not await self._turn(self._say_goodbye):
                await asyncio.sleep(RETRY_S)
        finally:
            self._client.close()

    async def _turn(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Whether it could be done; nothing is known of the coordinator else."""
        try:
            await work()
        except (NotSent, Hung):
            self._coordinator = None
            self._tells_all = True
            await asyncio.sleep(RETRY_S)
            return False
        return True

    async def _work(self) -> None:
        await self._beat()
        if self.epoch > 0 and self._unread:
            await self._look_up()
        for partition in list(self._positions):
            if partition in self._positions:  # it may be fenced on the way
                await self._commit(partition)

    async def _ask(self, request: Any, version: int, sent: str = "") -> Any:
        if self._coordinator is None:
            self._coordinator = await self._client.coordinator(self._group)
        node = self._coordinator
        if node is None:
            raise NotSent("no coordinator is known")
        call = asyncio.ensure_future(self._client.call(node, request, version))
        if sent:
            await asyncio.sleep(self._rng.random() * ON_ITS_WAY_S)
            self._at(sent, node)
        return await call

    def _passes(self, step: str) -> None:
        if self._coordinator is not None:
            self._at(step, self._coordinator)

    # -- heartbeats ------------------------------------------------------------------------------

    async def _beat(self) -> None:
        joins, gave_up = self.epoch == 0, self._gave_up
        sent = "join-sent" if joins else "given-up-sent" if gave_up else ""
        answer = await self._ask(self._heartbeat(), 1, sent)
        if not self._is_well(answer.error_code):
            return
        self.epoch = answer.member_epoch
        self.beats += 1
        self._tells_all = self._gave_up = False
        if answer.assignment is not None:
            await self._assigned(
                [one for topic in answer.assignment.topic_partitions for one in topic.partitions]
            )
        if joins:
            self._passes("joined")
        elif gave_up:
            self._passes("given-up")

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        owned = ConsumerGroupHeartbeatRequestTopicPartitions(self._topic_id, sorted(self.owned))
        request = ConsumerGroupHeartbeatRequest(self._group, self.name, self.epoch)
        if self._tells_all or self._gave_up:
            request.topic_partitions = [owned] if self.owned else []
        if self._tells_all:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.subscribed_topic_names = [self._topic]
        return request

    def _is_well(self, code: int) -> bool:
        """Whether it may go on. Hung where the coordinator is elsewhere."""
        error = ErrorCode(code)
        if error is ErrorCode.NONE:
            return True
        if error in ELSEWHERE:
            raise Hung(error.name)
        assert error in FENCED, f"{self.name} is told {error!r}"
        self.fenced.append(f"{self.name} at epoch {self.epoch}: {error.name}")
        self._ledger.gone(self.name)
        self.owned, self._unread, self._positions = [], [], {}
        self.epoch, self._tells_all = 0, True
        return False

    async def _assigned(self, partitions: list[int]) -> None:
        new = [one for one in partitions if one not in self.owned]
        lost = [one for one in self.owned if one not in partitions]
        self._ledger.given(self.name, new)
        self.owned += new
        self._unread += new
        if new:
            self._passes("given")
        if lost:
            self._passes("told-to-give-up")
            await self._give_up(lost)

    async def _give_up(self, partitions: Sequence[int]) -> None:
        """Commit what was done of them, and have them no more, whether or not that went well."""
        self._gave_up = True
        try:
            for partition in partitions:
                if partition in self._positions:
                    await self._commit(partition, "last-commit-sent")
                    self._passes("last-committed")
        finally:
            self._ledger.gave_up(self.name, partitions)
            self.owned = [one for one in self.owned if one not in partitions]
            self._unread = [one for one in self._unread if one not in partitions]
            for partition in partitions:
                self._positions.pop(partition, None)

    async def _say_goodbye(self) -> None:
        request = ConsumerGroupHeartbeatRequest(self._group, self.name, LEAVE_EPOCH)
        answer = await self._ask(request, 1, "leave-sent")
        error = ErrorCode(answer.error_code)
        if error in ELSEWHERE:
            raise Hung(error.name)
        # After a lost answer it is unknown already.
        assert error in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID), error
        self._passes("left")

    # -- offsets ---------------------------------------------------------------------------------

    async def _look_up(self) -> None:
        """How far the group is with what it was given."""
        unread = sorted(self._unread)
        topics = [OffsetFetchRequestTopics(self._topic, partition_indexes=unread)]
        asked = OffsetFetchRequestGroup(self._group, self.name, self.epoch, topics)
        answer = (await self._ask(OffsetFetchRequest(groups=[asked]), 9)).groups[0]
        if ErrorCode(answer.error_code) is ErrorCode.STALE_MEMBER_EPOCH:
            self._tells_all = True
        elif self._is_well(answer.error_code):
            for part in answer.topics[0].partitions:
                assert part.error_code == 0, part
                self._ledger.read(part.partition_index, part.committed_offset, self.name)
                self._positions[part.partition_index] = max(0, part.committed_offset)
            self._unread = []

    async def _commit(self, partition: int, sent: str = "") -> None:
        offset = self._positions[partition] + 1
        parts = [OffsetCommitRequestPartition(partition, offset, -1, "")]
        topics = [OffsetCommitRequestTopic(self._topic, partitions=parts)]
        self._ledger.tries(partition, offset)
        request = OffsetCommitRequest(self._group, self.epoch, self.name, topics=topics)
        answer = await self._ask(request, 9, sent)
        code = answer.topics[0].partitions[0].error_code
        if ErrorCode(code) is ErrorCode.STALE_MEMBER_EPOCH:
            self._tells_all = True
        elif self._is_well(code):
            self._positions[partition] = offset
            self._ledger.committed(partition, offset)

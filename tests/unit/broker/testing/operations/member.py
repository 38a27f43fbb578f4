"""A member of a consumer group, as far as a test of groups needs one."""

from __future__ import annotations

import asyncio

from broker.testing.operations.groups import GROUP, coordinator
from broker.testing.operations.port import World
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.primitives import MessageBuffer


def versioned(message: ConsumerProtocolSubscription | ConsumerProtocolAssignment) -> bytes:
    out = MessageBuffer()
    out += bytes(2)
    message.write(out, 0)
    return bytes(out)


class Member:
    """Joins, beats, and joins again when it is told to; leads alone."""

    def __init__(self, world: World, group: str, topic: str, partitions: list[int]) -> None:
        self.world = world
        self.group = group
        self.topic = topic
        self.partitions = partitions
        self.generations: list[int] = []
        self.member_id = ""
        self.task = asyncio.create_task(self._live())

    async def joined(self, times: int = 1) -> None:
        while len(self.generations) < times:
            await asyncio.sleep(0)

    async def _live(self) -> None:
        await coordinator(self.world, self.group, GROUP, self.world.now_s() + 5)
        while True:
            await self._join()
            while True:
                beat = HeartbeatRequest(self.group, self.generations[-1], self.member_id)
                error = (await self.world.ask(None, beat, 4)).error_code
                if error == ErrorCode.UNKNOWN_MEMBER_ID:
                    return
                if error != ErrorCode.NONE:
                    break
                await self.world.pause(0.02)

    async def _join(self) -> None:
        subscription = versioned(ConsumerProtocolSubscription([self.topic]))
        protocols = [JoinGroupRequestProtocol("range", subscription)]
        while True:
            request = JoinGroupRequest(
                self.group, 10_000, 10_000, self.member_id, None, "consumer", protocols
            )
            joined = await self.world.ask(None, request, 5)
            self.member_id = joined.member_id
            if joined.error_code == ErrorCode.NONE:
                break
            await self.world.pause(0.01)
        assigned = versioned(
            ConsumerProtocolAssignment(
                [ConsumerProtocolAssignmentTopicPartition(self.topic, self.partitions)]
            )
        )
        sync = SyncGroupRequest(
            self.group,
            joined.generation_id,
            self.member_id,
            assignments=[
                SyncGroupRequestAssignment(
                    one.member_id, assigned if one.member_id == self.member_id else b""
                )
                for one in joined.members
            ],
        )
        await self.world.ask(None, sync, 3)
        self.generations.append(joined.generation_id)


async def commit(world: World, group: str, topic: str, offsets: dict[int, int]) -> None:
    """As a client without a group's membership does."""
    await coordinator(world, group, GROUP, world.now_s() + 5)
    while True:
        partitions = [OffsetCommitRequestPartition(index, at) for index, at in offsets.items()]
        request = OffsetCommitRequest(
            group, topics=[OffsetCommitRequestTopic(topic, partitions=partitions)]
        )
        answer = await world.ask(None, request, 8)
        if not answer.topics[0].partitions[0].error_code:
            return
        await world.pause(0.01)

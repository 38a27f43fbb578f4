"""A transactional producer, as far as a test needs one."""

from __future__ import annotations

from client.core.coordinators import TRANSACTION, coordinator
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from testbed.operations.port import OperationWorld
from tests.batches import build_batch


class Producer:
    """One transaction of one id; its partitions are added by its Produce (KIP-890)."""

    def __init__(self, world: OperationWorld, name: str, topic: str) -> None:
        self.world = world
        self.name = name
        self.topic = topic
        self.identity = (-1, -1)
        self.sequence = 0

    @classmethod
    async def begin(cls, world: OperationWorld, name: str, topic: str) -> Producer:
        producer = cls(world, name, topic)
        attempts = world.attempts(world.now_s() + 5)
        await world.run(coordinator(attempts, name, TRANSACTION))
        while True:
            answer = await world.ask(None, InitProducerIdRequest(name, 60_000), 5)
            if not answer.error_code:
                producer.identity = answer.producer_id, answer.producer_epoch
                return producer
            await world.pause(0.01)

    async def send(self, value: bytes) -> int:
        batch = build_batch(
            [Record(-1, self.world.wall_ms(), None, value)],
            producer_id=self.identity[0],
            producer_epoch=self.identity[1],
            base_sequence=self.sequence,
            is_transactional=True,
        )
        self.sequence += 1
        data = TopicProduceData(
            self.topic, partition_data=[PartitionProduceData(0, memoryview(batch))]
        )
        answer = await self.world.ask(None, ProduceRequest(self.name, -1, 5000, [data]), 12)
        return int(answer.responses[0].partition_responses[0].error_code)

    async def end(self, committed: bool) -> int:
        answer = await self.world.ask(None, EndTxnRequest(self.name, *self.identity, committed), 5)
        return int(answer.error_code)

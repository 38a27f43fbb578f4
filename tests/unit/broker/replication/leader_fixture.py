"""A leader with followers and a controller, all played by a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from protocol.messages.metadata_records import PartitionChangeRecord
from tests.unit.broker.replica_fixture import Replicas, topic_id_of

TOPIC = "t"


class Leader:
    """Broker 1 leads one partition; brokers 2 and on may follow it."""

    def __init__(
        self,
        folder: str,
        replicas: Sequence[int] = (1, 2, 3),
        isr: Sequence[int] | None = None,
        min_isr: int = 1,
        **configs: str,
    ) -> None:
        self.replicas = Replicas(folder, verifies_transactions=False, **configs)
        for broker_id in range(1, 6):
            self.replicas.register(broker_id, broker_id * 10)
        self.asked: list[tuple[AlterPartitionRequest, Callable[[Any], None]]] = []
        self.replicas.propose_to(lambda request, done: self.asked.append((request, done)))
        self.partition: Partition = self.replicas.create(
            TOPIC, replicas=replicas, isr=isr, min_insync_replicas=str(min_isr)
        )

    @property
    def high_watermark(self) -> int:
        return self.partition.log.high_watermark

    @property
    def end(self) -> int:
        return self.partition.log.log_end_offset

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            self.replicas.append(TOPIC, b"v")

    def fetch(
        self,
        broker_id: int,
        offset: int,
        *,
        epoch: int | None = None,
        last_epoch: int | None = None,
        broker_epoch: int | None = None,
    ) -> ErrorCode:
        """A follower's fetch, as the API makes it of a request."""
        partition = self.partition
        if broker_epoch is None:
            broker_epoch = broker_id * 10
        read = partition.read_for_follower(
            broker_id,
            broker_epoch,
            offset,
            1 << 20,
            True,
            partition.leader_epoch if epoch is None else epoch,
            partition.leader_epoch if last_epoch is None else last_epoch,
        )
        told_another_history = read.diverging_epoch is not None
        if not (read.error or told_another_history) and partition.follower_fetched(
            broker_id, offset, 0, broker_epoch
        ):
            partition.changed()
        return read.error

    def run(self, ms: float) -> None:
        self.replicas.scheduler.run_for(ms)

    def proposed(self) -> list[int] | None:
        """The ISR in the newest request to the controller."""
        self.run(0)
        if not self.asked:
            return None
        (proposal,) = self.asked[-1][0].topics[0].partitions
        return [state.broker_id for state in proposal.new_isr_with_epochs]

    def commit(self, isr: Sequence[int]) -> None:
        """The controller commits an ISR: by the metadata log, not by an answer."""
        self.replicas.replay(PartitionChangeRecord(0, topic_id_of(TOPIC), isr=list(isr)))

    def answer(
        self, isr: Sequence[int] = (), error: ErrorCode = ErrorCode.NONE, epochs_later: int = 0
    ) -> None:
        """The controller answers the newest proposal; so many leader epochs after it was made."""
        request, done = self.asked.pop()
        (proposal,) = request.topics[0].partitions
        leader_epoch, partition_epoch = proposal.leader_epoch, proposal.partition_epoch
        answer = AlterPartitionResponsePartitionData(
            0, int(error), 1, leader_epoch + epochs_later, list(isr), 0, partition_epoch + 1
        )
        topic = AlterPartitionResponseTopicData(topic_id_of(TOPIC), [answer])
        done(AlterPartitionResponse(0, 0, [topic]))

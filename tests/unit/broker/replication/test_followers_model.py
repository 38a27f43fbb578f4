"""One leader, its followers and a controller at random, against what must always hold.

The followers are kept here as the records that each has, under the epoch of each; the controller
as the ISR that it has committed, whether or not the leader has heard of it. After every step:

- nothing below the high watermark is missing at a member of an ISR that the controller may elect
  from, and the high watermark never goes back;
- an append with acks=all is answered with success only then, and is answered once all have it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from broker.purgatory.delayed_operations import DelayedProduce, PendingAck
from broker.replication.partition import Partition
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from protocol.messages.metadata_records import PartitionChangeRecord
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.broker.replication.leader_fixture import TOPIC, Leader

LAG_MS = 3_000
STEPS = 250


class Model:
    """The world around one leader."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.min_isr = self.random.choice([1, 2])
        self.leader = Leader(
            str(folder),
            min_isr=self.min_isr,
            **{"replica.lag.time.max.ms": str(LAG_MS), "replica.fetch.wait.max.ms": "500"},
        )
        self.logs: dict[int, list[int]] = {2: [], 3: []}  # the epoch of each record, by follower
        self.history: list[int] = []  # the same of the leader
        self.acks: list[tuple[int, list[ErrorCode]]] = []  # what was appended up to, the verdict
        self.committed: tuple[int, ...] = (1, 2, 3)
        self.partition_epoch = self.partition.partition_epoch
        self.unheard: list[tuple[int, ...]] = []  # ISRs that the leader has not heard of
        self.watermark = 0

    @property
    def partition(self) -> Partition:
        return self.leader.partition

    # --- steps -----------------------------------------------------------------------------------

    def append(self) -> None:
        replicas, partition = self.leader.replicas, self.partition
        batch, now_ms = replicas.batch(b"v"), replicas.scheduler.wall_ms()
        info = partition.append_as_leader(batch, -1, now_ms)
        if isinstance(info, ErrorCode):
            assert info == ErrorCode.NOT_ENOUGH_REPLICAS
            assert len(partition.isr) < self.min_isr
            return
        self.history.append(partition.leader_epoch)
        verdicts: list[ErrorCode] = []
        self.acks.append((info.last_offset + 1, verdicts))
        pending = PendingAck(info.last_offset + 1, verdicts.append)
        waiting = DelayedProduce({partition: pending}, lambda: None)
        if not waiting.settle_all():
            replicas.manager.produce_purgatory.watch(waiting, [partition], 1e9)
        partition.changed()

    def fetch(self) -> None:
        broker_id = self.random.choice([2, 3])
        log = self.logs[broker_id]
        partition = self.partition
        epoch = partition.leader_epoch - (self.random.random() < 0.1)
        last = log[-1] if log else -1
        read = partition.read_for_follower(
            broker_id, broker_id * 10, len(log), 1 << 20, True, epoch, last
        )
        if read.error:
            return
        if read.diverging_epoch is not None:
            _, end = read.diverging_epoch
            del log[min(end, len(log)) :]
            return
        assert log == self.history[: len(log)], "a position of another history was taken"
        if partition.follower_fetched(broker_id, len(log), 0, broker_id * 10):
            partition.changed()
        got = self.random.randint(0, 4)
        log.extend(self.history[len(log) : len(log) + got])

    def pass_time(self) -> None:
        self.leader.run(self.random.choice([1, 10, 100, LAG_MS / 4, LAG_MS]))

    def decide(self) -> None:
        """The controller takes or refuses a proposal; its answer may be lost."""
        self.leader.run(0)
        if not self.leader.asked:
            return
        request, done = self.leader.asked.pop()
        (proposal,) = request.topics[0].partitions
        error, isr = ErrorCode.NONE, tuple(b.broker_id for b in proposal.new_isr_with_epochs)
        if proposal.partition_epoch != self.partition_epoch:
            error = ErrorCode.INVALID_UPDATE_VERSION
        elif self.random.random() < 0.2:
            error = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.change(isr)
        answer = AlterPartitionResponsePartitionData(
            0, int(error), 1, proposal.leader_epoch, list(isr), 0, self.partition_epoch
        )
        topic = AlterPartitionResponseTopicData(topic_id_of(TOPIC), [answer])
        lost = self.random.random() < 0.3
        done(None if lost else AlterPartitionResponse(0, 0, [topic]))

    def fence(self) -> None:
        """The controller takes a follower out, unasked."""
        if len(self.committed) > 1 and self.random.random() < 0.3:
            gone = self.random.choice(self.committed[1:])
            self.change(tuple(one for one in self.committed if one != gone))

    def change(self, isr: tuple[int, ...]) -> None:
        self.committed = isr
        self.partition_epoch += 1
        self.unheard.append(isr)

    def hear(self) -> None:
        """The leader reads the metadata log."""
        if self.unheard:
            isr = list(self.unheard.pop(0))
            self.leader.replicas.replay(PartitionChangeRecord(0, topic_id_of(TOPIC), isr=isr))

    def elect_again(self) -> None:
        """A new leader epoch of the same leader; it has heard of all before."""
        if self.random.random() < 0.2:
            while self.unheard:
                self.hear()
            self.leader.replicas.move_leader(TOPIC, 1)
            self.partition_epoch += 1

    # --- what must hold --------------------------------------------------------------------------

    def check(self) -> None:
        high = self.leader.high_watermark
        assert high >= self.watermark, "the high watermark went back"
        self.watermark = high
        for broker_id in self.committed[1:]:
            assert len(self.logs[broker_id]) >= high, (
                f"broker {broker_id} may be elected without {high}"
            )
            assert self.logs[broker_id][:high] == self.history[:high]
        for required, verdicts in self.acks:
            assert len(verdicts) <= 1
            if verdicts == [ErrorCode.NONE]:
                assert required <= high
            elif required <= high:
                assert verdicts == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
        self.acks = [(required, verdicts) for required, verdicts in self.acks if not verdicts]


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_committed_that_a_possible_leader_misses(tmp_path: Path, seed: int) -> None:
    model = Model(tmp_path, seed)
    steps = [
        model.append,
        model.append,
        model.fetch,
        model.fetch,
        model.fetch,
        model.fetch,
        model.pass_time,
        model.decide,
        model.hear,
        model.fence,
        model.elect_again,
    ]
    for _ in range(STEPS):
        model.random.choice(steps)()
        model.check()
    # All is well again: everybody catches up, and every append is answered.
    for _ in range(60):
        model.fetch()
        model.pass_time()
        model.decide()
        model.hear()
        model.check()
    assert model.watermark > 0

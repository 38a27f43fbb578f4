"""A transaction whose producer loses a right half way: each step is judged as of then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.authorization.rights import Verdict
from ottla.plugins.authorizer import Action, Asker, Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.group_conversation import fetching
from tests.unit.broker.node_fixture import Running
from tests.unit.controller.rights_fixture import ListJudge

ME, ADMIN = "User:me", "User:admin"
TIMEOUT_MS = 60_000
OLD, NEW = 1, 2
"""Of the protocol of transactions: partitions are added by requests of their own, or with what is
written (KIP-890)."""
ID = (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t")
GROUP = (Operation.READ, Resource.GROUP, "g")
READS = (Operation.READ, Resource.TOPIC, "in")
WRITES = (Operation.WRITE, Resource.TOPIC, "out")
ALL = (ID, GROUP, READS, WRITES)
STEPS = {
    OLD: ("init", "add", "produce", "add_offsets", "commit", "end"),
    NEW: ("init", "produce", "commit", "end"),
}
NO_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NEEDS = {
    "init": {ID: NO_ID},
    "add": {ID: NO_ID, WRITES: NO_TOPIC},
    "produce": {ID: NO_ID, WRITES: NO_TOPIC},
    "add_offsets": {ID: NO_ID, GROUP: NO_GROUP},
    "commit": {ID: NO_ID, GROUP: NO_GROUP, READS: NO_TOPIC},
    "end": {ID: NO_ID},
}
BUSY = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class Judge(ListJudge):
    """One may do all, and ME what is on the list."""

    def judge(self, asker: Asker, action: Action) -> Verdict:
        return Verdict(True, "admin") if asker.principal == ADMIN else super().judge(asker, action)


class Transaction:
    """One that reads `in` as group `g` and writes `out`. Each step gives its error."""

    def __init__(self, folder: Path, protocol: int) -> None:
        self.judge = Judge(ALL)
        self.protocol = protocol
        self.running = Running(
            folder,
            **{
                "offsets.topic.num.partitions": "1",
                "transaction.state.log.num.partitions": "1",
            },
        )
        self.running.create("in", "out", "__consumer_offsets", "__transaction_state")
        self.running.judge_by(self.judge)
        self.me = (-1, -1)

    def step(self, name: str) -> ErrorCode:
        """The error, once it is not that something is on its way."""
        for _ in range(100):
            error = ErrorCode(getattr(self, name)())
            if error not in BUSY:
                return error
            self.running.scheduler.run_for(20)
        raise AssertionError(f"{name} is {error.name}")

    def ask(self, request: Any, version: int, principal: str = ME) -> Any:
        return self.running.ask(request, version, principal=principal)

    def init(self) -> int:
        answer = self.ask(InitProducerIdRequest("t", TIMEOUT_MS), 5)
        if answer.error_code == 0:
            self.me = (answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def add(self) -> int:
        request = AddPartitionsToTxnRequest(
            [], "t", *self.me, [AddPartitionsToTxnTopic("out", [0])]
        )
        answer = self.ask(request, 3)
        return int(
            answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )

    def produce(self) -> int:
        record = Record(-1, self.running.scheduler.wall_ms(), b"k", b"v")
        producer_id, epoch = self.me
        batch = build_batch(
            [record],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            is_transactional=True,
        )
        data = [TopicProduceData("out", partition_data=[PartitionProduceData(0, batch)])]
        answer = self.ask(ProduceRequest("t", -1, 1_000, data), 12 if self.protocol == NEW else 11)
        return int(answer.responses[0].partition_responses[0].error_code)

    def add_offsets(self) -> int:
        return int(self.ask(AddOffsetsToTxnRequest("t", *self.me, "g"), 4).error_code)

    def commit(self) -> int:
        topic = TxnOffsetCommitRequestTopic(
            "in", partitions=[TxnOffsetCommitRequestPartition(0, 7)]
        )
        request = TxnOffsetCommitRequest("t", "g", *self.me, topics=[topic])
        answer = self.ask(request, 5 if self.protocol == NEW else 4)
        return int(answer.topics[0].partitions[0].error_code)

    def end(self) -> int:
        version = 5 if self.protocol == NEW else 4
        return int(self.ask(EndTxnRequest("t", *self.me, True), version).error_code)

    def seen(self) -> tuple[Any, ...]:
        """All that a step could change."""
        broker = self.running.node.broker
        assert broker is not None
        ends = []
        for topic in ("out", "__consumer_offsets", "__transaction_state"):
            partition = broker.parts.replicas.partition(topic, 0)
            assert partition is not None
            ends.append(partition.log.log_end_offset)
        return *ends, *self.described()

    def described(self) -> tuple[str, list[str]]:
        answer = self.ask(DescribeTransactionsRequest(["t"]), 0, ADMIN)
        (state,) = answer.transaction_states
        return state.transaction_state, sorted(topic.topic for topic in state.topics)


@pytest.mark.parametrize("protocol", [OLD, NEW])
def test_a_step_by_one_who_has_lost_a_right_changes_nothing(tmp_path: Path, protocol: int) -> None:
    transaction = Transaction(tmp_path, protocol)
    for step in STEPS[protocol]:
        for lost, error in NEEDS[step].items():
            before = transaction.seen()
            transaction.judge.allowed.discard(lost)
            assert transaction.step(step) is error, (step, lost)
            assert transaction.seen() == before, (step, lost)
            transaction.judge.allowed.add(lost)
        assert transaction.step(step) is ErrorCode.NONE, step
    transaction.running.scheduler.run_for(100)
    assert transaction.described() == ("CompleteCommit", [])
    (group,) = transaction.ask(fetching("g", ["in"]), 9, ADMIN).groups
    assert group.topics[0].partitions[0].committed_offset == 7
    transaction.running.stop()


@pytest.mark.parametrize("protocol", [OLD, NEW])
def test_the_node_ends_what_its_producer_may_not_end(tmp_path: Path, protocol: int) -> None:
    """Verifying, aborting and marking are its own, and need nobody's rights."""
    transaction = Transaction(tmp_path, protocol)
    for step in STEPS[protocol][:-1]:
        assert transaction.step(step) is ErrorCode.NONE
    transaction.judge.allowed.clear()
    assert transaction.step("end") is NO_ID
    assert transaction.described()[0] == "Ongoing"
    transaction.running.scheduler.run_for(2 * TIMEOUT_MS)
    assert transaction.described() == ("CompleteAbort", [])
    transaction.running.stop()

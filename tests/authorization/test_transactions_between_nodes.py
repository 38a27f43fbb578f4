"""Transactions across nodes, by one who has just the rights for them: what nodes ask each other
for that is their own business.

The internal topics are made for one who may create none, by a broker that is no controller. A
leader asks the coordinator on another node about a transaction, and the coordinator has leaders end
it, where the client itself may ask for neither.
"""

from __future__ import annotations

from typing import Any

import pytest

from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.records import Record
from simulation.machines.sim_broker import SimBroker
from tests.authorization.secured_story import ALL, ON_CLUSTER, ROOT, SecuredStory, allowing
from tests.batches import build_batch

ALICE = "User:alice"
PARTITIONS = 3
GROUP, TRANSACTION = 0, 1
BUSY = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
RIGHTS = (
    allowing(ROOT, ALL, Resource.TOPIC, "__", prefix=True),
    allowing(ALICE, Operation.WRITE, Resource.TOPIC, "out"),
    allowing(ALICE, Operation.READ, Resource.TOPIC, "in"),
    allowing(ALICE, Operation.READ, Resource.GROUP, "g"),
    allowing(ALICE, Operation.WRITE, Resource.TRANSACTIONAL_ID, "t"),
)


class Copier:
    """Alice, with transaction `t` and group `g`."""

    def __init__(self, story: SecuredStory) -> None:
        self.story = story
        self.me = (-1, -1)

    def find(self, kind: int, key: str) -> SimBroker:
        """Asked at the second broker."""
        for _ in range(50):
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            (found,) = self.story.ask_as(ALICE, request, 4, self.story.broker(2)).coordinators
            if found.error_code not in BUSY:
                assert found.error_code == 0, found
                return self.story.broker(found.node_id)
            self.story.run_for(100)
        raise AssertionError(f"no coordinator for {key}")

    def init(self, at: SimBroker) -> None:
        for _ in range(50):
            answer = self.story.ask_as(ALICE, InitProducerIdRequest("t", 30_000), 5, at)
            if answer.error_code not in BUSY:
                break
            self.story.run_for(100)
        assert answer.error_code == 0, answer
        self.me = answer.producer_id, answer.producer_epoch

    def add(self, version: int, at: SimBroker) -> Any:
        topics = [AddPartitionsToTxnTopic("out", list(range(PARTITIONS)))]
        batch = [AddPartitionsToTxnTransaction("t", *self.me, False, topics)]
        request = AddPartitionsToTxnRequest(batch, "t", *self.me, topics)
        return self.story.ask_as(ALICE, request, version, at)

    def produce(self, index: int, version: int, sequence: int) -> int:
        at = self.story.leader("out", index)
        assert at is not None
        producer_id, epoch = self.me
        batch = build_batch(
            [Record(-1, at.replicas.scheduler.wall_ms(), None, b"v")],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        data = [TopicProduceData("out", partition_data=[PartitionProduceData(index, batch)])]
        (topic,) = self.story.ask_as(
            ALICE, ProduceRequest("t", -1, 5_000, data), version, at
        ).responses
        return int(topic.partition_responses[0].error_code)

    def commit(self, version: int, at: SimBroker) -> int:
        topic = TxnOffsetCommitRequestTopic(
            "in", partitions=[TxnOffsetCommitRequestPartition(0, 1)]
        )
        request = TxnOffsetCommitRequest("t", "g", *self.me, topics=[topic])
        (answer,) = self.story.ask_as(ALICE, request, version, at).topics
        return int(answer.partitions[0].error_code)

    def end(self, version: int, at: SimBroker) -> int:
        request = EndTxnRequest("t", *self.me, True)
        return int(self.story.ask_as(ALICE, request, version, at).error_code)


def test_what_nodes_ask_of_each_other_needs_no_right_of_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = SecuredStory()
    # The last reader knows what simulated producers have sent, and alice is none of them.
    monkeypatch.setattr(story, "read_everything", lambda _name: None)

    def open_partitions() -> list[int]:
        """Those of `out` that have records of an open transaction."""
        logs = []
        for index in range(PARTITIONS):
            at = story.leader("out", index)
            assert at is not None
            logs.append(at.replicas.partition("out", index).log)
        return [n for n, log in enumerate(logs) if log.last_stable_offset < log.log_end_offset]

    def tell() -> None:
        topics = [CreatableTopic("in", 1, 1), CreatableTopic("out", PARTITIONS, 1)]
        made = story.ask_as(ROOT, CreateTopicsRequest(topics, 5_000), 7, story.broker(1)).topics
        assert [one.error_code for one in made] == [0, 0]
        story.set_acls(ON_CLUSTER, *RIGHTS)
        alice = Copier(story)
        at, of_group = alice.find(TRANSACTION, "t"), alice.find(GROUP, "g")
        leaders = {story.leader("out", index) for index in range(PARTITIONS)}
        assert len(leaders) == PARTITIONS, "some of them are on other nodes than the coordinator"
        for number, (produce, commit, end) in enumerate(((11, None, 4), (12, 5, 5))):
            alice.init(at)
            if produce < 12:
                added = alice.add(3, at).results_by_topic_v3_and_below
                assert {p.partition_error_code for p in added[0].results_by_partition} == {0}
            assert [alice.produce(n, produce, 0) for n in range(PARTITIONS)] == [0] * PARTITIONS
            if commit is not None:
                assert alice.commit(commit, of_group) == 0
            assert open_partitions() == list(range(PARTITIONS)), number
            refused_as_a_broker(alice, at)
            assert open_partitions() == list(range(PARTITIONS)), number
            assert alice.end(end, at) == 0
            story.run_for(500)
            assert open_partitions() == [], number

    def refused_as_a_broker(alice: Copier, at: SimBroker) -> None:
        assert alice.add(5, at).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        named = [WritableTxnMarkerTopic("out", list(range(PARTITIONS)))]
        marker = WritableTxnMarker(*alice.me, False, named, 0)
        (answer,) = story.ask_as(ALICE, WriteTxnMarkersRequest([marker]), 1, at).markers
        assert {one.error_code for one in answer.topics[0].partitions} == {
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        }

    story.run(tell)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce.answers import refuse_produce
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.unit.broker.apis.produce.produce_fixture import Produce
from tests.unit.broker.replica_fixture import topic_id_of


@pytest.fixture
def produce(tmp_path: Path) -> Produce:
    return Produce(tmp_path)


@pytest.mark.parametrize("acks", [1, -1])
def test_appends_are_answered_with_their_offsets(produce: Produce, acks: int) -> None:
    produce.replicas.create("t")
    assert produce.one(acks=acks).base_offset == 0
    second = produce.one(acks=acks)
    assert (second.error_code, second.base_offset) == (0, 1)
    assert (second.log_append_time_ms, second.log_start_offset) == (-1, 0)


@pytest.mark.parametrize("acks", [1, -1])
def test_a_long_request_is_handled_in_turns(produce: Produce, acks: int) -> None:
    partition = produce.replicas.create("t")
    data = [PartitionProduceData(n, produce.replicas.batch(b"x")) for n in range(1_000)]
    topics = [TopicProduceData("t", partition_data=data)]
    produce.send(ProduceRequest(None, acks, 1000, topics), long=True)
    assert not produce.answers
    produce.turns.run()
    (response,) = produce.answers
    assert partition.log.log_end_offset == 1
    errors = [one.error_code for one in response.responses[0].partition_responses]
    assert errors == [0] + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 999


def test_other_acks_are_refused(produce: Produce) -> None:
    partition = produce.replicas.create("t")
    assert produce.one(acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert partition.log.log_end_offset == 0


def test_one_bad_partition_does_not_touch_the_others(produce: Produce) -> None:
    produce.replicas.create("t", partitions=2)
    good, corrupt = produce.replicas.batch(b"a"), produce.replicas.batch(b"b")
    corrupt[-1] ^= 1
    data = [
        PartitionProduceData(0, corrupt),
        PartitionProduceData(1, good),
        PartitionProduceData(2, produce.replicas.batch(b"c")),
    ]
    produce.send(ProduceRequest(None, 1, 1000, [TopicProduceData("t", partition_data=data)]))
    (topic,) = produce.answers[-1].responses
    assert [p.error_code for p in topic.partition_responses] == [
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert produce.replicas.partition("t", 0).log.log_end_offset == 0


def test_version_13_names_topics_by_id(produce: Produce) -> None:
    produce.replicas.create("t")
    for topic_id, error in [(topic_id_of("t"), 0), (b"?" * 16, ErrorCode.UNKNOWN_TOPIC_ID)]:
        data = [PartitionProduceData(0, produce.replicas.batch(b"a"))]
        topic = TopicProduceData("", topic_id, data)
        produce.send(ProduceRequest(None, 1, 1000, [topic]), version=13)
        assert produce.last().error_code == error
        assert produce.answers[-1].responses[0].topic_id == topic_id


@pytest.mark.parametrize("records", [None, memoryview(b"")])
def test_a_partition_without_records_is_refused(produce: Produce, records: object) -> None:
    produce.replicas.create("t")
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])]  # type: ignore[arg-type]
    produce.send(ProduceRequest(None, 1, 1000, data))
    assert produce.last().error_code == ErrorCode.INVALID_RECORD


def test_a_refusal_of_the_log_comes_with_its_words(produce: Produce) -> None:
    produce.replicas.create("t", max_message_bytes="100")
    answer = produce.one(records=produce.replicas.batch(b"v" * 200))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert answer.error_message is not None
    assert (answer.base_offset, produce.replicas.partition("t").log.log_end_offset) == (-1, 0)


def test_an_idempotent_retry_gets_the_offset_of_its_first_try(produce: Produce) -> None:
    partition = produce.replicas.create("t")
    options: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    assert produce.one(**options).base_offset == 0
    again = produce.one(**options)
    assert (again.error_code, again.base_offset) == (0, 0)
    assert partition.log.log_end_offset == 1
    options["base_sequence"] = 5
    assert produce.one(**options).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_too_few_in_sync_are_told_the_log_start_as_kafka_does(produce: Produce) -> None:
    produce.replicas.create("t", replicas=[1, 2], isr=[1], min_insync_replicas="2")
    answer = produce.one(acks=-1)
    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert (answer.base_offset, answer.log_start_offset) == (-1, 0)


def test_acks_all_waits_for_the_in_sync_replicas(produce: Produce) -> None:
    produce.replicas.create("t", replicas=[1, 2])
    data = [PartitionProduceData(0, produce.replicas.batch(b"a"))]
    produce.send(ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=data)]))
    assert produce.answers == []
    produce.replicas.move_leader("t", 1, isr=[1])
    assert (produce.last().error_code, produce.last().base_offset) == (0, 0)
    assert len(produce.replicas.manager.produce_purgatory) == 0


def test_acks_all_times_out(produce: Produce) -> None:
    produce.replicas.create("t", replicas=[1, 2])
    data = [PartitionProduceData(0, produce.replicas.batch(b"a"))]
    produce.send(ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=data)]))
    produce.replicas.scheduler.run_for(1000)
    assert produce.last().error_code == ErrorCode.REQUEST_TIMED_OUT


def test_acks_all_ends_when_leadership_is_lost(produce: Produce) -> None:
    produce.replicas.create("t", replicas=[1, 2])
    data = [PartitionProduceData(0, produce.replicas.batch(b"a"))]
    produce.send(ProduceRequest(None, -1, 1000, [TopicProduceData("t", partition_data=data)]))
    produce.replicas.move_leader("t", 2)
    assert produce.last().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_who_asks_the_wrong_broker_is_told_the_leader(produce: Produce) -> None:
    """KIP-951, at once and where the leadership is lost while it waits."""
    produce.replicas.register(2, 20)
    produce.replicas.create("t", replicas=[1, 2])
    produce.replicas.create("other", replicas=[1, 2], leader=2)
    values = [PartitionProduceData(0, produce.replicas.batch(b"v"))]
    produce.send(
        ProduceRequest(
            None,
            -1,
            1000,
            [
                TopicProduceData("t", partition_data=values),
                TopicProduceData(
                    "other", partition_data=[PartitionProduceData(0, produce.replicas.batch(b"v"))]
                ),
            ],
        )
    )
    assert produce.answers == []
    produce.replicas.move_leader("t", 2)
    response: ProduceResponse = produce.answers[-1]
    told = [topic.partition_responses[0] for topic in response.responses]
    assert [one.error_code for one in told] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    leaders = [one.current_leader for one in told]
    assert all(one is not None for one in leaders)
    assert [(one.leader_id, one.leader_epoch) for one in leaders if one] == [(2, 1), (2, 0)]
    assert [(one.node_id, one.host) for one in response.node_endpoints] == [(2, "host-2")]


def test_a_client_that_does_not_know_of_it_is_told_no_leader(produce: Produce) -> None:
    produce.replicas.register(2, 20)
    produce.replicas.create("t", replicas=[1, 2], leader=2)
    data = [PartitionProduceData(0, produce.replicas.batch(b"v"))]
    produce.send(ProduceRequest(None, 1, 1000, [TopicProduceData("t", partition_data=data)]), 9)
    assert produce.last().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce.last().current_leader is None
    assert produce.answers[-1].node_endpoints == []


def test_a_failure_of_ours_is_said_for_every_partition() -> None:
    data = [PartitionProduceData(0), PartitionProduceData(1)]
    request = ProduceRequest(None, 1, 0, [TopicProduceData("t", partition_data=data)])
    response = refuse_produce(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert isinstance(response, ProduceResponse)
    (topic,) = response.responses
    assert [(p.index, p.error_code) for p in topic.partition_responses] == [(0, -1), (1, -1)]

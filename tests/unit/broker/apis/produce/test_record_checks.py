"""Produce to topics that look at records: at once where that is short, later where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.frames.framing import KEPT_BYTES
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import read_header
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.apis.produce.produce_fixture import Produce
from tests.unit.storage.harness import read_all

WAIT_MS = 60_000
COMPACT = {"cleanup_policy": "compact"}


@pytest.fixture
def produce(tmp_path: Path) -> Produce:
    return Produce(tmp_path)


def large(key: bytes | None = b"k", size: int = 3_000_000, **fields: int) -> memoryview:
    """A small batch that unpacks to much."""
    records = [Record(-1, 1_700_000_000_000, key, bytes(size))]
    return memoryview(build_batch(records, compression=Codec.GZIP, **fields))


def request(*records: memoryview, topic: str = "t", acks: int = 1) -> ProduceRequest:
    parts = [PartitionProduceData(index, one) for index, one in enumerate(records)]
    return ProduceRequest(None, acks, 1000, [TopicProduceData(topic, partition_data=parts)])


def answered(produce: Produce, count: int) -> None:
    produce.replicas.scheduler.run_until(lambda: len(produce.answers) == count, WAIT_MS)


def test_a_short_look_is_answered_at_once(produce: Produce) -> None:
    produce.replicas.create("t", **COMPACT)
    assert produce.one(records=large(size=10_000)).base_offset == 0
    assert produce.one(records=large(key=None, size=10_000)).error_code == ErrorCode.INVALID_RECORD
    assert produce.replicas.logs.sliced.slices == 0


def test_a_long_one_is_answered_later_and_the_frame_may_go(produce: Produce) -> None:
    partition = produce.replicas.create("t", **COMPACT)
    sent = large()
    expected = bytes(sent)
    produce.send(request(sent))
    sent[:] = bytes(len(sent))  # the next request lies there
    assert produce.answers == [] and partition.log.log_end_offset == 0
    answered(produce, 1)
    assert produce.last().error_code == 0 and produce.last().base_offset == 0
    assert read_all(partition.log)[21:] == expected[21:]


def test_long_and_short_ones_in_one_request(produce: Produce) -> None:
    produce.replicas.create("t", partitions=4, **COMPACT)
    small = memoryview(build_batch([Record(-1, 1_700_000_000_000, b"k", b"v")]))
    bad = large(key=None)
    corrupt = large()
    corrupt[-1] ^= 1
    produce.send(request(small, large(), bad, corrupt))
    assert produce.answers == []
    answered(produce, 1)
    ((*errors,),) = [
        [one.error_code for one in topic.partition_responses]
        for topic in produce.answers[0].responses
    ]
    assert errors == [0, 0, ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE]


def test_others_are_served_meanwhile(produce: Produce) -> None:
    produce.replicas.create("t", **COMPACT)
    produce.send(request(large()))
    assert produce.one(records=large(size=100)).base_offset == 0
    answered(produce, 2)
    assert produce.last().base_offset == 1


def test_a_producer_that_sends_again_while_the_first_is_looked_at_is_told_once(
    produce: Produce,
) -> None:
    partition = produce.replicas.create("t", **COMPACT)
    ids = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    produce.send(request(large(**ids)))
    produce.send(request(large(**ids)))
    answered(produce, 2)
    offsets = [a.responses[0].partition_responses[0].base_offset for a in produce.answers]
    assert offsets == [0, 0] and partition.log.log_end_offset == 1


def test_who_leads_is_asked_at_the_append(produce: Produce) -> None:
    partition = produce.replicas.create("t", replicas=(1, 2), **COMPACT)
    produce.send(request(large()))
    produce.replicas.move_leader("t", 2)
    answered(produce, 1)
    assert produce.last().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


def test_a_look_by_another_config_does_not_count(produce: Produce) -> None:
    partition = produce.replicas.create("t", **COMPACT)
    produce.send(request(large()))
    partition.log.update_config(replace(partition.log.config, compression_type="zstd"))
    answered(produce, 1)
    assert read_header(read_all(partition.log)).compression == Codec.ZSTD


def test_a_bug_of_ours_is_answered(produce: Produce, monkeypatch: pytest.MonkeyPatch) -> None:
    produce.replicas.create("t", **COMPACT)
    produce.send(request(large()))

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("storage.log.batch_body.unpack_into", fails)
    answered(produce, 1)
    assert produce.last().error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_topics_that_do_not_look_take_it_as_it_is(produce: Produce) -> None:
    produce.replicas.create("t")
    assert produce.one(records=large(key=None)).error_code == 0


def test_many_short_looks_of_one_request_leave_others_their_turn(produce: Produce) -> None:
    produce.replicas.create("t", partitions=20, **COMPACT)
    produce.send(request(*[large(size=100) for _ in range(8)]))
    assert len(produce.answers) == 1
    produce.send(request(*[large(size=100) for _ in range(20)]))
    assert len(produce.answers) == 1
    answered(produce, 2)
    ((*offsets,),) = [
        [one.base_offset for one in topic.partition_responses]
        for topic in produce.answers[1].responses
    ]
    assert offsets == [1] * 8 + [0] * 12


def test_a_large_request_is_not_copied(produce: Produce) -> None:
    produce.replicas.create("t", **COMPACT)
    frame = memoryview(bytearray(KEPT_BYTES + 1))
    sent = large()
    frame[: len(sent)] = sent
    asked = request(frame[: len(sent)], large())
    produce.send(asked)
    first, second = asked.topic_data[0].partition_data
    assert first.records.obj is frame.obj
    answered(produce, 1)
    assert read_all(produce.replicas.partition("t").log) == frame[: len(sent)]

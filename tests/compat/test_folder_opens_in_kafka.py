"""One data folder, opened in turn by Ottla and by Apache Kafka: what neither may forget or repeat.

`test_data_folder.py` compares all that clients can read. Here is what a producer relies on across
such moves, sequences and ids; and Kafka's own `kafka-dump-log` over every file of the folder.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.retriable import RETRIABLE
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import KafkaTools

pytestmark = pytest.mark.java

TOPIC = "passed-on"
BATCH_RECORDS = 5
# A producer whose last record is a day old is forgotten (`producer.id.expiration.ms`).
NOW_MS = time.time_ns() // 1_000_000


class Producing:
    """An idempotent producer as a broker sees it: batches with sequences, over one connection."""

    def __init__(self) -> None:
        self.producer_id = -1
        self.next_sequence = 0
        self.next_offset = 0

    def first_batch(self, client: WireClient) -> None:
        self.producer_id = new_producer_id(client)
        self.next_batch(client)

    def next_batch(self, client: WireClient) -> None:
        answer = produce(client, self.producer_id, self.next_sequence)
        assert answer == (ErrorCode.NONE, self.next_offset)
        self.next_sequence += BATCH_RECORDS
        self.next_offset += BATCH_RECORDS

    def last_batch_again(self, client: WireClient) -> None:
        """A retry: the answer is that of the first time, and nothing is appended."""
        last = self.next_sequence - BATCH_RECORDS
        answer = produce(client, self.producer_id, last)
        assert answer == (ErrorCode.NONE, self.next_offset - BATCH_RECORDS)

    def a_gap(self, client: WireClient) -> None:
        code, _ = produce(client, self.producer_id, self.next_sequence + 1)
        assert code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def produce(client: WireClient, producer_id: int, sequence: int) -> tuple[ErrorCode, int]:
    """One batch to partition 0; the answer's error and base offset."""
    texts = [f"{producer_id} {sequence + i}".encode() for i in range(BATCH_RECORDS)]
    records = [Record(-1, NOW_MS + sequence, b"key", text, ()) for text in texts]
    batch = build_batch(
        records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, compression=4
    )
    data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, batch)])]
    answer = client.call(ProduceRequest(acks=-1, timeout_ms=15_000, topic_data=data), 9)
    partition = answer.responses[0].partition_responses[0]
    return ErrorCode(partition.error_code), partition.base_offset


def new_producer_id(client: WireClient) -> int:
    request = InitProducerIdRequest(None, 60_000)
    # Kafka fetches its block of ids when it is asked for the first one.
    while (answer := client.call(request, 4)).error_code:
        assert ErrorCode(answer.error_code) in RETRIABLE
    return int(answer.producer_id)


def commit(client: WireClient, group: str, offset: int) -> None:
    """Of no member, as an admin does it; `__consumer_offsets` is made by the first one."""
    while client.call(FindCoordinatorRequest(group), 2).error_code:
        pass
    partition = OffsetCommitRequestPartition(0, offset, committed_metadata="by hand")
    request = OffsetCommitRequest(
        group, topics=[OffsetCommitRequestTopic(TOPIC, partitions=[partition])]
    )
    while code := client.call(request, 7).topics[0].partitions[0].error_code:
        assert ErrorCode(code) in RETRIABLE


@contextmanager
def ottla(folder: Path, factory: Callable[..., Any], killed: bool) -> Iterator[WireClient]:
    broker = factory(data_dir=folder)
    try:
        with WireClient(broker.port) as client:
            yield client
        if killed:
            broker.kill()
    finally:
        broker.close()


@contextmanager
def apache_kafka(folder: Path, killed: bool) -> Iterator[WireClient]:
    kafka = ApacheKafka(data_dir=folder, static_voters=True, jvm_options=FAST_START, heap="512m")
    with kafka:
        with WireClient(kafka.port) as client:
            yield client
        if killed:
            kafka.kill()
        # What it logs for a gap in the sequence.
        assert kafka.errors("Error processing append operation") == []


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param(False, id="stopped"),
        pytest.param(True, id="killed", marks=pytest.mark.long),
    ],
)
def test_sequences_and_ids_of_producers(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path, killed: bool
) -> None:
    folder = tmp_path / "data"
    producing = Producing()
    ids: list[int] = []
    with ottla(folder, ottla_broker_factory, killed) as client:
        topic = CreatableTopic(TOPIC, 1, 1)
        assert client.call(CreateTopicsRequest([topic], 15_000), 5).topics[0].error_code == 0
        producing.first_batch(client)
        ids.append(producing.producer_id)
    for opened in ("kafka", "ottla"):
        with (
            apache_kafka(folder, killed)
            if opened == "kafka"
            else ottla(folder, ottla_broker_factory, killed)
        ) as client:
            producing.last_batch_again(client)
            producing.a_gap(client)
            producing.next_batch(client)
            producing.last_batch_again(client)
            ids.append(new_producer_id(client))
    assert len(set(ids)) == len(ids)


def dump(tools: KafkaTools, files: list[Path], *options: str) -> str:
    """What the tool prints; it found nothing wrong."""
    assert files
    result = tools.run("kafka-dump-log", "--files", ",".join(map(str, files)), *options)
    assert result.exit == 0, result
    # The tool starts at -1 in every file, so it finds this wrong in each segment but the first.
    found = re.sub(r"Non-consecutive offsets in \S+\n  -1 is followed by \d+\n", "", result.stderr)
    assert found == ""
    assert "isvalid: false" not in result.stdout
    return result.stdout


def test_dump_log_over_every_file(ottla_broker_factory: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ottla(folder, ottla_broker_factory, killed=False) as client:
        topic = CreatableTopic(TOPIC, 3, 1)
        client.call(CreateTopicsRequest([topic], 15_000), 5)
        for _ in range(20):
            producing = Producing()
            producing.producer_id = new_producer_id(client)
            for sequence in range(0, 100, BATCH_RECORDS):
                code, _offset = produce(client, producing.producer_id, sequence)
                assert code == ErrorCode.NONE
        for n in range(20):
            commit(client, f"group-{n}", n)
    with KafkaTools("") as tools:
        logs = sorted(folder.glob("*/*.log"))
        assert len(logs) == 3 + 50 + 1
        said = dump(tools, logs, "--deep-iteration", "--print-data-log")
        assert said.count("| offset") >= 2000 + 20
        offsets = [log for log in logs if log.parent.name.startswith("__consumer_offsets")]
        said = dump(tools, offsets, "--offsets-decoder")
        for n in range(20):
            assert f'"group":"group-{n}","topic":"{TOPIC}","partition":0' in said
        assert said.count('"metadata":"by hand"') == 20
        said = dump(
            tools, [folder / "__cluster_metadata-0" / logs[0].name], "--cluster-metadata-decoder"
        )
        assert '"type":"PRODUCER_IDS_RECORD"' in said
        indexes = sorted([*folder.glob("*/*.index"), *folder.glob("*/*.timeindex")])
        said = dump(tools, indexes, "--index-sanity-check")
        passed, empty = said.count(" passed sanity check."), said.count(" is empty.")
        assert (passed + empty, passed > 0) == (len(indexes), True), said
        dump(tools, indexes, "--verify-index-only")
        snapshots = sorted(folder.glob("*/*.snapshot"))
        said = dump(tools, snapshots)
        assert said.count("producerId: ") >= 20

"""Segments that Apache Kafka wrote, opened here: what we rebuild is what Kafka had written.

Of transactions too: their index, their producers' state, and what read_committed has to skip.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ground.filesystem import LocalFilesystem
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from log_format.transaction_index import AbortedTxn
from storage.log.aborted_lookup import collect_aborted
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.recovery_report import RecoveryReport
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.unit.storage.harness import Jobs

pytestmark = pytest.mark.java

TOPIC = "written-by-kafka"
TRANSACTIONS = "transactions-by-kafka"
CONFIG = LogConfig(segment_bytes=1024 * 1024)
REBUILT = (".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint")


def write_transactions(bootstrap: str) -> None:
    """Two producers by turns; a third of the transactions is aborted, the last one stays open."""
    producers = []
    for name in ("one", "two"):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": name,
                "linger.ms": 0,
                "transaction.timeout.ms": 300_000,
            }
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        producers.append(producer)
    for number in range(60):
        producer, other = producers[number % 2], producers[1 - number % 2]
        for each, count in ((producer, 60), (other, 7)):
            for _ in range(count):
                each.produce(TRANSACTIONS, value=f"{number}".encode() * 200, partition=0)
            each.flush(60)
        if number % 3 == 0:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
        producer.begin_transaction()


@pytest.fixture(scope="module")
def kafka_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition of several segments as Kafka leaves it after a clean stop."""
    properties = {"log.segment.bytes": "1048576", "log.retention.ms": "-1", "num.partitions": "1"}
    chance = random.Random(0)
    with ApacheKafka(heap="400m", jvm_options=FAST_START, properties=properties) as kafka:
        for codec in ("none", "lz4", "zstd"):
            producer = Producer(
                {
                    "bootstrap.servers": kafka.bootstrap,
                    "enable.idempotence": True,
                    "compression.type": codec,
                    "batch.num.messages": 200,
                    "linger.ms": 5,
                }
            )
            for number in range(5000):
                value = chance.randbytes(chance.randint(0, 300))
                producer.produce(TOPIC, key=str(number), value=value)
                if number % 500 == 0:
                    producer.poll(0.05)
            assert producer.flush(60) == 0
        write_transactions(kafka.bootstrap)
        kafka.stop()
        copy = tmp_path_factory.mktemp("kafka") / "data"
        for topic in (TOPIC, TRANSACTIONS):
            shutil.copytree(kafka.data_dir / f"{topic}-0", copy / f"{topic}-0")
    return copy / f"{TOPIC}-0"


def open_log(folder: Path, *, clean: bool, topic: str = TOPIC) -> UnifiedLog:
    ports = LogEnvironment(LocalFilesystem(), SimScheduler(), Jobs(), LogDirFailureChannel())
    partition = TopicPartition(topic, 0)
    return UnifiedLog(ports, str(folder.parent), str(folder), partition, CONFIG, clean=clean)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_folder_that_kafka_closed_is_trusted_as_it_is(kafka_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / f"{TOPIC}-0"
    shutil.copytree(kafka_folder, folder)
    log = open_log(folder, clean=True)
    assert len(log.segments.base_offsets) > 1
    assert log.log_end_offset == 15_000
    assert log.recovery == RecoveryReport(), log.recovery
    log.close()
    assert contents(folder) == contents(kafka_folder)


@pytest.mark.parametrize("clean", [True, False])
def test_what_is_rebuilt_equals_what_kafka_wrote(
    kafka_folder: Path, tmp_path: Path, clean: bool
) -> None:
    folder = tmp_path / f"{TOPIC}-0"
    shutil.copytree(kafka_folder, folder)
    for path in folder.iterdir():
        if path.name.endswith(REBUILT):
            path.unlink()
    log = open_log(folder, clean=clean)
    assert log.log_end_offset == 15_000
    assert log.recovery.bytes_cut == 0
    log.close()
    rebuilt, written = contents(folder), contents(kafka_folder)
    # A snapshot at each segment is made when it rolls: of those lost, the last one is enough.
    missing = {name for name in written if name not in rebuilt}
    assert all(name.endswith(".snapshot") for name in missing)
    assert rebuilt == {name: data for name, data in written.items() if name not in missing}
    assert f"{15_000:020d}.snapshot" in rebuilt


@pytest.fixture
def transactions(kafka_folder: Path, tmp_path: Path) -> Path:
    """A copy of Kafka's folder of a partition with transactions."""
    folder = tmp_path / f"{TRANSACTIONS}-0"
    shutil.copytree(kafka_folder.parent / f"{TRANSACTIONS}-0", folder)
    return folder


def told(log: UnifiedLog) -> list[AbortedTxn]:
    return [one for segment in log.segments for one in segment.aborted]


def test_what_kafka_says_of_transactions_is_taken_as_it_is(transactions: Path) -> None:
    written = contents(transactions)
    log = open_log(transactions, clean=True, topic=TRANSACTIONS)
    assert log.recovery == RecoveryReport(), log.recovery
    assert len(log.segments.base_offsets) > 1
    aborted = told(log)
    assert len(aborted) == 20
    assert collect_aborted(log, 0, log.log_end_offset) == aborted
    log.update_high_watermark(log.log_end_offset)
    # What is open began after the last end of each producer's transactions.
    opened = [one.current_txn_first_offset for one in log.producers]
    assert len(opened) == 2 and None in opened
    assert log.last_stable_offset == max(one for one in opened if one is not None)
    log.close()
    assert contents(transactions) == written


@pytest.mark.parametrize("clean", [True, False])
def test_transactions_are_rebuilt_as_kafka_wrote_them(transactions: Path, clean: bool) -> None:
    written = contents(transactions)
    assert any(name.endswith(".txnindex") for name in written)
    for path in transactions.iterdir():
        if path.name.endswith(REBUILT):
            path.unlink()
    log = open_log(transactions, clean=clean, topic=TRANSACTIONS)
    log.close()
    rebuilt = contents(transactions)
    # Kafka leaves an empty file where a fetch looked for aborted transactions.
    missing = {name: data for name, data in written.items() if name not in rebuilt}
    assert all(name.endswith(".snapshot") or not data for name, data in missing.items())
    assert rebuilt == {name: data for name, data in written.items() if name not in missing}

"""Segments that Apache Kafka wrote, opened here: what we rebuild is what Kafka had written."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from storage.filesystem import LocalFilesystem
from storage.log_config import LogConfig
from storage.log_dir_failure import LogDirFailureChannel
from storage.recoverable_log import LogEnvironment
from storage.topic_partition import TopicPartition
from storage.unified_log import UnifiedLog
from tests.apache_kafka import ApacheKafka
from tests.java_tools import FAST_START
from tests.simulation.sim_scheduler import SimScheduler
from tests.unit.storage.harness import Jobs

pytestmark = [pytest.mark.java, pytest.mark.timeout(180)]

TOPIC = "written-by-kafka"
CONFIG = LogConfig(segment_bytes=1024 * 1024)
REBUILT = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint")


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
        kafka.stop()
        copy = tmp_path_factory.mktemp("kafka") / "data"
        shutil.copytree(kafka.data_dir / f"{TOPIC}-0", copy / f"{TOPIC}-0")
    return copy / f"{TOPIC}-0"


def open_log(folder: Path, *, clean: bool) -> UnifiedLog:
    ports = LogEnvironment(LocalFilesystem(), SimScheduler(), Jobs(), LogDirFailureChannel())
    partition = TopicPartition(TOPIC, 0)
    return UnifiedLog(ports, str(folder.parent), str(folder), partition, CONFIG, clean=clean)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_folder_that_kafka_closed_is_trusted_as_it_is(kafka_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / f"{TOPIC}-0"
    shutil.copytree(kafka_folder, folder)
    log = open_log(folder, clean=True)
    assert len(log.segment_base_offsets) > 1
    assert log.log_end_offset == 15_000
    assert not log.recovery.did_something, log.recovery
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

"""The same log compacted by Apache Kafka and by Ottla: what stays is the same, batch by batch.

Kafka writes a compacted topic: every codec, tombstones, an idempotent producer, transactions that
were committed and aborted. The folder is copied before its cleaner may touch it; then Kafka cleans
its own, and Ottla the copy. Kafka's `kafka-dump-log` reads what Ottla wrote, and Kafka serves it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from ground.filesystem import LocalFilesystem
from protocol.record_batch import crc_is_valid, iterate_batches
from protocol.records import Record, iterate_records
from storage.cleaning.cleaner_ports import CleanerSettings
from storage.cleaning.inline_cleaner import InlineRunner
from storage.cleaning.log_cleaner import LogCleaner
from storage.log_config import LogConfig
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START, run_tool
from tests.tools.waiting import wait_until
from tests.unit.storage.harness import environment, open_log

pytestmark = pytest.mark.java

TOPIC = "compacted"
FOLDER = f"{TOPIC}-0"
STEP_MS = 2_000
TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "1.0",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "0",
}


class Writer:
    """Records whose timestamps rise so fast that every few of them begin a segment."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._now_ms = time.time_ns() // 1_000_000 - 80_000_000

    def _producer(self, **config: Any) -> Producer:
        return Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 50, **config})

    def _send(self, producer: Producer, keys: str, value: str | None) -> None:
        for key in keys:
            text = None if value is None else f"{key} {value} " + "x" * 40
            producer.produce(TOPIC, text, key, partition=0, timestamp=self._now_ms)
        self._now_ms += STEP_MS

    def write(self) -> None:
        """All kinds of batches."""
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            producer = self._producer(**{"compression.type": codec})
            for number in range(3):
                self._send(producer, "abcdef", f"{codec} {number}")
                producer.flush()
            self._send(producer, "e" if codec == "lz4" else "f", None)
            producer.flush()
        for commits in (True, False, True):
            producer = self._producer(**{"transactional.id": f"commits {commits}"})
            producer.init_transactions()
            for number in range(2):
                producer.begin_transaction()
                self._send(producer, "abt", f"in a transaction {commits} {number}")
                producer.flush()
                (producer.commit_transaction if commits else producer.abort_transaction)()
        # Markers have the time of the broker. What follows them is later, so that it begins a
        # segment and the transactions are in closed ones, however quick the machine is.
        self._now_ms = time.time_ns() // 1_000_000 + STEP_MS
        producer = self._producer(**{"enable.idempotence": True})
        self._send(producer, "xyz", "of an idempotent producer")
        producer.flush()
        self._send(producer, "x", None)
        producer.flush()
        producer = self._producer()
        for number in range(2):  # the last is in the active segment
            self._send(producer, "xyzab", f"last {number}")
            producer.flush()


def alter(admin: AdminClient, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


def wait_for(condition: Callable[[], bool]) -> None:
    wait_until(condition, "the cleaned log")


def batches(folder: Path) -> Iterator[tuple[Any, list[Record]]]:
    """What each batch says that compaction has a say in, and its records."""
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_batches(data):
            assert crc_is_valid(data, position, header)
            yield (
                (
                    header.base_offset,
                    header.last_offset,
                    header.partition_leader_epoch,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.max_timestamp,
                    header.record_count,
                    header.attributes,
                    header.delete_horizon_ms is not None,
                ),
                list(iterate_records(data, position)),
            )


def clean_with_ottla(folder: Path) -> int:
    """Clean the copy as the broker does it, the job inline; gives the first dirty offset."""
    config = LogConfig(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0, file_delete_delay_ms=0
    )
    ports = environment(LocalFilesystem())  # type: ignore[arg-type]
    log = open_log(config=config, ports=ports, directory=str(folder), clean=False)
    log.flusher.flush_now()
    log.update_high_watermark(log.log_end_offset)

    class Logs:
        logs = [log]
        online_dirs = [str(folder.parent)]

    scheduler: Any = ports.scheduler
    scheduler.wall_offset_ms = time.time_ns() // 1_000_000
    rounds: list[None] = []
    cleaner = LogCleaner(
        ports, Logs(), CleanerSettings(), InlineRunner(ports), lambda: rounds.append(None)
    )
    cleaner.start()
    cleaner.look()
    scheduler.run_for(10)
    assert cleaner.uncleanable == {} and len(rounds) == 1
    clean_to = cleaner.first_dirty_offset(log)
    log.close()
    return clean_to


def consumed(bootstrap: str, end: int) -> list[tuple[int, bytes, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "any"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[tuple[int, bytes, bytes | None]] = []
    while not found or found[-1][0] < end:
        message = consumer.poll(60)
        assert message is not None and not message.error(), found[-3:]
        found.append((message.offset(), message.key(), message.value()))
    consumer.close()
    return found


def test_what_stays_is_what_kafka_leaves(tmp_path: Path) -> None:
    copy = tmp_path / "copy" / FOLDER
    with ApacheKafka(
        properties={"log.cleaner.backoff.ms": "100"}, jvm_options=FAST_START, heap="512m"
    ) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=TOPIC_CONFIG)])[TOPIC].result(60)
        Writer(kafka.bootstrap).write()
        folder = kafka.data_dir / FOLDER
        shutil.copytree(folder, copy)
        before = list(batches(copy))
        clean_to = clean_with_ottla(copy)
        ours = list(batches(copy))

        alter(admin, "min.cleanable.dirty.ratio", "0.0")
        checkpoint = kafka.data_dir / "cleaner-offset-checkpoint"
        wait_for(lambda: f"{TOPIC} 0 {clean_to}\n" in checkpoint.read_text())
        theirs = list(batches(folder))
        last = ours[-1][0][1]
        assert ours == theirs
        assert len(ours) < len(before)
        assert any(header[9] for header, _ in ours), "no delete horizon was set"
        assert any(not records for _, records in ours), "no batch stays empty"
        aborted = [records for header, records in before if header[3] == 1 and not header[8] & 32]
        assert aborted and not any(records in aborted for _, records in ours), "it was not cleaned"
        assert {name.name for name in copy.glob("*.log")} == {
            name.name for name in folder.glob("*.log")
        }
        assert {p.name: p.read_bytes() for p in copy.glob("*.txnindex") if p.stat().st_size} == {
            p.name: p.read_bytes() for p in folder.glob("*.txnindex") if p.stat().st_size
        }
        expected = consumed(kafka.bootstrap, last)

        kafka.stop()
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        files = ",".join(
            str(path)
            for path in sorted(copy.glob("*"))
            if path.suffix in (".log", ".index", ".timeindex", ".txnindex") and path.stat().st_size
        )
        dump = run_tool("kafka-dump-log", "--files", files, "--deep-iteration")
        assert dump.returncode == 0, dump
        assert "isvalid: false" not in dump.stdout and "Mismatches" not in dump.stdout
        assert "Found" not in dump.stdout, dump.stdout
        kafka.start()
        assert consumed(kafka.bootstrap, last) == expected

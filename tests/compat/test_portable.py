"""A broker to which what only Linux has is not there, as on macOS: what it takes, it still has.

Produce, Fetch of small and large slices, transactions, a stop, a death, compaction by its process.
`make test-portable` has the unit tests so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.launcher import ottla_command
from ottla.testing.broker_process import HOST
from tests.portable import FOLDER, environment
from tests.tools.cluster_processes import answers_api_versions
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

DEADLINE_S = 90
KEYS = 20
SETTINGS = (
    "log.cleaner.backoff.ms=100",
    "log.cleaner.min.cleanable.ratio=0.1",
    "log.segment.delete.delay.ms=0",
    "log.flush.interval.messages=100",
)


@contextmanager
def served(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    keys = (f"listeners=PLAINTEXT://{HOST}:{port}", f"log.dirs={folder}", *SETTINGS)
    command = ottla_command("serve", *(word for key in keys for word in ("--override", key)))
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or answers_api_versions(port), "an answer")
        yield process
    finally:
        process.kill()
        process.wait()


def consumed(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "readers",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[bytes] = []
        wait_until(lambda: _take(consumer, found) >= count, f"{count} records")
        return found
    finally:
        consumer.close()


def _take(consumer: Consumer, found: list[bytes]) -> int:
    messages = consumer.consume(1000, 0.1)
    assert not [one.error() for one in messages if one.error()]
    found += [one.value() for one in messages]
    return len(found)


@pytest.mark.timeout(300)
def test_a_broker_without_what_only_linux_has(tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "data"
    servers = f"{HOST}:{port}"
    small = [b"record %d" % number for number in range(100)]
    large = [os.urandom(300_000) for _ in range(6)]
    with served(port, data) as process:
        admin = AdminClient({"bootstrap.servers": servers})
        compacted = {"cleanup.policy": "compact", "segment.bytes": "1048576"}
        topics = [NewTopic("t", 1), NewTopic("c", 1, config=compacted)]
        for made in admin.create_topics(topics).values():
            made.result(DEADLINE_S)
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "writer"})
        producer.init_transactions(DEADLINE_S)
        for value in (*small, *large):
            producer.begin_transaction()
            producer.produce("t", b"never seen")
            producer.flush()
            producer.abort_transaction(DEADLINE_S)
            if value is small[1]:
                break
        producer.begin_transaction()
        for value in (*small, *large):
            producer.produce("t", value)
        producer.commit_transaction(DEADLINE_S)
        assert consumed(servers, "t", 106) == [*small, *large]
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    assert (data / ".kafka_cleanshutdown").exists()
    with served(port, data) as process:
        assert consumed(servers, "t", 106) == [*small, *large]
        producer = Producer({"bootstrap.servers": servers})
        for number in range(600):
            producer.produce("c", b"%08d" % number + bytes(8_000), key=b"%d" % (number % KEYS))
            producer.poll(0)
        assert producer.flush(DEADLINE_S) == 0
        wait_until(
            lambda: sum(one.stat().st_size for one in (data / "c-0").glob("*.log")) < 2 << 20,
            "a compacted log",
        )
        process.kill()
    with served(port, data):
        assert consumed(servers, "t", 106) == [*small, *large]
        last = {int(value[:8]) % KEYS: int(value[:8]) for value in consumed(servers, "c", KEYS)}
        assert last == {number % KEYS: number for number in range(600 - KEYS, 600)}


def test_the_names_are_gone_in_such_a_process() -> None:
    program = "import os, sys; print(sys.platform, hasattr(os, 'preadv'), os.sendfile.__module__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["darwin", "False", "linux_names"]
    assert (FOLDER / "sitecustomize.py").exists()

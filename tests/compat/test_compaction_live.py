"""A running broker compacts: what clients read, what groups committed, and kills of both processes.

The cleaner is killed in the midst of a round, then the broker; what was acknowledged is there.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from ottla.testing.broker_process import BrokerProcess
from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import iterate_batches
from protocol.records import Record, iterate_records
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.retriable import RETRIABLE
from tests.tools.waiting import wait_until

OFFSETS = "__consumer_offsets"
PROPERTIES = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.3",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1048576",
    "log.segment.delete.delay.ms": "0",
}
GROUPS = 5
COMMITS = 900
KEYS = 40


def cleaned_to(broker: BrokerProcess, topic: str) -> int:
    path = broker.data_dir / "cleaner-offset-checkpoint"
    for line in path.read_text().splitlines()[2:] if path.exists() else []:
        name, _, offset = line.split(" ")
        if name == topic:
            return int(offset)
    return 0


def commit(client: WireClient, group: str, offset: int) -> None:
    """Of no member; the metadata is long, so that few commits fill a segment."""
    partition = OffsetCommitRequestPartition(0, offset, committed_metadata="m" * 4_000)
    request = OffsetCommitRequest(
        group, topics=[OffsetCommitRequestTopic("any", partitions=[partition])]
    )
    while code := client.call(request, 7).topics[0].partitions[0].error_code:
        assert ErrorCode(code) in RETRIABLE, ErrorCode(code)


def wait_until_coordinated(client: WireClient) -> None:
    request = FindCoordinatorRequest("group 0")
    wait_until(lambda: not client.call(request, 2).error_code, "a coordinator")


def committed(client: WireClient, group: str) -> int:
    while True:
        answer = client.call(OffsetFetchRequest(group, [OffsetFetchRequestTopic("any", [0])]), 5)
        if not answer.error_code:
            return int(answer.topics[0].partitions[0].committed_offset)
        assert ErrorCode(answer.error_code) in RETRIABLE
        time.sleep(0.05)


def make_topic(client: WireClient, name: str, **configs: str) -> None:
    settings = [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()]
    topic = CreatableTopic(name, 1, 1, configs=settings)
    assert not client.call(CreateTopicsRequest([topic], 15_000), 5).topics[0].error_code


def test_groups_keep_their_offsets_over_compaction_and_a_kill(
    ottla_broker_factory: Callable[..., BrokerProcess],
) -> None:
    broker = ottla_broker_factory(PROPERTIES)
    with WireClient(broker.port) as client:
        make_topic(client, "any")
        wait_until_coordinated(client)
        for number in range(COMMITS):
            commit(client, f"group {number % GROUPS}", number)
    wait_until(lambda: cleaned_to(broker, OFFSETS) > 0, "a cleaned log")
    folder = broker.data_dir / f"{OFFSETS}-0"
    wait_until(
        lambda: sum(path.stat().st_size for path in folder.glob("*.log")) < 3_000_000,
        "a compacted log",
    )
    broker.kill()
    broker.start()
    with WireClient(broker.port) as client:
        wait_until_coordinated(client)
        for group in range(GROUPS):
            assert committed(client, f"group {group}") == COMMITS - GROUPS + group
    broker.close()


def produce(client: WireClient, topic: str, key: bytes | None, value: bytes) -> ErrorCode:
    batch = build_batch([Record(-1, time.time_ns() // 1_000_000, key, value)])
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])
    answer = client.call(ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[data]), 9)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def last_values(folder: Path) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = {}
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        for position, _ in iterate_batches(data):
            for record in iterate_records(data, position):
                assert record.key is not None
                found[record.key] = record.value
    return found


def workers(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children()


def test_kills_of_the_cleaner_and_of_the_broker_lose_nothing(
    ottla_broker_factory: Callable[..., BrokerProcess],
) -> None:
    slow = {"log.cleaner.io.max.bytes.per.second": "200000", "log.cleaner.backoff.ms": "10"}
    broker = ottla_broker_factory({**PROPERTIES, **slow})
    written: dict[bytes, bytes] = {}
    with WireClient(broker.port) as client:
        make_topic(client, "compacted", cleanup_policy="compact", segment_bytes="1048576")
        assert produce(client, "compacted", None, b"no key") is ErrorCode.INVALID_RECORD
        assert workers(broker.pid) == [], "there was nothing to compact yet"
        for number in range(400):
            key = b"key %d" % (number % KEYS)
            value = b"%d " % number + os.urandom(8_000)
            assert produce(client, "compacted", key, value) is ErrorCode.NONE
            written[key] = value
    wait_until(lambda: workers(broker.pid), "a cleaner at work")
    for worker in workers(broker.pid):
        with suppress(psutil.NoSuchProcess):
            os.kill(worker.pid, signal.SIGKILL)
    folder = broker.data_dir / "compacted-0"
    assert last_values(folder) == written
    broker.kill()
    broker.properties["log.cleaner.io.max.bytes.per.second"] = "1E9"
    broker.start()
    wait_until(lambda: cleaned_to(broker, "compacted") > 0, "a cleaned log")
    wait_until(lambda: not workers(broker.pid), "the cleaner's end")
    assert last_values(folder) == written
    assert sum(path.stat().st_size for path in folder.glob("*.log")) < 400 * 8_000
    orphans = broker.pid
    broker.close()
    assert not psutil.pid_exists(orphans)

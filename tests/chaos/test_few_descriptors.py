"""A broker whose process may open few files: what it cannot hold is refused, what it has goes on.

A hard limit of 512 descriptors, and a hundred clients. Without the bound the node stopped at the
first file that it could not open, and could not start again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ottla.testing.broker_process import BrokerProcess
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record, iterate_records
from storage.log.descriptors import CONNECTIONS_MIN, default_reserve
from tests.batches import build_batch
from tests.clients.wire_client import WireClient

LIMIT, LOWER = 512, 400
CLIENTS, LATE = 100, 60
ROLLING, BATCHES = 20, 8
"""Partitions that begin a segment with each batch, and how many they get."""
MANY = 10_000
T0_MS = 1_700_000_000_000

_RUN_LIMITED = (
    "import os, resource, sys; n = int(sys.argv[1]); "
    "resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)); os.execv(sys.argv[2], sys.argv[2:])"
)


class LimitedBroker(BrokerProcess):
    """A broker under a hard limit."""

    limit = LIMIT

    def _command(self) -> list[str]:
        return [sys.executable, "-c", _RUN_LIMITED, str(self.limit), *super()._command()]

    @property
    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@pytest.fixture
def broker() -> Iterator[LimitedBroker]:
    with LimitedBroker() as process:
        yield process  # type: ignore[misc]
        assert process.running, process.output()


def create(client: WireClient, name: str, count: int, **configs: str) -> tuple[ErrorCode, str]:
    settings = [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()]
    topic = CreatableTopic(name, count, 1, configs=settings)
    (answer,) = client.call(CreateTopicsRequest([topic], 30_000), 7).topics
    return ErrorCode(answer.error_code), answer.error_message or ""


def grow(client: WireClient, name: str, count: int) -> tuple[ErrorCode, str]:
    topic = CreatePartitionsTopic(name, count, None)
    (answer,) = client.call(CreatePartitionsRequest([topic], 30_000), 3).results
    return ErrorCode(answer.error_code), answer.error_message or ""


def partitions_of(client: WireClient) -> dict[str, int]:
    topics = client.call(MetadataRequest(topics=None), 9).topics
    assert not any(one.error_code for topic in topics for one in topic.partitions)
    return {topic.name: len(topic.partitions) for topic in topics}


def produce(client: WireClient, topic: str, count: int, number: int) -> None:
    """The batch of this number to each partition, in one request."""
    records = build_batch([Record(-1, T0_MS + 10 * number, None, b"%d" % number)])
    data = [PartitionProduceData(index, bytearray(records)) for index in range(count)]
    request = ProduceRequest(None, -1, 10_000, [TopicProduceData(topic, partition_data=data)])
    answer = client.call(request, 9).responses[0].partition_responses
    assert [one.error_code for one in answer] == [0] * count


def read(client: WireClient, topic: str, count: int, offset: int) -> list[bytes | None]:
    """The value at `offset` of each partition, one fetch for each."""
    found = []
    for index in range(count):
        asked = FetchPartition(index, fetch_offset=offset, partition_max_bytes=1 << 20)
        topics = [FetchTopic(topic, partitions=[asked])]
        request = FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=topics)
        (answer,) = client.call(request, 11).responses[0].partitions
        assert answer.error_code == 0 and answer.records
        found.append(next(iterate_records(memoryview(answer.records))).value)
    return found


def assert_refused(answer: tuple[ErrorCode, str]) -> None:
    code, text = answer
    assert code is ErrorCode.POLICY_VIOLATION
    assert f"{LIMIT} files (ulimit -n)" in text


def test_with_512_descriptors_all_that_was_made_is_served(broker: LimitedBroker) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(WireClient(broker.port)) for _ in range(CLIENTS)]
        admin = clients[0]
        assert_refused(create(admin, "many", MANY))
        assert create(admin, "rolls", ROLLING, segment_ms="1") == (ErrorCode.NONE, "")
        rest = LIMIT - default_reserve(LIMIT) - sum(partitions_of(admin).values())
        assert_refused(create(admin, "rest", rest + 1))
        assert create(admin, "rest", rest) == (ErrorCode.NONE, "")

        # Every way in which a partition comes to be.
        assert_refused(create(admin, "more", 1))
        assert_refused(grow(admin, "rest", rest + 1))
        admin.call(MetadataRequest([MetadataRequestTopic(name="by-asking")]), 9)
        admin.call(FindCoordinatorRequest(key_type=1, coordinator_keys=["by-asking"]), 4)
        assert partitions_of(admin)["rest"] == rest
        assert "by-asking" not in partitions_of(admin)

        for number in range(BATCHES):
            produce(clients[number], "rolls", ROLLING, number)
        for number, client in enumerate(clients[::10]):
            produce(client, "rest", rest, number)
        for number, client in enumerate(clients):
            produce(client, "rest", 1, number)
        # Each reads 20 segments. 140 are closed: they have at least 32 descriptors between them.
        for number, client in enumerate(clients):
            offset = number % BATCHES
            assert read(client, "rolls", ROLLING, offset) == [b"%d" % offset] * ROLLING
        assert read(admin, "rest", rest, 0) == [b"0"] * rest
        assert broker.open_files < LIMIT

        # More clients than there is room for: the last of them wait, the others notice nothing.
        late = [stack.enter_context(WireClient(broker.port)) for _ in range(LATE)]
        for client in late:
            client.send(ApiVersionsRequest("late", "1"), 3)
        for client in late[: CONNECTIONS_MIN - CLIENTS]:
            assert client.receive().error_code == 0
        produce(admin, "rest", rest, CLIENTS)
        for client in clients[1:]:
            client.close()
        assert all(client.receive().error_code == 0 for client in late[CONNECTIONS_MIN - CLIENTS :])

    assert broker.stop() == 0
    broker.start()
    with WireClient(broker.port) as client:
        for name, count in partitions_of(client).items():
            if name in ("rolls", "rest"):
                produce(client, name, count, CLIENTS + 1)
        assert read(client, "rolls", ROLLING, 1) == [b"1"] * ROLLING
        assert_refused(create(client, "more", 1))
    output = broker.output()
    assert "Traceback" not in output and "offline" not in output

    assert broker.stop() == 0
    broker.limit = LOWER
    with pytest.raises(
        RuntimeError, match=rf"need ulimit -n {LIMIT}, and it is {LOWER}"
    ) as refusal:
        broker.start()
    assert "Traceback" not in str(refusal.value)
    broker.limit = LIMIT
    broker.start()

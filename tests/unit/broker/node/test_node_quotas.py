"""Quotas of a whole node, in virtual time: who waits for how long, and what is prepared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.quotas.client_quotas import NodeQuotas
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.golden.quota_alteration_cases import Entity, alter, entry
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

ALICE: Entity = [("user", "alice")]
FIVE = {"quota.window.num": "5", "controller.quota.window.num": "5"}
REQUEST_BYTES = 50_000


class Client:
    """Somebody on a connection of its own."""

    def __init__(self, running: Running, user: str = "alice", client_id: str = "c") -> None:
        self.running = running
        self.client_id = client_id
        self.connection = Connection()
        self.connection.authenticated(f"User:{user}")
        self.muted_ms = 0
        """For how long it is not read after its last request."""

    def ask(self, request: Any, version: int) -> Any:
        reply = Reply()
        frame = memoryview(bytearray(encode_request(request, version, 5, self.client_id)))[4:]
        self.running.node.handle(self.connection, frame, reply)
        self.running.scheduler.run_until(lambda: bool(reply) or reply.closed)
        self.muted_ms = self.connection.take_mute_ms()
        (parts,) = reply
        if parts is None:
            return None
        parts = parts if isinstance(parts, list) else [parts]
        data = b"".join(
            part if isinstance(part, memoryview | bytearray | bytes) else part.read()
            for part in parts
        )
        return decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)[1]

    def produce(self, size: int = REQUEST_BYTES, acks: int = 1) -> Any:
        """A request of that many bytes."""
        value = b"x" * (size - 136)
        batch = build_batch([Record(-1, self.running.scheduler.wall_ms(), None, value)])
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
        return self.ask(ProduceRequest(None, acks, 1000, data), 9)

    def fetch(self, offset: int = 0, session: tuple[int, int] = (0, -1), **more: Any) -> Any:
        part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
        topics = [FetchTopic("t", partitions=[part])] if session[1] <= 0 else []
        request = FetchRequest(
            max_bytes=1 << 20, session_id=session[0], session_epoch=session[1], topics=topics
        )
        for name, value in more.items():
            setattr(request, name, value)
        return self.ask(request, 12)

    def create(self, name: str, partitions: int, version: int = 7) -> tuple[int, int]:
        """Error code and throttle time."""
        request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)], 1000)
        answer = self.ask(request, version)
        return answer.topics[0].error_code, answer.throttle_time_ms


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path, **FIVE)
    running.create("t")
    yield running
    running.stop()


def put(running: Running, key: str, value: float | None, entity: Entity = ALICE) -> None:
    answer = Client(running, "admin").ask(alter(entry(entity, (key, value))), 1)
    assert [one.error_code for one in answer.entries] == [0]


def test_a_producer_waits_as_long_as_with_kafka(running: Running) -> None:
    """The first waits that security.md has of a raw client at Apache Kafka, for requests of exactly
    50,000 bytes at once."""
    put(running, "producer_byte_rate", 100_000.0)
    client = Client(running)
    size = len(encode_request(ProduceRequest(), 9, 5, "c"))
    assert size < 136
    waits = []
    for _ in range(10):
        answer = client.produce()
        waits.append(answer.throttle_time_ms)
        assert client.muted_ms == answer.throttle_time_ms
    assert waits[:8] == [0] * 8
    assert waits[8] == pytest.approx(500, abs=20)
    assert waits[9] == pytest.approx(1000, abs=30)
    assert Client(running, "bob").produce().throttle_time_ms == 0


def test_a_produce_without_an_answer_is_muted(running: Running) -> None:
    put(running, "producer_byte_rate", 1000.0)
    client = Client(running)
    assert client.produce(acks=0) is None
    assert client.muted_ms == pytest.approx(46_000, abs=100)


def test_a_quota_that_is_removed_holds_nobody_back(running: Running) -> None:
    put(running, "producer_byte_rate", 1000.0)
    client = Client(running)
    assert client.produce().throttle_time_ms > 0
    put(running, "producer_byte_rate", None)
    assert client.produce().throttle_time_ms == client.muted_ms == 0


def test_a_reader_over_its_quota_gets_nothing_and_loses_nothing(running: Running) -> None:
    for _ in range(4):
        Client(running, "admin").produce()
    put(running, "consumer_byte_rate", 20_000.0)
    client = Client(running)
    filled = client.fetch(session=(0, 0))
    assert filled.responses == []
    # All that is allowed at once are its records; as in Kafka, the bytes around them wait for room.
    assert 0 < filled.throttle_time_ms < 10
    running.scheduler.run_for(filled.throttle_time_ms)
    first = client.fetch(session=(0, 0))
    assert first.throttle_time_ms == 0
    assert 0 < len(first.responses[0].partitions[0].records) <= 80_000
    empty = client.fetch(session=(first.session_id, 1))
    assert (empty.error_code, empty.session_id, empty.responses) == (0, first.session_id, [])
    assert empty.throttle_time_ms == client.muted_ms > 0
    running.scheduler.run_for(5000 + empty.throttle_time_ms)
    filled = client.fetch(session=(first.session_id, 2))
    running.scheduler.run_for(filled.throttle_time_ms)
    after = client.fetch(session=(first.session_id, 3))
    assert (after.error_code, after.throttle_time_ms) == (0, 0)
    assert after.responses[0].partitions[0].records


def test_a_session_that_would_be_new_is_none(running: Running) -> None:
    Client(running, "admin").produce()
    put(running, "consumer_byte_rate", 10.0)
    answer = Client(running).fetch(session=(0, 0))
    assert (answer.error_code, answer.session_id, answer.responses) == (0, 0, [])
    assert answer.throttle_time_ms > 0


def test_followers_have_no_quota(running: Running) -> None:
    Client(running, "admin").produce()
    put(running, "consumer_byte_rate", 10.0, [("user", None)])
    put(running, "request_percentage", 1e-6, [("user", None)])
    part = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic("t", partitions=[part])]
    asked = FetchRequest(max_bytes=1 << 20, replica_id=1, topics=topics)
    answer = Client(running).ask(asked, 12)
    assert (answer.error_code, answer.throttle_time_ms) == (0, 0)


def test_partitions_beyond_the_quota_are_refused_where_that_can_be_told(running: Running) -> None:
    put(running, "controller_mutation_rate", 1.0)
    client = Client(running)
    assert client.create("crosses", 8) == (0, 0)
    code, wait_ms = client.create("refused", 1)
    assert code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert wait_ms == client.muted_ms
    assert 2000 < wait_ms <= 3000
    assert running.node.image.topics.get("refused") is None
    grown = client.ask(CreatePartitionsRequest([CreatePartitionsTopic("t", 2, None)], 1000), 3)
    assert [one.error_code for one in grown.results] == [ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    states = [DeleteTopicState("t"), DeleteTopicState("gone")]
    deleted = client.ask(DeleteTopicsRequest(states, [], 1000), 6)
    told = {one.name: one.error_code for one in deleted.responses}
    assert told == {
        "t": ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert deleted.throttle_time_ms > 0
    assert Client(running, "bob").create("of-another", 50) == (0, 0)


def test_older_versions_are_carried_out_and_muted(running: Running) -> None:
    put(running, "controller_mutation_rate", 1.0)
    client = Client(running)
    assert client.create("a", 8, version=5)[0] == 0
    assert client.muted_ms > 2000
    code, wait_ms = client.create("b", 3, version=5)
    assert (code, running.node.image.topics.get("b") is not None) == (0, True)
    assert wait_ms == client.muted_ms > 5000


class Counted(NodeQuotas):
    """Quotas that count who is looked up."""

    looked_up: list[str]

    def of(self, asker: Any, *request: Any) -> Any:
        self.looked_up.append(asker.principal)
        return super().of(asker, *request)


def counted(running: Running) -> list[str]:
    quotas = running.node.shared.quotas
    quotas.__class__ = Counted
    quotas.looked_up = found = []  # type: ignore[attr-defined]
    return found


def prepared(running: Running) -> int:
    assert running.node.broker is not None
    return len(running.node.broker.requests.prepared)


def test_nobody_is_looked_up_where_nothing_is_set(running: Running) -> None:
    found = counted(running)
    client = Client(running)
    for offset in range(5):
        client.produce(500)
        client.fetch(offset)
    assert prepared(running) == 2
    assert found == []


def test_who_has_a_quota_is_asked_each_time_and_others_are_prepared(running: Running) -> None:
    clients = {user: Client(running, user) for user in ("alice", "bob")}
    for client in clients.values():
        client.produce(500)
    assert prepared(running) == 2
    put(running, "producer_byte_rate", 1e9)
    found = counted(running)
    for _ in range(5):
        for client in clients.values():
            client.produce(500)
    assert prepared(running) == 1
    assert found == ["User:alice", "User:bob", *["User:alice"] * 4]
    put(running, "producer_byte_rate", None)
    found.clear()
    for _ in range(5):
        for client in clients.values():
            client.produce(500)
    assert found == []
    assert prepared(running) == 2


def test_quotas_are_there_after_a_restart(tmp_path: Path) -> None:
    first = Running(tmp_path, **FIVE)
    first.create("t")
    put(first, "producer_byte_rate", 1000.0)
    first.stop()
    second = Running(tmp_path, life=1, **FIVE)
    assert Client(second).produce().throttle_time_ms > 0
    second.stop()

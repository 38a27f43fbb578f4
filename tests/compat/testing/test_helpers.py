"""The helpers, beside three clients: what clients write is read, what is seeded is read by them,
and what is said where something is not as expected.

They run at a cluster that runs already, too (`--broker=apache-kafka`, or the variable
`OTTLA_BOOTSTRAP_SERVERS`): there, what needs a broker of the tests' own is skipped by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from ottla.testing import Broker
from ottla.testing.errors import OttlaError
from ottla.testing.records import Message as Seed
from ottla.testing.topic import NotAsExpected
from tests.clients.transactional_clients import open_producer, open_reader
from tests.clients.transactional_faces import TopicReader
from tests.compat.python_clients import (
    CLIENTS,
    COMPRESSIONS,
    LACKS,
    Message,
    Sending,
    python_client,
    read,
)

WITHIN_S = 60.0
MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
MONDAY_MS = 1_704_067_200_000
MESSAGES = (
    Message(b"plain"),
    Message(b"\xff\x00 no text", b"\xfe\xff no UTF-8", (("h", b"1"), ("h", b"\xff")), MONDAY_MS),
    Message(None, b"\xfe\xff no UTF-8"),
    Message(b"", b""),
    Message(b"long enough to be compressed: " + bytes(1000)),
)


def codecs(client: str) -> list[str]:
    return [codec for codec in COMPRESSIONS if (client, codec) not in LACKS]


# --- records -------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_writes_is_consumed(ottla: Broker, client: str) -> None:
    topic = ottla.topic("orders")
    for codec in codecs(client):
        python_client(client).produce(
            ottla.bootstrap_servers, topic.name, MESSAGES, Sending(compression=codec)
        )
        found = topic.consume(len(MESSAGES))
        assert [(one.value, one.key) for one in found] == [(m.value, m.key) for m in MESSAGES]
        assert found[1].headers == MESSAGES[1].headers
        assert (found[1].header("h"), found[1].timestamp) == (b"\xff", MONDAY_MS)
        assert abs(found[0].timestamp / 1000 - time.time()) < 60
    assert topic.consume() == []
    assert [one.offset for one in topic.records()] == list(range(len(topic.records())))


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_seeded_a_client_reads(ottla: Broker, client: str) -> None:
    topic = ottla.topic("orders")
    seeds = [Seed(m.value, m.key, m.headers, m.timestamp_ms) for m in MESSAGES]
    for codec in codecs(client):
        topic.seed(
            [*seeds, {"id": 1}, ("k", "text"), Seed("then", timestamp=MONDAY)], compression=codec
        )
    count = 8 * len(codecs(client))
    with python_client(client).consumer(ottla.bootstrap_servers, topic.name, 0) as consumer:
        found = read(consumer, count)
        assert consumer.watermarks() == (0, count)
        assert consumer.offset_for_time(MONDAY_MS) == 0
    for at in range(0, count, 8):
        some = found[at : at + 8]
        assert [(m.value, m.key) for m in some[:5]] == [(m.value, m.key) for m in MESSAGES]
        assert (some[1].headers, some[1].timestamp_ms) == (MESSAGES[1].headers, MONDAY_MS)
        assert [m.value for m in some[5:]] == [b'{"id": 1}', b"text", b"then"]
        assert some[7].timestamp_ms == MONDAY_MS


def test_partitions_are_chosen_as_by_a_client_and_keep_their_order(ottla: Broker) -> None:
    from kafka import KafkaProducer

    topic = ottla.topic("orders", 5)
    keys = [b"key-%d" % (number % 17) for number in range(60)]
    producer = KafkaProducer(bootstrap_servers=ottla.bootstrap_servers, linger_ms=10)
    for number, key in enumerate(keys):
        producer.send(topic.name, b"%d" % number, key)
    producer.close()
    sent = topic.consume(60)
    seeded = topic.seed([(key, str(number)) for number, key in enumerate(keys)])
    assert [one.value for one in seeded] == [b"%d" % number for number in range(60)]
    where = {one.key: one.partition for one in sent}
    assert where == {one.key: one.partition for one in seeded} and len({*where.values()}) == 5
    came = topic.consume(60)
    for found in (sent, came):
        for partition in range(5):
            of_it = [one for one in found if one.partition == partition]
            assert [int(one.value or b"") for one in of_it] == [
                number for number, key in enumerate(keys) if where[key] == partition
            ]
            offsets = [one.offset for one in of_it]
            assert offsets == sorted(offsets)
    assert topic.ends() == {p: 2 * sum(where[key] == p for key in keys) for p in range(5)}


def test_the_log_may_have_its_own_time(ottla: Broker) -> None:
    topic = ottla.topic("orders", configs={"message.timestamp.type": "LogAppendTime"})
    (seeded,) = topic.seed([Seed("x", timestamp=MONDAY)], compression="lz4")
    (found,) = topic.consume(1)
    assert seeded.timestamp == found.timestamp > MONDAY_MS


def test_offsets_that_were_deleted_are_passed_over(ottla: Broker) -> None:
    topic = ottla.topic("orders", 2)
    topic.seed([Seed(str(number), partition=number % 2) for number in range(10)])
    admin = AdminClient({"bootstrap.servers": ottla.bootstrap_servers})
    places = [TopicPartition(topic.name, 0, 3), TopicPartition(topic.name, 1, 5)]
    for future in admin.delete_records(places).values():
        future.result(WITHIN_S)
    assert [one.value for one in topic.consume(2)] == [b"6", b"8"]
    with pytest.raises(NotAsExpected, match=r"expected within 0.1 s: none came; 10 were there be"):
        topic.consume(1, timeout=0.1)


def test_what_was_compacted_is_passed_over(ottla: Broker) -> None:
    compact = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "60000",
        "delete.retention.ms": "86400000",
    }
    topic = ottla.topic("state", configs=compact)
    topic.seed([("a", "1"), ("b", "1"), ("a", "2"), ("b", None)])
    ottla.advance(minutes=2)
    topic.seed([("c", "1")])
    ottla.advance(minutes=5)
    left = [(one.offset, one.key, one.value) for one in topic.consume(3)]
    assert left == [(2, b"a", b"2"), (3, b"b", None), (4, b"c", b"1")]
    assert topic.consume() == [] and topic.ends() == {0: 5}


def test_a_topic_grows_and_is_deleted(ottla: Broker) -> None:
    topic = ottla.topic("orders")
    assert ottla.topic("orders") is topic and topic.name.startswith("orders-")
    topic.grow(3)
    topic.seed([Seed("x", partition=2)])
    assert topic.consume(1)[0].partition == 2 and topic.leader(2) == topic.leader()
    assert topic.name in ottla.topics()
    topic.delete()
    assert topic.name not in ottla.topics()
    with pytest.raises(NotAsExpected, match=f"there is no topic {topic.name} \\(there are: "):
        topic.consume(1, timeout=0.05)
    with pytest.raises(OttlaError, match="there is no topic .* create it before"):
        topic.seed(["x"])


# --- transactions --------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_of_transactions_only_what_is_committed_is_consumed(ottla: Broker, client: str) -> None:
    topic = ottla.topic("orders")
    producer = open_producer(client, ottla.bootstrap_servers, f"{topic.name}-writer")
    for value, commits in ((b"aborted", False), (b"committed", True)):
        producer.begin()
        producer.send(topic.name, 0, value)
        producer.flush()
        producer.commit() if commits else producer.abort()
    assert [one.value for one in topic.consume(1)] == [b"committed"]
    ottla.assert_produced(topic, value="aborted", count=0)
    producer.begin()
    producer.send(topic.name, 0, b"open")
    producer.flush()
    topic.seed(["behind it"])
    assert topic.consume() == []
    hidden = "2 records of transactions that are open or were aborted"
    with pytest.raises(NotAsExpected, match=f"none came, and {hidden} .committed=False reads them"):
        topic.consume(1, timeout=0.05)
    with pytest.raises(NotAsExpected, match="1 came, and 3 records of transactions"):
        ottla.assert_produced(topic, value="open", timeout=0.05)
    every = [one.value for one in topic.records(committed=False)]
    assert every == [b"aborted", b"committed", b"open", b"behind it"]
    producer.commit()
    assert [one.value for one in topic.consume(2)] == [b"open", b"behind it"]
    producer.close()


# --- groups --------------------------------------------------------------------------------------


@contextmanager
def polling(reader: TopicReader) -> Iterator[None]:
    """As an application does it, in a thread of its own."""
    ended = threading.Event()

    def poll() -> None:
        while not ended.is_set():
            reader.poll(0.05)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(WITHIN_S)


@pytest.mark.parametrize("client", CLIENTS)
def test_how_far_a_group_is(ottla: Broker, client: str) -> None:
    topic = ottla.topic("orders", 2)
    group = f"{topic.name}-app"
    topic.seed([Seed(str(number), partition=number % 2) for number in range(4)])
    reader = open_reader(client, ottla.bootstrap_servers, topic.name, group=group)
    rows = []
    while len(rows) < 4:
        rows += reader.poll(0.1)
    ottla.wait_for_group(group, members=1)
    with pytest.raises(NotAsExpected) as told:
        ottla.wait_idle(group, timeout=0.05)
    said = str(told.value).splitlines()
    assert said[0].startswith(
        f"group {group}: all records read and committed expected within 0.05 s: "
        "it is Stable with 1 member ("
    )
    assert said[1:] == [f"  {topic.name}-{p}: committed nothing, end 2, lag 2" for p in (0, 1)]
    reader.commit({0: 2, 1: 1})
    ottla.assert_committed(group, topic, offsets={0: 2, 1: 1})
    ottla.assert_committed(group, topic, lag=1)
    with pytest.raises(NotAsExpected, match="a lag of 0 in orders(.|\n)*-1: committed 1, end 2, l"):
        ottla.assert_committed(group, topic, timeout=0.05)
    reader.commit({1: 2})
    ottla.wait_idle(group)
    ottla.assert_committed(group, topic)
    with polling(reader):
        ottla.rebalance(group)
    ottla.wait_for_group(group, members=1)
    reader.close()
    ottla.wait_for_group(group, members=0, state="Empty")
    ottla.wait_idle(group, topics=[topic])
    topic.seed([Seed("5", partition=0)])
    with pytest.raises(
        NotAsExpected, match="it is Empty with 0 members(.|\n)*-0: committed 2, end 3"
    ):
        ottla.wait_idle(group, timeout=0.05)
    with pytest.raises(OttlaError, match=f"group {group} has no members: nothing to rebalance"):
        ottla.rebalance(group)
    ottla.delete_group(group)
    with pytest.raises(NotAsExpected, match=r"it is not there \(there are: .*\)|committed nothing"):
        ottla.assert_committed(group, topic, timeout=0.05)


def test_a_group_of_the_newer_protocol(ottla: Broker) -> None:
    """KIP-848."""
    topic = ottla.topic("orders")
    group = f"{topic.name}-app"
    topic.seed(["x"])
    keys = {"group.protocol": "consumer", "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": ottla.bootstrap_servers, **keys})
    consumer.subscribe([topic.name])
    while not consumer.consume(1, 0.1):
        pass
    ottla.wait_for_group(group, members=1)
    consumer.commit(asynchronous=False)
    ottla.wait_idle(group)
    topic.seed(["y"])
    with pytest.raises(
        NotAsExpected, match="it is Stable with 1 member .*(.|\n)*committed 1, end 2"
    ):
        ottla.wait_idle(group, timeout=0.05)
    consumer.close()
    ottla.wait_for_group(group, members=0, state="Empty")
    ottla.delete_group(group)


def test_markers_of_transactions_are_no_lag(ottla: Broker) -> None:
    topic = ottla.topic("orders")
    group = f"{topic.name}-app"
    producer = open_producer("confluent-kafka", ottla.bootstrap_servers, f"{topic.name}-writer")
    producer.begin()
    producer.send(topic.name, 0, b"x")
    producer.commit()
    reader = open_reader("aiokafka", ottla.bootstrap_servers, topic.name, group=group)
    while not reader.poll(0.1):
        pass
    reader.commit({0: 1})
    assert topic.ends() == {0: 2}
    ottla.wait_idle(group)
    producer.begin()
    producer.send(topic.name, 0, b"open")
    producer.flush()
    with pytest.raises(NotAsExpected, match="committed 1, end 3, lag 2, a transaction is open"):
        ottla.wait_idle(group, timeout=0.05)
    producer.abort()
    ottla.wait_idle(group)
    reader.close()
    producer.close()


def test_a_group_that_is_not_there(ottla: Broker) -> None:
    topic = ottla.topic("orders")
    nobody = f"{topic.name}-nobody"
    with pytest.raises(NotAsExpected, match=rf"group {nobody}: .* it is not there \(there are: "):
        ottla.wait_idle(nobody, timeout=0.05)
    with pytest.raises(NotAsExpected, match="committed nothing, end 0, lag 0"):
        ottla.assert_committed(nobody, topic, timeout=0.05)
    with pytest.raises(
        NotAsExpected, match=f"group {nobody} is not Stable with 2 members within 0"
    ):
        ottla.wait_for_group(nobody, members=2, timeout=0.05)
    with pytest.raises(OttlaError, match=f"group {nobody} has no members: nothing to rebalance"):
        ottla.rebalance(nobody)
    ottla.delete_group(nobody)


# --- what was sent -------------------------------------------------------------------------------


def test_what_is_not_there_is_said_with_what_is(ottla: Broker) -> None:
    topic, other = ottla.topic("orders"), ottla.topic("other")
    topic.seed([("k1", {"id": 1}), Seed("late", headers={"h": "1"})])
    other.seed(["x"])
    assert ottla.assert_produced(topic, key=b"k1", value={"id": 1})[0].offset == 0
    ottla.assert_produced(topic, headers={"h": "1"}, count=1)
    ottla.assert_produced(topic.name, count=2)
    with pytest.raises(NotAsExpected) as told:
        ottla.assert_produced(topic, key="k2", timeout=0.05)
    assert str(told.value).splitlines() == [
        "a record with key='k2' expected in orders within 0.05 s, 0 found: 2 came",
        f"  {topic.name}-0@0 key=b'k1' value=b'{{\"id\": 1}}'",
        f"  {topic.name}-0@1 key=null value=b'late' headers={{'h': b'1'}}",
    ]
    empty = ottla.topic("empty")
    with pytest.raises(NotAsExpected, match="none came; topics with records: .*other-") as told:
        empty.consume(1, timeout=0.05)
    with pytest.raises(NotAsExpected, match="there is no topic nowhere"):
        ottla.assert_produced("nowhere", timeout=0.05)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_really_sent(ottla: Broker, client: str) -> None:
    topic, other = ottla.topic("orders"), ottla.topic("other")
    for one in (topic, other):
        python_client(client).produce(
            ottla.bootstrap_servers, one.name, MESSAGES, Sending(compression="gzip")
        )
    sent = ottla.requests("Produce", topic=topic)
    records = [record for request in sent for record in request.records]
    assert [(one.value, one.key) for one in records] == [(m.value, m.key) for m in MESSAGES]
    assert {one.topic for one in records} == {topic.name}
    batches = [
        batch
        for request in sent
        for found in (request.fields or {})["topic_data"]
        for partition in found["partition_data"]
        for batch in partition["batches"]
    ]
    assert {batch["compression"] for batch in batches} == {"gzip"}
    assert len(ottla.requests("Produce")) == len(sent) + len(
        ottla.requests("Produce", topic="other")
    )
    client_id = sent[0].client_id
    assert client_id and ottla.requests("Produce", topic=topic, client_id=client_id) == sent
    assert ottla.requests(client_id="somebody else") == []
    last = ottla.requests()[-1].number
    assert ottla.requests(after=last) == []

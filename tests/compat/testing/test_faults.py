"""Faults on demand as three clients meet them: what each of them does by itself, and what it says.

On the first request and on the hundredth: by then a client has settled, and the broker answers its
requests by what it has prepared for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import Broker, OttlaError
from ottla.testing.records import Message
from ottla.testing.topic import Topic
from tests.clients.transactional_clients import open_producer
from tests.clients.transactional_faces import Fenced
from tests.compat.testing.clients import (
    CLIENTS,
    READERS,
    SENDERS,
    WITHIN_S,
    NotSent,
    Reader,
    Rebalanced,
    Sender,
)
from tests.tools.waiting import wait_until

FIRST_AND_HUNDREDTH = pytest.mark.parametrize("before", (0, 99), ids=("first", "hundredth"))
EACH_CLIENT = pytest.mark.parametrize("client", CLIENTS)

_names = (f"topic-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as one:
        yield one


@pytest.fixture
def topic(broker: Broker) -> Iterator[Topic]:
    yield broker.topic(next(_names))
    broker.faults.clear()


def open_sender(
    client: str, broker: Broker, topic: Topic, client_id: str = "app", *, patient: bool = True
) -> Sender:
    return SENDERS[client](broker, topic.name, client_id, patient)


def values(topic: Topic, count: int) -> list[bytes | None]:
    return [record.value for record in topic.consume(count=count, timeout=WITHIN_S)]


def settle(broker: Broker, topic: Topic, sender: Sender, before: int) -> list[bytes]:
    """Send so many records without a fault; what was sent."""
    sent = [b"%d" % number for number in range(before)]
    for value in sent:
        sender.send(value)
    if before:
        assert broker.requests("Produce", topic=topic)[-1].prepared, "else the hundredth is as new"
    return sent


@EACH_CLIENT
@FIRST_AND_HUNDREDTH
def test_it_tries_again_by_itself(broker: Broker, topic: Topic, client: str, before: int) -> None:
    sender = open_sender(client, broker, topic)
    sent = settle(broker, topic, sender, before)
    with broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2) as fault:
        for value in (b"refused twice", b"last"):
            sender.send(value)
        assert (fault.met, fault.seen) == (2, 4)
    sender.close()
    assert values(topic, before + 2) == [*sent, b"refused twice", b"last"]


@EACH_CLIENT
@FIRST_AND_HUNDREDTH
def test_it_says_what_it_cannot_do(broker: Broker, topic: Topic, client: str, before: int) -> None:
    sender = open_sender(client, broker, topic)
    sent = settle(broker, topic, sender, before)
    with broker.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", topic=topic) as fault:
        with pytest.raises(NotSent, match="(?i)topic_?authorization_?failed"):
            sender.send(b"refused")
        assert fault.met == 1, "it does not try again"
    sender.close()
    sender = open_sender(client, broker, topic)
    sender.send(b"last")
    sender.close()
    assert values(topic, before + 1) == [*sent, b"last"]


@EACH_CLIENT
@FIRST_AND_HUNDREDTH
def test_its_time_is_up_and_the_record_is_written_all_the_same(
    broker: Broker, topic: Topic, client: str, before: int
) -> None:
    sender = open_sender(client, broker, topic, patient=False)
    sent = settle(broker, topic, sender, before)
    with broker.faults.leave_unanswered("Produce", topic=topic) as fault:
        while not fault.met:  # a busy machine may not send it before its time is up
            with pytest.raises(NotSent, match="(?i)time"):
                sender.send(b"lost?")
        assert values(topic, before + 1) == [*sent, b"lost?"]
    sender.close()


def test_a_request_that_is_lost_is_not_carried_out(broker: Broker, topic: Topic) -> None:
    sender = open_sender("kafka-python", broker, topic, patient=False)
    with broker.faults.drop("Produce", topic=topic, client_id="app") as fault:
        with pytest.raises(NotSent, match="(?i)time"):
            sender.send(b"lost")
        assert fault.met >= 1 and topic.ends() == {0: 0}
    sender.close()


@EACH_CLIENT
@FIRST_AND_HUNDREDTH
def test_its_answer_is_cut_and_the_record_is_there_twice(
    broker: Broker, topic: Topic, client: str, before: int
) -> None:
    sender = open_sender(client, broker, topic)
    sent = settle(broker, topic, sender, before)
    with broker.faults.cut_answers("Produce", topic=topic, times=1):
        sender.send(b"twice")
    sender.close()
    assert values(topic, before + 2) == [*sent, b"twice", b"twice"]


@EACH_CLIENT
@FIRST_AND_HUNDREDTH
def test_its_producer_is_fenced(broker: Broker, topic: Topic, client: str, before: int) -> None:
    producer = open_producer(client, broker.bootstrap_servers, topic.name, 60_000)
    error = "PRODUCER_FENCED" if client == "confluent-kafka" else "INVALID_PRODUCER_EPOCH"
    with contextlib.closing(producer):
        for _ in range(before):
            in_transaction(producer, topic)
        with (
            broker.fail("EndTxn", error, transactional_id=topic.name, times=1),
            pytest.raises(Fenced),
        ):
            in_transaction(producer, topic)


def in_transaction(producer: Any, topic: Topic) -> None:
    producer.begin()
    producer.send(topic.name, 0, b"x")
    producer.commit()


@EACH_CLIENT
def test_the_same_seed_gives_a_client_the_same_faults(broker: Broker, client: str) -> None:
    def refused(seed: int) -> list[bool]:
        topic = broker.topic(next(_names))
        sender = open_sender(client, broker, topic)
        found = []
        with broker.fail("Produce", "INVALID_TIMESTAMP", topic=topic, probability=0.4, seed=seed):
            for _ in range(30):
                try:
                    sender.send(b"x")
                except NotSent:
                    found.append(True)
                else:
                    found.append(False)
        sender.close()
        return found

    first = refused(7)
    assert True in first and False in first
    assert refused(7) == first and refused(8) != first


# --- members of a group ---------------------------------------------------------------------------


@EACH_CLIENT
def test_its_group_is_rebalanced_by_its_first_heartbeat(
    broker: Broker, topic: Topic, client: str
) -> None:
    group = f"g-{topic.name}"
    with contextlib.closing(READERS[client](broker, topic.name, group)) as reader:
        joined = until_joined(broker, reader, group)
        with broker.fail("Heartbeat", "REBALANCE_IN_PROGRESS", group=group, times=1) as fault:
            until_joined(broker, reader, group, joined)
            assert fault.met == 1


@EACH_CLIENT
def test_its_group_is_rebalanced_by_its_hundredth_commit(
    broker: Broker, topic: Topic, client: str
) -> None:
    group = f"g-{topic.name}"
    # After the other one, librdkafka goes on and aiokafka comes back as another member.
    error = "REBALANCE_IN_PROGRESS" if client == "aiokafka" else "ILLEGAL_GENERATION"
    with contextlib.closing(READERS[client](broker, topic.name, group)) as reader:
        joined = until_joined(broker, reader, group)
        for offset in range(99):
            reader.commit(offset)
        with (
            broker.fail("OffsetCommit", error, group=group, times=1),
            pytest.raises(Rebalanced),
        ):
            reader.commit(99)
        until_joined(broker, reader, group, joined)
        reader.commit(100)
    broker.assert_committed(group, topic, offsets={0: 100})


@EACH_CLIENT
def test_it_reads_on_when_its_hundredth_fetch_was_refused(
    broker: Broker, topic: Topic, client: str
) -> None:
    sent = [b"%d" % number for number in range(109)]
    for value in sent:
        topic.seed([value])
    read: list[bytes] = []
    mark = max((one.number for one in broker.requests()), default=0)
    with contextlib.closing(READERS[client](broker, topic.name, f"g-{topic.name}")) as reader:
        read_until(reader, read, 99)
        prepared = [one.prepared for one in broker.requests("Fetch", after=mark)]
        assert prepared[-1], "else the hundredth is as new"
        with broker.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=1) as fault:
            read_until(reader, read, len(sent))
            assert fault.met == 1
    assert read == sent


def read_until(reader: Reader, read: list[bytes], count: int) -> None:
    """Until so many records have come."""
    deadline_s = time.monotonic() + WITHIN_S
    while len(read) < count:
        assert time.monotonic() < deadline_s, read
        read += reader.poll()


def until_joined(broker: Broker, reader: Reader, group: str, before: int = 0) -> int:
    """Until the member has joined more often than before, and has partitions; how often it has."""
    deadline_s = time.monotonic() + WITHIN_S
    while (now := syncs(broker, group)) <= before or not reader.is_assigned:
        assert time.monotonic() < deadline_s, (before, now)
        reader.poll()
    reader.poll()
    return now


def syncs(broker: Broker, group: str) -> int:
    """How often a member was told its partitions."""
    return sum((one.fields or {})["group_id"] == group for one in broker.requests("SyncGroup"))


# --- the connection, and the disk -----------------------------------------------------------------


def test_clients_come_back_when_all_are_disconnected(broker: Broker, topic: Topic) -> None:
    sender = open_sender("aiokafka", broker, topic)
    sender.send(b"1")
    assert broker.disconnect_all() >= 1
    sender.send(b"2")
    assert values(topic, 2) == [b"1", b"2"]
    sender.close()


def test_latency_is_that_of_answers(broker: Broker, topic: Topic) -> None:
    sender = open_sender("kafka-python", broker, topic)
    sender.send(b"1")
    with broker.faults.delay("Produce", 0.15, topic=topic):
        begun_s = time.monotonic()
        sender.send(b"2")
        assert time.monotonic() - begun_s >= 0.15
    sender.close()


def test_a_full_disk_takes_nothing_until_there_is_room(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    properties = {
        "log.dirs": ",".join(map(str, folders)),
        "metadata.log.dir": str(tmp_path / "metadata"),
    }
    with Broker(properties) as broker:
        topic = broker.topic("orders", partitions=2)
        topic.seed([Message(b"1", partition=0)])
        sender = open_sender("confluent-kafka", broker, topic, patient=False)
        (full,) = [str(one) for one in folders if (one / f"{topic.name}-0").is_dir()]
        assert broker.faults.fill_disk(full) == [full]
        with pytest.raises(NotSent):
            sender.send(b"2")
        assert "No space left on device" in broker.output()
        topic.seed([Message(b"elsewhere", partition=1)])
        broker.restart()
        topic.seed([Message(b"3", partition=0)])
        assert sorted(values(topic, 3)) == [b"1", b"3", b"elsewhere"]
        broker.faults.fill_disk()
        with pytest.raises(OttlaError):
            topic.seed([Message(b"4", partition=0)])
        wait_until(lambda: not broker.running, "the end of a broker without a log directory")
        sender.close()


SASL = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="alice" password="secret" user_alice="secret";'
    ),
}


def test_logins_fail_while_a_test_wants_that() -> None:
    from aiokafka import AIOKafkaProducer
    from aiokafka.errors import KafkaConnectionError

    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username="alice",
            sasl_plain_password="secret",
        )
        try:
            await producer.start()
            await producer.send_and_wait(topic.name, b"x", partition=0)
        finally:
            await producer.stop()

    with Broker(SASL) as broker:
        topic = broker.topic("orders")
        for api, error in (
            ("ApiVersions", "INVALID_REQUEST"),
            ("SaslHandshake", "UNSUPPORTED_SASL_MECHANISM"),
            ("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED"),
        ):
            with broker.fail(api, error) as fault:
                with pytest.raises(KafkaConnectionError):
                    asyncio.run(send())
                assert fault.met >= 1, fault
        asyncio.run(send())
        assert "asked for by a test" in broker.output()

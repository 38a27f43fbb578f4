"""Transactions with confluent-kafka, kafka-python, aiokafka (protocol 1) and Java (protocol 2).

Every topic here ends with a plain record, so that a reader knows when it has seen everything.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from protocol.errors import ErrorCode
from tests.clients.transactional_clients import (
    CLIENTS,
    open_producer,
    open_reader,
    read_until,
)
from tests.clients.transactional_faces import (
    COMMITTED,
    UNCOMMITTED,
    Failed,
    Fenced,
    TransactionalProducer,
)
from tests.compat.java_transactions import JavaTransactions
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.waiting import LIMIT_S, wait_until

LAST = b"last"
JAVA = "java"
SWEEP_MS = 500
PROPERTIES = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(SWEEP_MS),
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}
TIMEOUT_MS = 1_500


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that looks for transactions that timed out more often than by default."""
    if request.config.getoption("--broker") == "apache-kafka":
        with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=PROPERTIES) as kafka:
            yield kafka.bootstrap
        return
    ottla = request.getfixturevalue("ottla_broker_factory")(properties=PROPERTIES)
    yield ottla.bootstrap_servers
    ottla.close()


@pytest.fixture(scope="module")
def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


@pytest.fixture(params=[*CLIENTS, pytest.param(JAVA, marks=pytest.mark.java)])
def name(request: pytest.FixtureRequest) -> str:
    """The client's name."""
    return str(request.param)


@pytest.fixture(scope="module")
def jvm() -> Iterator[list[JavaTransactions]]:
    """The JVM of the Java client, once a test has asked for it."""
    running: list[JavaTransactions] = []
    yield running
    for one in running:
        one.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def last_lines_of_the_client(request: pytest.FixtureRequest) -> Iterator[None]:
    """What kafka-python did last: shown with a test that failed, by its captured output."""
    logger, lines = logging.getLogger("kafka"), deque[str](maxlen=300)
    handler = logging.Handler()
    handler.emit = (
        lambda record: lines.append(  # type: ignore[method-assign]
            f"{record.relativeCreated:.0f} {record.name} {record.getMessage()[:500]}"
        )
    )
    level = logger.level
    if "kafka-python" in request.node.name:
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
    yield
    logger.removeHandler(handler)
    logger.setLevel(level)
    print(*lines, sep="\n")


class Side:
    """One client: its producers, and what it reads."""

    def __init__(self, name: str, servers: str, jvm: list[JavaTransactions]) -> None:
        self._name, self._servers = name, servers
        self._java: JavaTransactions | None = None
        if name == JAVA:
            jvm or jvm.append(JavaTransactions())
            self._java = jvm[0]

    def producer(self, transactional_id: str, timeout_ms: int = 60_000) -> TransactionalProducer:
        if self._java is not None:
            return self._java.open(self._servers, transactional_id, timeout_ms)
        return open_producer(self._name, self._servers, transactional_id, timeout_ms)

    def read(self, topic: str, isolation: str) -> list[bytes]:
        if self._java is not None:
            return self._java.read(self._servers, topic, isolation, LAST)
        reader = open_reader(self._name, self._servers, topic, isolation=isolation)
        try:
            return read_until(reader, LAST)
        finally:
            reader.close()

    def member(self, topic: str, group: str) -> Any:
        """What its producer's offsets are committed for."""
        if self._java is not None:
            return _Group(group)
        return open_reader(self._name, self._servers, topic, group=group)


class _Group:
    """A group without members: all that the Java program needs is its name."""

    def __init__(self, group: str) -> None:
        self._group = group

    def poll(self, timeout_s: float) -> list[Any]:
        return [None]

    def mark(self) -> str:
        return self._group

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def side(name: str, servers: str, jvm: list[JavaTransactions]) -> Side:
    return Side(name, servers, jvm)


@pytest.fixture
def producer_of(side: Side) -> Iterator[Callable[..., TransactionalProducer]]:
    """Opens producers, and closes them after the test."""
    opened: list[TransactionalProducer] = []

    def make(*arguments: Any) -> TransactionalProducer:
        opened.append(side.producer(*arguments))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


Opener = Callable[..., TransactionalProducer]


@pytest.fixture
def topic(admin: AdminClient) -> str:
    topic = f"transactions-{uuid4().hex[:10]}"
    (future,) = admin.create_topics([NewTopic(topic, 1, 1)]).values()
    future.result(60)
    return topic


def say(servers: str, topic: str, value: bytes) -> None:
    """A record outside of any transaction."""
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def in_transaction(producer: TransactionalProducer, topic: str, *values: bytes) -> None:
    producer.begin()
    for value in values:
        producer.send(topic, 0, value)
    producer.flush()


def end_offset(admin: AdminClient, topic: str, isolation: str) -> int:
    """Log end, or last stable offset."""
    level = {
        COMMITTED: IsolationLevel.READ_COMMITTED,
        UNCOMMITTED: IsolationLevel.READ_UNCOMMITTED,
    }[isolation]
    asked = {TopicPartition(topic, 0): OffsetSpec.latest()}
    (future,) = admin.list_offsets(asked, isolation_level=level, request_timeout=60).values()
    return int(future.result(60).offset)


def test_transactions_commit_and_abort(
    side: Side, producer_of: Opener, servers: str, topic: str
) -> None:
    producer = producer_of(topic)
    in_transaction(producer, topic, b"a1", b"a2")
    producer.commit()
    in_transaction(producer, topic, b"b1", b"b2")
    producer.abort()
    in_transaction(producer, topic, b"c1")
    producer.commit()
    say(servers, topic, LAST)
    assert side.read(topic, COMMITTED) == [b"a1", b"a2", b"c1"]
    assert side.read(topic, UNCOMMITTED) == [b"a1", b"a2", b"b1", b"b2", b"c1"]


def test_transactions_hide_what_is_open(
    side: Side, producer_of: Opener, admin: AdminClient, servers: str, topic: str
) -> None:
    say(servers, topic, b"before")
    producer = producer_of(topic)
    in_transaction(producer, topic, b"open")
    say(servers, topic, LAST)
    assert end_offset(admin, topic, UNCOMMITTED) == 3
    assert end_offset(admin, topic, COMMITTED) == 1
    assert side.read(topic, UNCOMMITTED) == [b"before", b"open"]
    producer.commit()
    assert side.read(topic, COMMITTED) == [b"before", b"open"]
    assert end_offset(admin, topic, COMMITTED) == 4  # the marker has an offset too


def test_transactions_fence_a_second_producer(
    side: Side, producer_of: Opener, servers: str, topic: str
) -> None:
    first = producer_of(topic)
    in_transaction(first, topic, b"first")
    second = producer_of(topic)
    in_transaction(second, topic, b"second")
    second.commit()  # kafka-python's first would ask for a new epoch, which aborts what is open
    with pytest.raises(Fenced):
        first.send(topic, 0, b"late")
        first.commit()
    say(servers, topic, LAST)
    assert side.read(topic, COMMITTED) == [b"second"]
    assert b"late" not in side.read(topic, UNCOMMITTED)


def test_transactions_time_out(
    side: Side, producer_of: Opener, admin: AdminClient, servers: str, topic: str
) -> None:
    producer = abandoning(producer_of, topic)
    say(servers, topic, LAST)
    wait_until(
        lambda: end_offset(admin, topic, COMMITTED) == end_offset(admin, topic, UNCOMMITTED),
        "the transaction's end",
    )
    with pytest.raises(Failed):
        producer.commit()
    assert side.read(topic, COMMITTED) == []
    assert set(side.read(topic, UNCOMMITTED)) == {b"abandoned"}


def abandoning(producer_of: Opener, topic: str) -> TransactionalProducer:
    """Return a producer in whose transaction a record is written.

    A client that is held up for as long as its transaction lasts tries again."""
    for _ in range(10):
        producer = producer_of(topic, TIMEOUT_MS)
        with suppress(Failed):
            in_transaction(producer, topic, b"abandoned")
            return producer
    pytest.fail(f"no record is written within {TIMEOUT_MS} ms")


def test_transactions_move_offsets(
    side: Side, producer_of: Opener, admin: AdminClient, servers: str, topic: str
) -> None:
    group = f"group-{topic}"
    say(servers, topic, b"input")
    producer = producer_of(topic)
    member = side.member(topic, group)
    try:
        while not member.poll(0.2):
            pass  # it has joined, and has its first record
        producer.begin()
        producer.offsets(member, topic, {0: 7})
        producer.abort()
        assert committed(admin, group, topic) == -1
        in_transaction(producer, topic, b"output")
        producer.offsets(member, topic, {0: 1})
        producer.commit()
        assert committed(admin, group, topic) == 1
    finally:
        member.close()


def committed(admin: AdminClient, group: str, topic: str) -> int:
    """-1 for nothing. Asked again while the markers of an ended one are on their way."""
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    deadline = time.monotonic() + LIMIT_S
    while True:
        (future,) = admin.list_consumer_group_offsets(
            [asked], require_stable=True, request_timeout=60
        ).values()
        (found,) = future.result(60).topic_partitions
        if found.error is None:
            return max(-1, int(found.offset))
        assert found.error.code() == ErrorCode.UNSTABLE_OFFSET_COMMIT, found.error
        assert time.monotonic() < deadline, "the transaction's offsets stay pending"
        time.sleep(0.05)

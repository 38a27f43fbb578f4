"""A shop's topics, a group that keeps up with them and a group that lags: data for the console.

The data comes from confluent-kafka, as from a user's programs. Tests, pictures and walks share it.
"""

from __future__ import annotations

import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

ORDERS, PAYMENTS, CUSTOMERS = "orders", "payments", "customers"
LAGGING, STEADY = "invoices", "shipping"
HOSTILE = '<img src=x onerror="window.bad=1">\u202e\x00'
TRICKLE_FIRST = 1_000_000
"""The number before that of the first order of `trickle`."""
_CITIES = ("Tallinn", "Porto", "Kyoto", "Quito", "Oslo", "Accra")


def make_scene(
    bootstrap: str,
    *,
    replicas: int = 1,
    orders: int = 2_000,
    topics: int = 0,
    reader: str | None = None,
) -> None:
    """Fill a cluster: `orders` orders and as many payments, customers in a compacted topic, two
    groups, and `topics` empty topics more. Where there is an authorizer, the user `reader` may read
    the orders."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    small = {"segment.bytes": "1048576"}
    wanted = [
        NewTopic(ORDERS, 6, replicas, config=small),
        NewTopic(PAYMENTS, 3, replicas, config=small | {"retention.ms": "86400000"}),
        NewTopic(CUSTOMERS, 1, replicas, config={"cleanup.policy": "compact"}),
    ]
    _create(admin, wanted)
    for start in range(0, topics, 500):
        last = min(start + 500, topics)
        _create(admin, [NewTopic(f"shop.events.{n:05}", 1, replicas) for n in range(start, last)])
    _produce(bootstrap, orders)
    _commit(bootstrap, STEADY, ORDERS, 6, behind=0)
    _commit(bootstrap, LAGGING, ORDERS, 6, behind=max(orders // 20, 1))
    _commit(bootstrap, STEADY, PAYMENTS, 3, behind=0)
    if reader is not None:
        _let_read(admin, reader)


def order(number: int, random_: random.Random) -> dict[str, object]:
    """Return the value of an order, for JSON."""
    return {
        "order": number,
        "customer": {"id": random_.randrange(500), "city": random_.choice(_CITIES)},
        "lines": [
            {"sku": f"A-{random_.randrange(9999):04}", "count": random_.randrange(1, 5)}
            for _ in range(random_.randrange(1, 4))
        ],
        "total": round(random_.uniform(3, 400), 2),
        "gift": random_.random() < 0.1,
        "note": None,
    }


@contextmanager
def trickle(bootstrap: str, per_second: int) -> Iterator[None]:
    """Send orders until the end of the context, on average `per_second` of them.

    The rate rises and falls by a third within a minute.
    """
    ended = threading.Event()

    def send() -> None:
        random_ = random.Random(8)
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        number, started_s = TRICKLE_FIRST, time.monotonic()
        while not ended.wait(0.1):
            wave = 1 + math.sin((time.monotonic() - started_s) * math.tau / 60) / 3
            for _ in range(round(per_second / 10 * wave)):
                number += 1
                producer.produce(ORDERS, json.dumps(order(number, random_)), str(number))
            producer.poll(0)
        producer.flush(60)

    with _running(send, ended):
        yield


@contextmanager
def open_transaction(bootstrap: str, transactional_id: str, topic: str) -> Iterator[None]:
    """Leave a transaction with a few records in the topic open until the end of the context."""
    settings = {"transactional.id": transactional_id, "transaction.timeout.ms": 900_000}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(5):
        producer.produce(topic, json.dumps({"refund": number}), str(number))
    assert producer.flush(60) == 0
    try:
        yield
    finally:
        producer.abort_transaction(60)


@contextmanager
def consume(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """Let a member of the group read the topic until the end of the context."""
    ended = threading.Event()

    def read() -> None:
        settings = {"auto.commit.interval.ms": 1000, "auto.offset.reset": "latest"}
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **settings})
        consumer.subscribe([topic])
        while not ended.is_set():
            consumer.consume(1000, timeout=0.1)
        consumer.close()

    with _running(read, ended):
        yield


@contextmanager
def _running(work: Callable[[], None], ended: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _create(admin: AdminClient, topics: list[NewTopic]) -> None:
    for made in admin.create_topics(topics, operation_timeout=60).values():
        made.result(60)


def _let_read(admin: AdminClient, user: str) -> None:
    topic = (ResourceType.TOPIC, ORDERS, ResourcePatternType.LITERAL)
    right = AclBinding(*topic, f"User:{user}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    for made in admin.create_acls([right]).values():
        made.result(60)


def _produce(bootstrap: str, orders: int) -> None:
    random_ = random.Random(7)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    now_ms = int(time.time() * 1000)
    for number in range(orders):
        at_ms = now_ms - (orders - number) * 40
        one = order(number, random_)
        key = str(one["customer"]["id"]).encode()  # type: ignore[index]
        headers = [("trace", f"{number:08x}".encode()), ("source", b"web")]
        value = json.dumps(one)
        _send(producer, ORDERS, value, key, headers=headers, timestamp=at_ms)
        paid = json.dumps({"order": number, "paid": one["total"]})
        _send(producer, PAYMENTS, paid, str(number), timestamp=at_ms)
        if number % 10 == 0:
            name = None if number % 70 == 0 else json.dumps({"city": random_.choice(_CITIES)})
            _send(producer, CUSTOMERS, name, key, timestamp=at_ms)
        producer.poll(0)
    producer.produce(ORDERS, HOSTILE, HOSTILE, headers=[(HOSTILE.strip("\0"), b"\xff\x00")])
    producer.produce(CUSTOMERS, b"\x00\x01\xfe\xff", None)
    assert producer.flush(120) == 0


def _send(producer: Producer, topic: str, value: Any, key: Any, **rest: Any) -> None:
    """Hand a record to the producer; wait while its queue is full."""
    while True:
        try:
            producer.produce(topic, value, key, **rest)
            return
        except BufferError:
            producer.poll(0.1)


_NOT_YET = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._WAIT_COORD,
)


def _commit(bootstrap: str, group: str, topic: str, partitions: int, *, behind: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    places = []
    for index in range(partitions):
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, index), timeout=60)
        places.append(TopicPartition(topic, index, max(end - behind, 0)))
    deadline = time.monotonic() + 90
    while not _committed(consumer, places):
        assert time.monotonic() < deadline, f"{group} has no coordinator"
        time.sleep(0.1)
    consumer.close()


def _committed(consumer: Consumer, places: list[TopicPartition]) -> bool:
    """Return whether the commit succeeded. Kafka's coordinator may have to be loaded first."""
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException as refused:
        if refused.args[0].code() not in _NOT_YET:
            raise
        return False
    return True

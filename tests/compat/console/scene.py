"""What there is to look at: a shop's topics, groups that keep up and one that does not.

Made with confluent-kafka, as a user's programs would. The same for tests, pictures and walks.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
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
    """One, as JSON has it."""
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
    """Orders go on coming."""
    ended = threading.Event()

    def send() -> None:
        random_ = random.Random(8)
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        number = 1_000_000
        while not ended.wait(0.1):
            for _ in range(per_second // 10):
                number += 1
                producer.produce(ORDERS, json.dumps(order(number, random_)), str(number))
            producer.poll(0)
        producer.flush(60)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        ended.set()
        sending.join()


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
    """Wait while the producer's queue is full."""
    while True:
        try:
            producer.produce(topic, value, key, **rest)
            return
        except BufferError:
            producer.poll(0.1)


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
    """Whether the group's coordinator took them: Kafka's may have to be loaded first."""
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException as refused:
        if refused.args[0].code() != KafkaError.NOT_COORDINATOR:
            raise
        return False
    return True

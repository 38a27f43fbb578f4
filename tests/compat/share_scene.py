"""A share group with a finished, a released and a rejected record, for tests of what shows it.

Runs in front of Ottla and of Apache Kafka.
"""

from __future__ import annotations

from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer

from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.waiting import wait_until

RECORDS = (b"fine", b"slow", b"fine", b"bad", b"fine", b"fine")
"""The values of the topic's only partition: the worker releases `slow` and rejects `bad`."""
SLOW, BAD = RECORDS.index(b"slow"), RECORDS.index(b"bad")
RELEASES = 3
"""The times that `slow` is released at least: the client may have it once more when it leaves."""


def make_share_scene(bootstrap: str, topic: str, group: str) -> str:
    """Write RECORDS, let a worker handle them and leave, and return the dead letter topic, in which
    the rejected record is."""
    ottla = Ottla(bootstrap)
    letters = f"dlq.{topic}"
    ottla("topic", "create", topic, "-p", "1")
    ottla("topic", "create", letters, "-p", "1", "-c", "errors.deadletterqueue.group.enable=true")
    ottla(
        *("config", "set", "--group", group),
        *("share.auto.offset.reset=earliest", "share.delivery.count.limit=10"),
        *(f"errors.deadletterqueue.topic.name={letters}",),
        "errors.deadletterqueue.copy.record.enable=true",
    )
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in RECORDS:
        producer.produce(topic, value)
    assert producer.flush(WITHIN_S) == 0
    worker = member(bootstrap, topic, group)
    seen: set[int] = set()
    releases = 0
    while len(seen) < len(RECORDS) or releases < RELEASES:
        for record in worker.poll(WITHIN_S):
            assert record.error() is None, record.error()
            seen.add(record.offset())
            releases += record.offset() == SLOW
            worker.acknowledge(record, _judged(record))
        worker.commit_sync(WITHIN_S)
    worker.close()
    # If the client's last heartbeat is lost, the member leaves when its session ends.
    wait_until(lambda: ottla.objects("group", "describe", group)[0]["members"] == [], "no members")
    wait_until(lambda: ottla("consume", letters, "--to", "end"), "the dead letter is written")
    return letters


def member(bootstrap: str, topic: str, group: str) -> ShareConsumer:
    """A member of the group that acknowledges each record itself."""
    worker = ShareConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "worker",
            "share.acknowledgement.mode": "explicit",
        }
    )
    worker.subscribe([topic])
    return worker


def _judged(record: Message) -> AcknowledgeType:
    """The worker's acknowledgement of a record."""
    kinds = {b"slow": AcknowledgeType.RELEASE, b"bad": AcknowledgeType.REJECT}
    return kinds.get(record.value() or b"", AcknowledgeType.ACCEPT)

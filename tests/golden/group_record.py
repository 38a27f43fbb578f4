"""Record the answers and records of Apache Kafka's group coordinator.

    python -m tests.golden.group_record

Writes `groups_kafka.txt` and, two minutes later, when the members left behind have expired, the
records of `__consumer_offsets` to `group_records_kafka.txt`; then, with another Apache Kafka,
`transactional_offsets_kafka.txt`. The requests are those of `tests/clients/`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.clients import group_conversation, transactional_offsets_conversation
from tests.clients.group_conversation import Connect, prepare
from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_release import RELEASE

RECORDS = Path(__file__).parent / "group_records_kafka.txt"
PARTITIONS = 5
EXPIRY_S = 120
QUIET_S = 5
HEAD = (
    "# partition, key, value (- is a tombstone): __consumer_offsets of Apache Kafka "
    f"{RELEASE} two minutes after tests/clients/group_conversation.py"
)


def record() -> None:
    """Write all three files."""
    with _kafka({"group.max.size": "4", "offsets.topic.num.partitions": str(PARTITIONS)}) as kafka:
        _write_answers(kafka, group_conversation.GOLDEN, group_conversation.converse)
        time.sleep(EXPIRY_S)
        RECORDS.write_text("\n".join([HEAD, *_records(kafka.bootstrap)]) + "\n")
    with _kafka({}) as kafka:
        conversation = transactional_offsets_conversation
        _write_answers(kafka, conversation.GOLDEN, conversation.converse)


def _kafka(properties: dict[str, str]) -> ApacheKafka:
    return ApacheKafka(jvm_options=FAST_START, heap="512m", properties=properties)


def _write_answers(
    kafka: ApacheKafka, file: Path, converse: Callable[[Connect, bytes], list[str]]
) -> None:
    with ExitStack() as connections:

        def connect(client_id: str) -> WireClient:
            return connections.enter_context(WireClient(kafka.port, client_id))

        lines = converse(connect, prepare(connect("prepare")))
    file.write_text("\n".join(lines) + "\n")


def _records(bootstrap: str) -> list[str]:
    """Return a line for each record of `__consumer_offsets`, ordered by partition and offset."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition("__consumer_offsets", at, 0) for at in range(PARTITIONS)])
    found: list[tuple[int, int, str]] = []
    quiet_since = time.monotonic()
    while time.monotonic() < quiet_since + QUIET_S:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            quiet_since = time.monotonic()
            found.append((message.partition(), message.offset(), _shown(message)))
    consumer.close()
    return [f"{partition} {text}" for partition, _, text in sorted(found)]


def _shown(message: Any) -> str:
    value = message.value()
    return f"{message.key().hex()} {'-' if value is None else value.hex()}"


if __name__ == "__main__":
    record()

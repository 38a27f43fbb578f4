"""The live view when a broker of three dies: no record is lost, and none comes twice."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.console.live_events import live_events
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import running_console
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.timeout(300)

TOPIC, PARTITIONS = "elections", 3
DIES = 2


class Sender:
    """A producer that keeps the partition and offset of each written record."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0}
        self._producer = Producer(settings)
        self.written: set[tuple[int, int]] = set()

    def send(self, records: int) -> None:
        """Write records to all partitions in turn, each after the one before."""
        for number in range(records):
            self._producer.produce(TOPIC, b"v", partition=number % PARTITIONS, callback=self._note)
            assert self._producer.flush(90) == 0

    def _note(self, error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        self.written.add((message.partition(), message.offset()))


def test_the_live_view_goes_on_after_the_death_of_a_broker() -> None:
    with ClusterProcesses(3) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(60)
        sender = Sender(cluster.bootstrap)
        named = cluster.nodes[DIES].address
        with running_console(named) as link, live_events(link, TOPIC) as events:
            wait_until(lambda: events.is_begun, "the live view does not begin")
            sender.send(30)
            wait_until(lambda: set(events.offsets) >= sender.written, "the live view is silent")
            cluster.kill(DIES)
            killed_s = time.monotonic()
            sender.send(30)
            wait_until(
                lambda: set(events.offsets) >= sender.written or events.is_ended,
                "the live view does not go on",
            )
            print(f"went on within {time.monotonic() - killed_s:.1f} s", *events.waits, sep="\n")
        assert sorted(events.offsets) == sorted(sender.written)
        assert events.waits, "the live view did not say that it waits"
        assert not events.is_ended

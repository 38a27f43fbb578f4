"""What only Apache Kafka has, shown by `ottla`'s commands: groups of the new protocol (KIP-848).

Everything else of these commands runs against it with `--broker=apache-kafka`.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START


@pytest.mark.java
def test_a_group_of_the_new_protocol() -> None:
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        ottla = Ottla(kafka.bootstrap)
        ottla("topic", "create", "t", "-p", "2")
        ottla("produce", "t", "-p", "1", data=b"x\n" * 5)
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": "g",
                "group.protocol": "consumer",
                "client.id": "reader",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["t"])
        assert len(consumer.consume(5, WITHIN_S)) == 5
        consumer.commit(asynchronous=False)
        ottla("produce", "t", "-p", "1", data=b"y\n")
        (listed,) = ottla.objects("group", "list")
        assert (listed["group"], listed["type"]) == ("g", "consumer")
        (found,) = ottla.objects("group", "describe", "g")
        assert (found["state"], len(found["members"]), found["lag"]) == ("Stable", 1, 1)
        partitions = found["partitions"]
        assert isinstance(partitions, list)
        assert {one["member"] for one in partitions} == {"reader"}
        ottla("group", "reset", "g", "--topic", "t", "--to", "start", "--execute", code=1)
        assert "stop them first" in ottla.said
        consumer.close()
        ottla("group", "reset", "g", "--topic", "t:1", "--to", "start", "--execute")
        (found,) = ottla.objects("group", "describe", "g")
        assert (found["state"], found["lag"]) == ("Empty", 6)
        ottla("group", "delete", "g", "--execute")
        assert ottla.objects("group", "list") == []

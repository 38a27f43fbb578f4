"""The names of open transactions, as a running broker tells them."""

from __future__ import annotations

import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pipeline.filling.open_transactions import open_transactions
from pipeline.spark.connection import Connection
from pipeline.topics import Cluster
from tests.tools.waiting import wait_until


def test_the_transaction_that_holds_a_partition_back_is_named(broker: str) -> None:
    name = f"open-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": broker})
    (made,) = admin.create_topics([NewTopic(name, 2, 1)]).values()
    made.result(30)
    there = Connection(broker)
    cluster = Cluster(there)
    producer = Producer({"bootstrap.servers": broker, "transactional.id": f"tx-{name}"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(name, b"held back", partition=1)
    producer.flush()
    offsets = cluster.offsets(name)
    assert [(one.end, one.high_watermark) for one in offsets.values()] == [(0, 0), (0, 1)]
    (found,) = open_transactions(there, name, [0, 1]).values()
    assert (found.partition, found.transactional_id) == (1, f"tx-{name}")
    assert found.producer_id >= 0 and 0 <= found.open_s < 300
    producer.commit_transaction()
    # Apache Kafka writes the marker after it has answered.
    wait_until(lambda: not open_transactions(there, name, [0, 1]), "the transaction's end")
    committed = cluster.offsets(name)[1]
    assert committed.end == committed.high_watermark == 2, "the record and the marker"


def test_without_an_answer_there_are_no_names() -> None:
    assert open_transactions(Connection("127.0.0.1:9"), "t", [0]) == {}

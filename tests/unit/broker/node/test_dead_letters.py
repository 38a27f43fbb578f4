"""Dead letters of a real node: configs, logs, the creation of topics, metrics."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from broker.node.dead_letters import dead_letter_writer
from broker.node.parts import _ask_itself
from broker.share.dead_letters.dead_letter_writer import DeadLetterWriter
from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from protocol.compression import Codec
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record, iterate_records
from tests.batches import build_batch
from tests.unit.broker.node_fixture import Running

TOPIC, BROKER, GROUP = 2, 4, 32
LETTERS = "dlq.orders"


class Desk:
    """A node with the topic `orders`, and a writer of dead letters."""

    def __init__(self, folder: Path, **overrides: str) -> None:
        self.running = running = Running(folder, **overrides)
        broker = running.node.broker
        assert broker is not None
        parts = broker.parts
        here = partial(_ask_itself, parts.shared.config, broker.requests)
        self.writer: DeadLetterWriter = dead_letter_writer(
            parts.shared, parts.replicas, parts.forwarding.send, here
        )
        parts.shared.controller.add_listener(lambda *_: self.writer.metadata_changed())
        self.alter(GROUP, "g", **{"errors.deadletterqueue.topic.name": LETTERS})
        assert running.create("orders") == [0]
        self.done: list[int] = []

    def alter(self, kind: int, name: str, **configs: str) -> None:
        texts = [AlterableConfig(key, 0, text) for key, text in configs.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, texts)])
        (answer,) = self.running.ask(request, 1).responses
        assert answer.error_code == 0, answer.error_message

    def produce(self, *values: bytes, compression: int = Codec.NONE) -> None:
        now_ms = self.running.scheduler.wall_ms()
        records = [Record(-1, now_ms, b"key", value) for value in values]
        batch = build_batch(records, compression=compression)
        data = [TopicProduceData("orders", partition_data=[PartitionProduceData(0, batch)])]
        answer = self.running.ask(ProduceRequest(None, -1, 1000, data), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def bury(self, first: int, last: int, limit_ms: float = 60_000) -> None:
        """Bury records, until that is done."""
        topic = self.running.node.image.topics.get("orders")
        assert topic is not None
        self.done.clear()
        letter = DeadLetter(first, last, 3, is_rejected=True)
        key = SharePartitionKey("g", topic.id, 0)
        self.writer.bury(key, letter, lambda: self.done.append(first))
        self.running.scheduler.run_until(lambda: bool(self.done), limit_ms)

    def letters(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """Origin, key and value of each dead letter."""
        fetched: Any = self.running.fetch(LETTERS, 0)
        letters = []
        for record in iterate_records(fetched.records):
            headers = {name: (value or b"").decode() for name, value in record.headers}
            origin = f"{headers['__dlq.errors.topic']}-{headers['__dlq.errors.partition']}"
            place = f"{origin}@{headers['__dlq.errors.offset']}"
            letters.append((place, record.key, record.value))
        return letters


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_records_are_copied_to_a_topic_of_this_broker(tmp_path: Path, codec: Codec) -> None:
    desk = Desk(tmp_path)
    assert desk.running.create(LETTERS) == [0]
    desk.alter(TOPIC, LETTERS, **{"errors.deadletterqueue.group.enable": "true"})
    desk.alter(GROUP, "g", **{"errors.deadletterqueue.copy.record.enable": "true"})
    desk.produce(b"zero", b"one", compression=codec)
    desk.produce(b"two")
    desk.bury(1, 2)
    assert desk.letters() == [("orders-0@1", b"key", b"one"), ("orders-0@2", b"key", b"two")]
    name = "kafka_server_sharegroupmetrics_deadletterqueue"
    metrics = {family.name: family.samples for family in desk.running.node.metrics.families()}
    assert metrics[f"{name}recordcount"] == (({"group": "g"}, 2.0),)
    assert metrics[f"{name}totalproducerequests"] == (({"group": "g"}, 1.0),)
    assert metrics[f"{name}failedproducerequests"] == (({"group": "g"}, 0.0),)


def test_the_topic_is_created_with_its_configs_if_the_brokers_allow_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, **{"log.message.timestamp.type": "LogAppendTime"})
    desk.produce(b"zero")
    desk.bury(0, 0)
    assert desk.running.node.image.topics.get(LETTERS) is None
    desk.alter(BROKER, "", **{"errors.deadletterqueue.auto.create.topics.enable": "true"})
    desk.bury(0, 0, limit_ms=1_000)
    assert desk.letters() == [("orders-0@0", None, None)]
    assert desk.running.node.image.config(TOPIC, LETTERS) == {
        "errors.deadletterqueue.group.enable": "true",
        "message.timestamp.type": "CreateTime",
    }


def test_records_of_a_topic_that_is_deleted_meanwhile_are_not_copied(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.running.create(LETTERS) == [0]
    desk.alter(TOPIC, LETTERS, **{"errors.deadletterqueue.group.enable": "true"})
    desk.alter(GROUP, "g", **{"errors.deadletterqueue.copy.record.enable": "true"})
    absent = SharePartitionKey("g", b"\1" * 16, 0)
    desk.writer.bury(absent, DeadLetter(0, 0, 1, is_rejected=True), lambda: desk.done.append(0))
    desk.running.scheduler.run_for(60_000)
    assert (desk.done, desk.writer.pending_count) == ([], 0)

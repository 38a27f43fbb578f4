"""Records are all acknowledged, or one line says which topic did not take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from pipeline import sender
from pipeline.errors import PipelineError
from pipeline.sender import Sender

SETTINGS = {"bootstrap.servers": "kafka:9092", "security.protocol": "SSL"}


class Producer:
    """Takes two records at a time; answers when it is flushed, with `error`."""

    error: Any = None
    made: Producer

    def __init__(self, settings: dict[str, Any]) -> None:
        Producer.made = self
        self.settings = settings
        self.records: list[dict[str, Any]] = []
        self.waiting: list[Callable[[Any, Any], None]] = []
        self.full = 0

    def produce(self, topic: str, value: Any, key: Any, **others: Any) -> None:
        if len(self.waiting) == 2:
            self.full += 1
            raise BufferError
        self.waiting.append(others.pop("on_delivery"))
        self.records.append({"topic": topic, "value": value, "key": key, **others})

    def poll(self, seconds: float) -> None:
        if seconds:
            self._answer()

    def flush(self, seconds: float) -> int:
        self._answer()
        return 0

    def _answer(self) -> None:
        while self.waiting:
            self.waiting.pop(0)(self.error, None)


@pytest.fixture(autouse=True)
def producer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender.client, "Producer", Producer)
    monkeypatch.setattr(Producer, "error", None)


def test_it_waits_while_the_queue_is_full_and_counts_what_is_acknowledged() -> None:
    sending = Sender(SETTINGS, "t")
    for number in range(5):
        sending.send(b"k", b"%d" % number, 7, [("h", None)], 2)
    assert sending.acknowledged < 5
    sending.flush()
    assert sending.acknowledged == 5 and Producer.made.full == 2
    assert Producer.made.records[4] == {
        "topic": "t",
        "value": b"4",
        "key": b"k",
        "partition": 2,
        "timestamp": 7,
        "headers": [("h", None)],
    }


def test_the_settings_of_the_connection_reach_the_client_and_it_stays_idempotent() -> None:
    Sender(SETTINGS, "t")
    found = Producer.made.settings
    assert found["security.protocol"] == "SSL"
    assert (found["enable.idempotence"], found["acks"]) == (True, "all")
    assert found["partitioner"] == "murmur2_random", "as Java's clients choose"


def test_a_record_that_is_refused_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    error = confluent_kafka.KafkaError(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    monkeypatch.setattr(Producer, "error", error)
    sending = Sender(SETTINGS, "t")
    sending.send(b"k", b"v")
    with pytest.raises(PipelineError, match="a record was not stored in t .* kafka:9092"):
        sending.flush()
    assert sending.acknowledged == 0


def test_a_time_that_the_topic_does_not_take_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    error = confluent_kafka.KafkaError(confluent_kafka.KafkaError.INVALID_TIMESTAMP)
    monkeypatch.setattr(Producer, "error", error)
    sending = Sender(SETTINGS, "t")
    sending.send(b"k", b"v", 17 * 10**17)
    with pytest.raises(PipelineError, match="raise its message.timestamp.after.max.ms"):
        sending.flush()

"""The conversation that Apache Kafka was recorded in, with Ottla."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from broker.coordinator.outcome import call_reply, no_reply
from broker.transactions.transaction_shard import TransactionShard
from tests.golden.transaction_cases import LAST_EPOCH, RECORDED, converse
from tests.unit.broker.node_fixture import Running


def test_ottla_answers_as_kafka_did(tmp_path: Path) -> None:
    running = Running(tmp_path)

    def jump() -> None:
        """What took Kafka 32,000 requests."""
        broker = running.node.broker
        assert broker is not None
        shard = broker.parts.transactions.coordinator._shard_for("t")
        assert isinstance(shard, TransactionShard)
        current = shard.transactions["t"].current
        last = replace(current, producer_epoch=LAST_EPOCH - 1)
        shard._context.submit(lambda: shard._decide("t", no_reply, last), call_reply)

    answers = converse(running.ask, lambda: running.scheduler.run_for(20), jump)
    recorded = json.loads(RECORDED.read_text())
    assert set(answers) == set(recorded)
    wrong = {
        name: (answer, recorded[name])
        for name, answer in answers.items()
        if answer != recorded[name]
    }
    assert wrong == {}
    running.stop()

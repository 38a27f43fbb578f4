"""The answers of a share coordinator, as Apache Kafka gave them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.share_state_cases import PROPERTIES, RECORDED, ShareStates
from tests.unit.broker.node_fixture import Running


def test_states_are_kept_as_kafka_keeps_them(tmp_path: Path) -> None:
    running = Running(tmp_path, **PROPERTIES)
    scheduler = running.scheduler
    states = ShareStates(running.ask, lambda seconds: scheduler.run_for(round(1000 * seconds)))
    answers = dict(states.answers())
    recorded = json.loads(RECORDED.read_text())
    assert {name: answers[name] for name in answers if answers[name] != recorded.get(name)} == {}
    assert answers == recorded
    running.stop()

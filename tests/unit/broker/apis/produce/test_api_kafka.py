"""The conversation about Produce that Apache Kafka was recorded in, with Ottla."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from protocol.errors import ProtocolError
from tests.golden.produce_cases import RECORDED, converse
from tests.golden.produce_conversation import CLOSED
from tests.unit.broker.node_fixture import Running

# On purpose; the reasons stand in "What differs from Kafka".
DIFFERENT: dict[str, Any] = {
    # An exception of Kafka's own ends the whole request, of which the first marker is written.
    # Kafka writes the second, and says that the first is none.
    "twice: no batch, then one": [["twice", 0, 0, 39, -1, 0]],
    "markers beside one of no producer": [[-1, -1], [12, 0], [13, 0]],
}


def test_ottla_answers_as_kafka_did(tmp_path: Path) -> None:
    few = {f"{name}.num.partitions": "5" for name in ("offsets.topic", "transaction.state.log")}
    running = Running(tmp_path, **few)

    def call(request: Any, version: int, client_id: str | None = "me") -> Any:
        try:
            return running.ask(request, version, client_id)
        except ProtocolError:
            return CLOSED

    answers = converse(call, lambda: running.scheduler.run_for(20))
    recorded = json.loads(RECORDED.read_text())
    assert set(answers) == set(recorded)
    assert not [name for name, answer in DIFFERENT.items() if recorded[name] == answer]
    recorded.update(DIFFERENT)
    wrong = {
        name: (answer, recorded[name])
        for name, answer in answers.items()
        if answer != recorded[name]
    }
    assert wrong == {}
    running.stop()

"""How groups change their kind and what they forget, as Apache Kafka did it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.group_change_cases import PROPERTIES, RECORDED, Conversation
from tests.unit.broker.node_fixture import Running

PREPARING = [["classic", "PreparingRebalance"]]
REBALANCES = {
    "listed": PREPARING,
    "the other's heartbeat": 27,
    "heartbeat": 27,
    "sync": 27,
    "listed after": PREPARING,
}
"""Where a hand-over is under way: the row group-made-classic-in-a-hand-over of
docs/differences.md."""


def expected() -> dict[str, Any]:
    """What is to come."""
    answers: dict[str, Any] = json.loads(RECORDED.read_text())
    for where in ("there", "away"):
        for what, answer in REBALANCES.items():
            name = f"beside classic, {where}, 1 topics: {what}"
            assert answers[name] != answer, "Kafka does not rebalance"
            answers[name] = answer
    return answers


def test_a_static_member_is_replaced_and_offsets_are_forgotten(tmp_path: Path) -> None:
    running = Running(tmp_path, **PROPERTIES)
    scheduler = running.scheduler
    said = Conversation(running.ask, lambda seconds: scheduler.run_for(1000 * seconds))
    answers = dict(said.answers())
    wanted = expected()
    assert list(answers) == list(wanted)
    wrong = {
        name: (answers[name], answer) for name, answer in wanted.items() if answers[name] != answer
    }
    assert wrong == {}
    running.stop()

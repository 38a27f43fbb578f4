"""Who may commit and be told offsets of a consumer group, as Apache Kafka judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.member_epoch_cases import RECORDED, Conversation
from tests.unit.broker.node_fixture import Running

NO_MEMBER_WITH_AN_EPOCH = [25, []]
"""Where an exception of Kafka's own is -1, UNKNOWN_SERVER_ERROR: the row
offset-fetch-of-no-member of docs/differences.md."""


def test_every_member_at_every_epoch(tmp_path: Path) -> None:
    running = Running(tmp_path)
    scheduler = running.scheduler
    said = Conversation(running.ask, lambda seconds: scheduler.run_for(1000 * seconds))
    answers = dict(said.answers())
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    assert list(answers) == list(recorded)
    wrong = {
        name: (answers[name], answer)
        for name, answer in recorded.items()
        if answers[name] != (NO_MEMBER_WITH_AN_EPOCH if answer == [-1, []] else answer)
    }
    assert wrong == {}
    running.stop()

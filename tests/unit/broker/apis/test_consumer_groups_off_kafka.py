"""Consumer groups that are switched off and on again, as Apache Kafka answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.golden.group_version_cases import CLASSIC_ONLY, RECORDED, Conversation
from tests.unit.broker.node_fixture import Running


@pytest.mark.parametrize("properties", [{}, CLASSIC_ONLY], ids=["feature", "classic-only"])
def test_what_is_answered_while_they_are_off(tmp_path: Path, properties: Mapping[str, str]) -> None:
    running = Running(tmp_path, **properties)
    scheduler = running.scheduler
    said = Conversation(running.ask, lambda seconds: scheduler.run_for(1000 * seconds))
    answers = dict(said.answers_of_classic_only() if properties else said.answers())
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    classic_only = [name for name in recorded if name.startswith("classic only")]
    expected = [name for name in recorded if (name in classic_only) == bool(properties)]
    assert list(answers) == expected
    assert answers == {name: recorded[name] for name in expected}
    running.stop()

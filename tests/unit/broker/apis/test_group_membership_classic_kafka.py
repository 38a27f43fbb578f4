"""What classic members of a consumer group are told, as Apache Kafka told them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.classic_member_cases import PROPERTIES, RECORDED, MixedGroup
from tests.unit.broker.node_fixture import Running


def test_nobody_joins_again_before_the_assignment_is_due(tmp_path: Path) -> None:
    running = Running(tmp_path, **PROPERTIES)
    scheduler = running.scheduler
    said = MixedGroup(running.ask, lambda seconds: scheduler.run_for(round(1000 * seconds)))
    assert dict(said.answers()) == json.loads(RECORDED.read_text())
    running.stop()

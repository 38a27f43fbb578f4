"""Consumer groups asked for by who may not do all, as Apache Kafka 4.3.0 answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from controller.authorization.standard_authorizer import StandardAuthorizer
from tests.golden.consumer_group_rights_cases import RECORDED, Conversation, entries
from tests.unit.broker.node_fixture import Running
from tests.unit.broker.rights_fixture import acls_of


def test_ottla_answers_as_kafka_did(tmp_path: Path) -> None:
    running = Running(tmp_path)
    image = acls_of(entries())
    running.judge_by(StandardAuthorizer(lambda: image, ["User:admin"]))

    def ask(request: Any, version: int, user: str) -> Any:
        return running.ask(request, version, principal=f"User:{user}")

    said = Conversation(ask, lambda seconds: running.scheduler.run_for(1000 * seconds))
    answers = dict(said.answers())
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    assert list(answers) == list(recorded)
    wrong = {name: (one, recorded[name]) for name, one in answers.items() if one != recorded[name]}
    assert wrong == {}
    running.stop()

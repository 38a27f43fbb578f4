"""Answers to those who may not do all that they ask for: Ottla's beside Apache Kafka's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.authorization.standard_authorizer import StandardAuthorizer
from tests.golden import consumer_group_rights_cases, data_rights_cases, group_rights_cases
from tests.golden.few_rights import ADMIN, acls
from tests.unit.broker.node_fixture import Running
from tests.unit.controller.rights_fixture import acls_of


@pytest.mark.parametrize(
    "cases",
    [group_rights_cases, data_rights_cases, consumer_group_rights_cases],
    ids=["groups", "data", "consumer groups"],
)
def test_ottla_answers_as_kafka_did(cases: Any, tmp_path: Path) -> None:
    running = Running(tmp_path)
    image = acls_of(acls(cases.RIGHTS))
    running.judge_by(StandardAuthorizer(lambda: image, [f"User:{ADMIN}"]))

    def ask(request: Any, version: int, user: str) -> Any:
        return running.ask(request, version, principal=f"User:{user}")

    answers = cases.answers(ask, lambda seconds: running.scheduler.run_for(1000 * seconds))
    recorded: dict[str, Any] = json.loads(cases.RECORDED.read_text())
    assert answers.keys() == recorded.keys()
    wrong = {
        name: (answer, recorded[name])
        for name, answer in answers.items()
        if answer != recorded[name]
    }
    assert wrong == {}
    running.stop()

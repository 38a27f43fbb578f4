"""What Apache Kafka 4.3.0 answered to those who may not do all that they ask for, with Ottla."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from controller.authorization.standard_authorizer import StandardAuthorizer
from tests.golden.group_rights_cases import (
    RECORDED,
    Case,
    acls,
    before_cases,
    cases,
    make_topics,
    plain,
    prepare,
    topics_now,
    users,
)
from tests.unit.broker.node_fixture import Running
from tests.unit.broker.rights_fixture import acls_of

ADMIN = "User:admin"


def test_ottla_answers_as_kafka_did(tmp_path: Path) -> None:
    running = Running(tmp_path)
    ids = {"a": bytes(16), "b": bytes(16)}
    asked = list(users(before_cases(), cases(ids)))
    image = acls_of(acl for name, case in asked for acl in acls(name, case))
    running.judge_by(StandardAuthorizer(lambda: image, [ADMIN]))
    answers: dict[str, Any] = {}
    admin = partial(running.ask, principal=ADMIN)

    def as_user(name: str, case: Case) -> None:
        answer = running.ask(case.request, case.version, principal=f"User:{name}")
        answers[case.name] = plain(case, answer)

    make_topics(admin)
    first = len(before_cases())
    for name, case in asked[:first]:
        as_user(name, case)
    answers["topics"] = sorted(topics_now(admin))
    prepare(admin, lambda: running.scheduler.run_for(20))
    for name, case in list(users(before_cases(), cases(topics_now(admin))))[first:]:
        as_user(name, case)

    recorded = json.loads(RECORDED.read_text())
    assert set(answers) == set(recorded)
    wrong = {
        name: (answer, recorded[name])
        for name, answer in answers.items()
        if answer != recorded[name]
    }
    assert wrong == {}
    running.stop()

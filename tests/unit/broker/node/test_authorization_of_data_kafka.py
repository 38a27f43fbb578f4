"""What Apache Kafka 4.3.0 answered to those who may not do all that they ask for, with Ottla."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from controller.authorization.standard_authorizer import StandardAuthorizer
from protocol.errors import ProtocolError
from tests.golden.data_rights_cases import (
    RECORDED,
    TOPICS,
    cases,
    make_topics,
    plain,
    topics_now,
    users,
)
from tests.golden.group_rights_cases import acls
from tests.unit.broker.node_fixture import Running
from tests.unit.broker.rights_fixture import acls_of

ADMIN = "User:admin"


def test_ottla_answers_as_kafka_did(tmp_path: Path) -> None:
    running = Running(tmp_path)
    asked = users([], cases(dict.fromkeys(TOPICS, bytes(16))))
    image = acls_of(acl for name, case in asked for acl in acls(name, case))
    running.judge_by(StandardAuthorizer(lambda: image, [ADMIN]))
    admin = partial(running.ask, principal=ADMIN)
    make_topics(admin)
    answers = {}
    for name, case in users([], cases(topics_now(admin))):
        try:
            answer = running.ask(case.request, case.version, principal=f"User:{name}")
            answers[case.name] = plain(case, answer)
        except ProtocolError:
            answers[case.name] = "closed"
    recorded = json.loads(RECORDED.read_text())
    assert set(answers) == set(recorded)
    wrong = {
        name: (answer, recorded[name])
        for name, answer in answers.items()
        if answer != recorded[name]
    }
    assert wrong == {}
    running.stop()

"""`acl_requests`: the answers that Apache Kafka gave to the same requests.

Where Kafka closes the connection or fails itself, that one entry is INVALID_REQUEST.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from controller.authorization.rights import UNLIMITED, Rights
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from tests.golden import acl_cases
from tests.golden.acl_cases import CLOSED, RECORDED, RESTORED, Case, comparable
from tests.unit.controller.controller_fixture import OneNode, as_sent
from tests.unit.controller.rights_fixture import on_cluster, rights_of

EXPECTED = json.loads(RECORDED.read_text())
ADMIN = rights_of(on_cluster(Operation.ALTER) | on_cluster(Operation.DESCRIBE))
FAILED = [[int(ErrorCode.UNKNOWN_SERVER_ERROR), None]]

JUDGED = [*acl_cases.cases(), *acl_cases.cases_of_controller()]
NOT_JUDGED = [
    *acl_cases.cases_without_authorizer(),
    *acl_cases.cases_of_controller_without_authorizer(),
]
NAMES = [name for name, _, _ in (*JUDGED, *NOT_JUDGED) if not name.startswith(RESTORED)]


@cache
def answers() -> dict[str, Any]:
    return {**answered(JUDGED, ADMIN), **answered(NOT_JUDGED, UNLIMITED)}


def answered(cases: list[Case], rights: Rights) -> dict[str, Any]:
    node = OneNode().start()
    return {
        name: comparable(as_sent(node.call(request, version, rights), request, version))
        for name, request, version in cases
    }


def test_each_answer_was_recorded() -> None:
    assert sorted(EXPECTED) == sorted(NAMES)
    assert len(NAMES) > 300


@pytest.mark.parametrize("name", NAMES)
def test_answers_as_kafka_does(name: str) -> None:
    answer, expected = answers()[name], EXPECTED[name]
    if expected == CLOSED:
        code = answer[1] if name.startswith("describe") else answer[-1][0][0]
        assert code == ErrorCode.INVALID_REQUEST
    elif expected[-1] == FAILED:
        ((code, text),) = answer[-1]
        assert code == ErrorCode.INVALID_REQUEST
        assert text.startswith(("Invalid ", "The only valid name"))
    else:
        assert answer == expected

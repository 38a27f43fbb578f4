"""Elections, reassignments, features and brokers: the answers that Apache Kafka gave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.cluster_cases import RECORDED, cases
from tests.golden.controller_cases import comparable, sorted_answer
from tests.unit.controller.controller_fixture import OneNode, as_sent

EXPECTED = json.loads(RECORDED.read_text())


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    node = OneNode().start()
    node.register()
    return {
        name: sorted_answer(comparable(as_sent(node.call(request, version), request, version)))
        for name, request, version in cases()
    }


@pytest.mark.parametrize("name", [name for name, _, _ in cases()])
def test_answers_as_kafka_does(name: str, answers: dict[str, Any]) -> None:
    assert answers[name] == EXPECTED[name]

"""`quota_requests`: Apache Kafka's answers to the same requests, and what was set then."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from broker.apis.describe_client_quotas import DescribeClientQuotasApi
from tests.golden.quota_alteration_cases import EVERYTHING, RECORDED, after, cases, comparable
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.controller.controller_fixture import OneNode, as_sent

EXPECTED = json.loads(RECORDED.read_text())
CASES = cases()


@cache
def answers() -> dict[str, Any]:
    node = OneNode().start()
    describe = DescribeClientQuotasApi(node.node).handle
    found: dict[str, Any] = {}
    for name, request, version in CASES:
        answer = comparable(as_sent(node.call(request, version), request, version))
        found[name] = answer, after(ask(describe, EVERYTHING, 1))
    return found


def test_each_answer_was_recorded() -> None:
    assert list(EXPECTED) == [name for name, _, _ in CASES]
    assert len(CASES) > 400


@pytest.mark.parametrize("name", [name for name, _, _ in CASES])
def test_answers_as_kafka_does(name: str) -> None:
    assert answers()[name][0] == EXPECTED[name][0]


def test_the_same_is_set_after_each() -> None:
    expected: Any = None
    for name in EXPECTED:
        if EXPECTED[name][1] is not None:
            expected = EXPECTED[name][1]
        assert answers()[name][1] == expected, name

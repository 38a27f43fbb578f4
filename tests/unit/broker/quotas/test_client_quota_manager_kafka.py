"""The throttle times that Apache Kafka gave to the same sequences."""

from __future__ import annotations

import json
from math import inf
from typing import Any
from urllib.parse import unquote

import pytest

from broker.quotas.client_quota_manager import ClientQuotaManager, QuotaKind
from broker.quotas.limits import ClientEntity, SetLimits
from broker.quotas.sampled_rate import Window
from tests.golden.quota_sequences import RECORDED, Sequence, Step, sequences

EXPECTED = json.loads(RECORDED.read_text())
SEQUENCES = sequences()
MOST = 1.7976931348623157e308  # Java's largest, where there is no quota


def _entity(user: dict[str, Any], client: dict[str, Any]) -> ClientEntity:
    return ClientEntity(user.get("name", ""), client.get("name", ""))


def _answer(manager: ClientQuotaManager, limits: SetLimits, step: Step) -> Any:
    what = step[0]
    if what in ("set", "remove"):
        manager.put(_entity(step[1], step[2]), step[3] if what == "set" else None)
        return None
    now_ms, user, client = step[1], f"User:{step[2]}", step[3]
    if what == "tags":
        tags = limits.tags_of(user, client)
        return {"user": tags.user, "client-id": tags.client_id}
    if what == "most":
        most = manager.most_at_once(user, client, now_ms)
        return MOST if most == inf else most
    if what == "record":
        return manager.record(user, client, step[4], now_ms)
    if what == "permissive":
        return manager.take(user, client, step[4], now_ms)
    value = -step[4] if what == "unrecord" else step[4]
    return manager.record_only(user, client, value, now_ms)


def _run(sequence: Sequence) -> list[Any]:
    limits = SetLimits()
    window = Window(sequence["num"], sequence["size_s"] * 1000)
    manager = ClientQuotaManager(QuotaKind[sequence["type"]], window, limits)
    return [_answer(manager, limits, step) for step in sequence["steps"]]


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_same_throttle_times(name: str) -> None:
    expected = EXPECTED[name]
    for answer in expected:
        if isinstance(answer, dict):  # Kafka has them as in a URL
            answer["user"] = unquote(answer["user"])
    assert _run(SEQUENCES[name]) == expected

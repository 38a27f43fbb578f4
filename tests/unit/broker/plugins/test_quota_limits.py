"""A callback that says who shares which quota, asked by the quotas of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from broker.plugins.loop_calls import LoopCalls
from broker.plugins.quota_limits import PluginLimits
from broker.quotas.client_quota_manager import ClientQuotaManager, QuotaKind
from broker.quotas.limits import ClientEntity
from broker.quotas.sampled_rate import Window
from ottla.plugins.quotas import ClientQuotaCallback, QuotaEntity, QuotaType


class ByTeam(ClientQuotaCallback):
    """The first letter of a client id is its team's."""

    def __init__(self) -> None:
        self.value: Any = 100.0
        self.told: list[Any] = []
        self.reset = False

    def metric_tags(self, quota: QuotaType, principal: str, client_id: str) -> Mapping[str, str]:
        return {"team": client_id[0]}

    def limit(self, quota: QuotaType, tags: Mapping[str, str]) -> float | None:
        return None if tags["team"] == "x" else self.value

    def update(self, quota: QuotaType, entity: QuotaEntity, limit: float) -> None:
        self.told.append((quota, entity, limit))

    def remove(self, quota: QuotaType, entity: QuotaEntity) -> None:
        self.told.append((quota, entity, None))

    def reset_required(self, quota: QuotaType) -> bool:
        return self.reset


class Rig:
    def __init__(self) -> None:
        self.callback = ByTeam()
        calls = LoopCalls("a:B", lambda: 0.0)
        self.limits = PluginLimits(self.callback, QuotaKind.PRODUCE, calls)
        self.manager = ClientQuotaManager(QuotaKind.PRODUCE, Window(5, 1000), self.limits)


def test_who_has_the_same_tags_shares_one_quota() -> None:
    manager = Rig().manager
    assert manager.record("User:a", "a1", 400, 0) == 0
    assert manager.record("User:b", "a2", 100, 0) == 1000
    assert manager.record("User:a", "b1", 400, 0) == 0
    assert manager.record("User:a", "x1", 10**9, 0) == 0
    assert not manager.limits("User:a", "x1")


def test_another_limit_is_asked_for_when_it_says_so() -> None:
    rig = Rig()
    assert rig.manager.record("User:a", "a1", 400, 0) == 0
    rig.callback.value = 50.0
    assert rig.manager.record("User:a", "a1", 0, 0) == 0
    rig.callback.reset = True
    assert rig.manager.record("User:a", "a1", 0, 0) == 4000


def test_it_is_told_what_is_set() -> None:
    rig = Rig()
    rig.manager.put(ClientEntity("a", None), 5.0)
    rig.manager.put(ClientEntity("a", None), None)
    of_produce = QuotaType.PRODUCE, QuotaEntity("a", None)
    assert rig.callback.told == [(*of_produce, 5.0), (*of_produce, None)]


@pytest.mark.parametrize("value", [0, -1.0, "5", True and "no", object()])
def test_what_is_no_limit_limits_nobody(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.callback.value = value
    assert rig.manager.record("User:a", "a1", 10**9, 0) == 0
    assert "for a limit" in caplog.text


def test_one_that_fails_limits_nobody(caplog: pytest.LogCaptureFixture) -> None:
    manager = Rig().manager
    assert manager.record("User:a", "", 10**9, 0) == 0  # an empty client id has no first letter
    assert "a:B failed" in caplog.text


def test_what_it_need_not_say() -> None:
    class Least(ClientQuotaCallback):
        def metric_tags(self, quota: QuotaType, principal: str, client_id: str) -> dict[str, str]:
            return {"all": ""}

        def limit(self, quota: QuotaType, tags: Mapping[str, str]) -> float:
            return 1.0

    limits = PluginLimits(Least(), QuotaKind.FETCH, LoopCalls("a:B", lambda: 0.0))
    assert limits.put(ClientEntity("a"), 1.0)
    assert limits.put(ClientEntity("a"), None)
    assert not limits.changed_by_itself()
    assert limits.any_set

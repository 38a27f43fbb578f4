"""What a quota callback need not say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker.quotas.client_quota_manager import QuotaKind
from ottla.plugins.quotas import ClientQuotaCallback, QuotaEntity, QuotaType


class Least(ClientQuotaCallback):
    def metric_tags(self, quota: QuotaType, principal: str, client_id: str) -> Mapping[str, str]:
        return {}

    def limit(self, quota: QuotaType, tags: Mapping[str, str]) -> float | None:
        return None


def test_it_need_not_say_more_than_who_shares_what() -> None:
    callback = Least()
    callback.configure({})
    callback.update(QuotaType.PRODUCE, QuotaEntity("a", None), 1.0)
    callback.remove(QuotaType.PRODUCE, QuotaEntity("a", None))
    assert callback.reset_required(QuotaType.PRODUCE) is False
    with pytest.raises(TypeError):
        ClientQuotaCallback()  # type: ignore[abstract]


def test_its_kinds_are_those_of_a_node() -> None:
    assert [one.value for one in QuotaType] == [one.key for one in QuotaKind]

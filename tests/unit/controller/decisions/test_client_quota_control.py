"""Sizes, and what is written; Kafka's own answers: `test_quota_requests_kafka`."""

from __future__ import annotations

import pytest

from controller.decisions import client_quota_control
from controller.decisions.client_quota_control import alter_client_quotas
from controller.metadata.client_quotas import QuotaEntity
from controller.metadata.image import MetadataImage
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from tests.unit.controller.decision_fixture import after, view

ALICE: QuotaEntity = (("user", "alice"),)
RATE = "producer_byte_rate"


def _set(
    entity: QuotaEntity, value: float | None = 1.0, key: str = RATE
) -> AlterClientQuotasRequestEntryData:
    parts = [AlterClientQuotasRequestEntityData(*part) for part in entity]
    op = OpData(key, value or 0.0, value is None)
    return AlterClientQuotasRequestEntryData(parts, [op])


def test_only_what_changes_is_written() -> None:
    image = MetadataImage()
    first = in_one_go(alter_client_quotas(view(image), [_set(ALICE)], False))
    assert len(first.records) == 1
    image = after(image, first.records)
    assert image.client_quotas == {ALICE: {RATE: 1.0}}
    assert in_one_go(alter_client_quotas(view(image), [_set(ALICE)], False)).records == []
    assert (
        in_one_go(alter_client_quotas(view(image), [_set(ALICE, None, "x")], False)).records == []
    )
    gone = in_one_go(alter_client_quotas(view(image), [_set(ALICE, None)], False))
    assert after(image, gone.records).client_quotas == {}


def test_validation_alone_writes_nothing() -> None:
    decision = in_one_go(alter_client_quotas(view(MetadataImage()), [_set(ALICE)], True))
    assert (decision.reply, decision.records) == ({ALICE: None}, [])


def test_one_that_is_wrong_does_not_stop_the_others() -> None:
    wrong: QuotaEntity = (("group", "g"),)
    decision = in_one_go(
        alter_client_quotas(view(MetadataImage()), [_set(wrong), _set(ALICE)], False)
    )
    assert isinstance(decision.reply, dict)
    errors = {entity: error and error.code for entity, error in decision.reply.items()}
    assert errors == {wrong: ErrorCode.INVALID_REQUEST, ALICE: None}
    assert len(decision.records) == 1


@pytest.mark.parametrize(
    ("limit", "most"), [("MAX_RECORDS_PER_OPERATION", 9), ("MAX_CONFIG_BYTES_PER_OPERATION", 19)]
)
def test_a_request_that_is_too_large_is_refused_whole(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(client_quota_control, limit, most)
    users = [_set((("user", f"u{i}"),)) for i in range(10)]
    decision = in_one_go(alter_client_quotas(view(MetadataImage()), users, False))
    assert isinstance(decision.reply, ApiError)
    assert decision.reply.code == ErrorCode.POLICY_VIOLATION
    assert not decision.records
    assert len(in_one_go(alter_client_quotas(view(MetadataImage()), users[:9], False)).records) == 9

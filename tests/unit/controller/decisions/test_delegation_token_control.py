"""Delegation tokens as decisions; `test_delegation_tokens` of the broker's APIs has Kafka's."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from controller.decisions import delegation_token_control as module
from controller.decisions.decision import TOO_MANY_RECORDS
from controller.decisions.delegation_token_control import (
    DelegationTokenControl,
    ExpiryChange,
    NewToken,
)
from controller.metadata.delegation_token import TokenKey
from controller.metadata.image import MetadataImage
from controller.metadata.version import LATEST_LEVEL, METADATA_VERSION
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import FeatureLevelRecord
from tests.unit.controller.controller_fixture import image_of
from tests.unit.controller.decision_fixture import SETTINGS, after, view

KEY = TokenKey("a key")
EXPIRY_MS, LONGEST_MS, NOW_MS = 1_000, 5_000, 1_700_000_000_000
ASKED = NewToken("User:a", "User:a", ["User:r"], -1)


def control(key: TokenKey | None = KEY) -> DelegationTokenControl:
    settings = replace(
        SETTINGS,
        token_key=key,
        delegation_token_max_lifetime_ms=LONGEST_MS,
        delegation_token_expiry_time_ms=EXPIRY_MS,
    )
    return DelegationTokenControl(settings, random.Random(1).randbytes)


def at(level: int) -> MetadataImage:
    return image_of(FeatureLevelRecord(METADATA_VERSION, level))


def with_token(asked: NewToken = ASKED) -> tuple[MetadataImage, Any]:
    decision = control().create(view(at(LATEST_LEVEL)), asked, NOW_MS)
    return after(at(LATEST_LEVEL), decision.records), decision.reply


def change(token: Any, period_ms: int, principal: str = "User:a") -> ExpiryChange:
    return ExpiryChange(KEY.hmac_of(token.token_id), principal, period_ms)


def code(reply: object) -> int:
    return reply.code if isinstance(reply, ApiError) else 0


def test_what_is_told_is_what_is_kept() -> None:
    image, token = with_token()
    assert image.tokens == {token.token_id: token}
    assert token.renewers == ("User:r",)
    times = (token.issue_ms, token.expiry_ms, token.max_ms)
    assert times == (NOW_MS, NOW_MS + EXPIRY_MS, NOW_MS + LONGEST_MS)


def test_no_two_tokens_have_one_id() -> None:
    image, first = with_token()
    again = DelegationTokenControl(
        replace(SETTINGS, token_key=KEY), random.Random(1).randbytes
    ).create(view(image), ASKED, NOW_MS)
    assert not isinstance(again.reply, ApiError)
    assert again.reply.token_id != first.token_id


@pytest.mark.parametrize("level", [7, 13])
def test_metadata_that_cannot_hold_tokens(level: int) -> None:
    image = at(level)
    decisions: list[Any] = [
        control().create(view(image), ASKED, NOW_MS),
        control().renew(view(image), ExpiryChange(b"", "User:a", -1), NOW_MS),
        control().expire(view(image), ExpiryChange(b"", "User:a", -1), NOW_MS),
    ]
    assert [code(one.reply) for one in decisions] == [ErrorCode.UNSUPPORTED_VERSION] * 3
    assert not any(one.records for one in decisions)
    made = control().create(view(at(14)), ASKED, NOW_MS)
    assert code(made.reply) == 0


def test_renewers_are_not_many() -> None:
    asked = ASKED._replace(renewers=["User:" + "x" * 2**20] * 9)
    decision = control().create(view(at(LATEST_LEVEL)), asked, NOW_MS)
    assert (decision.reply, decision.records) == (TOO_MANY_RECORDS, ())


def test_nothing_is_renewed_beyond_its_end() -> None:
    image, token = with_token()
    late_ms = NOW_MS + LONGEST_MS - 10
    image = after(image, control().expire(view(image), change(token, LONGEST_MS), NOW_MS).records)
    renewed = control().renew(view(image), change(token, EXPIRY_MS), late_ms)
    assert renewed.reply == token.max_ms
    assert after(image, renewed.records).tokens[token.token_id].expiry_ms == token.max_ms


def test_a_change_that_is_refused_writes_nothing() -> None:
    image, token = with_token()
    for decide in (control().renew, control().expire):
        refused = decide(view(image), change(token, 10, "User:other"), NOW_MS)
        assert code(refused.reply) == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert not refused.records


def test_a_change_does_not_show_what_it_is_about() -> None:
    _, token = with_token()
    assert KEY.hmac_of(token.token_id).hex() not in repr(change(token, 1))
    assert "hidden" in repr(change(token, 1))


def test_expired_ones_go_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMOVALS_PER_TURN", 2)
    image, decider = at(LATEST_LEVEL), control()
    for life_ms in (10, 10, -1, 10):
        asked = ASKED._replace(lifetime_ms=life_ms)
        image = after(image, decider.create(view(image), asked, NOW_MS).records)
    assert decider.remove_expired(view(image), NOW_MS + 10).records == []
    rounds = []
    while True:
        decision = decider.remove_expired(view(image), NOW_MS + 11)
        image = after(image, decision.records)
        rounds.append((len(decision.records), decision.reply))
        if not decision.reply:
            break
    assert rounds == [(2, True), (1, False)]
    assert [one.expiry_ms for one in image.tokens.values()] == [NOW_MS + EXPIRY_MS]

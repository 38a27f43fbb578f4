"""How long somebody over its quota waits."""

from __future__ import annotations

import pytest

from broker.quotas.measured import UNLIMITED, MeasuredRate, MeasuredTokens, MeasuredUsage
from broker.quotas.sampled_rate import Window

FIVE = Window(5, 1000)


def test_by_a_rate_it_waits_until_the_rate_is_the_quota() -> None:
    measured = MeasuredRate(FIVE)
    measured.record(400_000, 0, 100_000)
    assert measured.throttle_ms(0, 100_000) == 0
    measured.record(50_000, 0, 100_000)
    assert measured.throttle_ms(0, 100_000) == 500
    assert measured.level(500, 100_000) == 100_000


def test_there_may_be_a_longest_wait() -> None:
    measured = MeasuredRate(FIVE, 1000)
    measured.record(50_000, 0, 100)
    assert measured.throttle_ms(0, 100) == 1000


def test_by_tokens_it_waits_until_none_is_owed() -> None:
    measured = MeasuredTokens(FIVE)
    measured.record(25, 0, 5)
    assert measured.throttle_ms(0, 5) == 0
    measured.record(3, 0, 5)
    assert measured.throttle_ms(0, 5) == 600
    assert measured.throttle_ms(100, 5) == 500


@pytest.mark.parametrize("measured", [MeasuredRate(FIVE), MeasuredTokens(FIVE)])
def test_it_is_idle_when_a_new_one_would_tell_the_same(measured: MeasuredUsage) -> None:
    measured.record(30, 0, 5)
    assert not measured.idle(4999, 5)
    assert measured.idle(6001, 5)
    assert measured.throttle_ms(6001, UNLIMITED) == 0

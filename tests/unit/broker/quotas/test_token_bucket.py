"""A bucket of tokens, step by step."""

from __future__ import annotations

from broker.quotas.sampled_rate import Window
from broker.quotas.token_bucket import TokenBucket

TEN = Window(10, 1000)


def test_it_is_full_at_first_fills_again_and_never_above() -> None:
    bucket = TokenBucket()
    assert bucket.level(50, 5, TEN) == 50
    bucket.take(20, 50, 5, TEN)
    assert bucket.level(50, 5, TEN) == 30
    assert bucket.level(1050, 5, TEN) == 35
    assert bucket.level(9_000_000, 5, TEN) == 50


def test_it_may_owe() -> None:
    bucket = TokenBucket()
    bucket.take(560, 0, 5, Window(100, 1000))
    assert bucket.level(0, 5, Window(100, 1000)) == -60
    assert bucket.level(12_000, 5, Window(100, 1000)) == 0


def test_another_limit_is_another_capacity() -> None:
    bucket = TokenBucket()
    assert bucket.level(0, 100, TEN) == 1000
    assert bucket.level(0, 5, TEN) == 50
    assert bucket.level(1000, 100, TEN) == 150

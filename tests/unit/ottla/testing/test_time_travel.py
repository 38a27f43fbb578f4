"""Moving a broker's clocks, without a broker."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ottla.testing.errors import Misuse
from ottla.testing.time_travel import advance


def test_what_is_asked_and_told() -> None:
    calls: list[Any] = []

    def call(op: str, args: Any, *, timeout_s: float) -> Any:
        calls.append((op, args, timeout_s > 30))
        return {"fired": 3, "ahead_ms": 5.0}

    assert advance(call, timedelta(days=1, milliseconds=2)) == 5.0
    assert calls == [("time.advance", {"ms": 86_400_002.0}, True)]


def test_time_does_not_go_back() -> None:
    with pytest.raises(Misuse, match="never back"):
        advance(lambda *_args, **_named: None, timedelta(seconds=-1))

"""What a host loads before it forks."""

from __future__ import annotations

import gc
import sys

import pytest

from testbed.preload import CHILD, load_broker, load_more


@pytest.fixture(autouse=True)
def collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "disable", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)


def test_a_start_imports_nothing_after_it() -> None:
    load_broker()
    assert CHILD in sys.modules and "broker.node.node" in sys.modules


def test_more_is_loaded_step_by_step() -> None:
    steps = load_more()
    assert next(steps) == "encodings.utf_16_be"
    names = list(steps)
    assert "protocol.messages.create_topics" in names
    assert "broker.transactions.transaction_coordinator" in names
    assert [name for name in names if name not in sys.modules] == []

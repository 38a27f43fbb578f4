"""A StartError is a sentence."""

from __future__ import annotations

from broker.config.start_error import StartError


def test_it_carries_its_sentence() -> None:
    assert str(StartError("port 9092 is taken")) == "port 9092 is taken"

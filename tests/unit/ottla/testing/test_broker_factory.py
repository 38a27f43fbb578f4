"""The factory: who hears of its brokers, and what becomes of one that does not start."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.testing import broker_factory
from ottla.testing.broker_factory import BrokerFactory
from ottla.testing.errors import StartFailed


class StandIn:
    closed = 0

    def __init__(self, properties: dict[str, str], **options: Any) -> None:
        self.properties = properties
        self.options = options

    def start(self) -> None:
        if "wrong" in self.properties:
            raise StartFailed("no")

    def close(self) -> None:
        StandIn.closed += 1


def test_brokers_are_started_and_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_factory, "Broker", StandIn)
    made: list[Any] = []
    factory = BrokerFactory(made.append, keep_data=True)
    one = factory({"num.partitions": "3"}, port=5)
    other = factory({}, keep_data=False)
    with pytest.raises(StartFailed):
        factory({"wrong": ""})
    assert made == [one, other] and StandIn.closed == 1
    assert [(each.options["port"], each.options["keep_data"]) for each in made] == [
        (5, True),
        (0, False),
    ]

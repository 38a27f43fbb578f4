"""Brokers of a session and of a factory: which one a test gets, and when another is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ottla.testing import broker_factory
from ottla.testing.broker_factory import BrokerFactory
from ottla.testing.errors import BrokerGone, StartFailed
from ottla.testing.session import SessionBrokers


class StandIn:
    made: list[StandIn] = []

    def __init__(
        self, properties: Mapping[str, str], *, keep_data: bool, port: int = 0, **_: object
    ) -> None:
        self.properties = dict(properties)
        self.port = port
        self.keep_data = keep_data
        self.resets = 0
        self.closed = False
        self.dead = False
        self.is_ahead = False
        self.paused = False
        StandIn.made.append(self)

    def start(self) -> StandIn:
        if "wrong" in self.properties:
            raise StartFailed("no")
        return self

    def resume(self) -> None:
        self.paused = False

    def reset(self, *, timeout_s: float) -> None:
        if self.dead:
            raise BrokerGone("dead")
        assert not self.paused
        self.resets += 1

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "made", [])
    monkeypatch.setattr(broker_factory, "Broker", StandIn)


@pytest.fixture
def brokers() -> SessionBrokers:
    return SessionBrokers(keep_data=True)


def test_the_same_one_is_emptied(brokers: SessionBrokers) -> None:
    first = brokers.broker_with({})
    StandIn.made[0].paused = True
    assert brokers.broker_with({}) is first
    assert [(one.resets, one.keep_data) for one in StandIn.made] == [(1, True)]


def test_other_properties_are_another_one_and_few_are_kept(brokers: SessionBrokers) -> None:
    for number in range(4):
        brokers.broker_with({"num.partitions": str(number)})
    brokers.broker_with({"num.partitions": "0"})
    brokers.broker_with({"num.partitions": "4"})
    assert [one.closed for one in StandIn.made] == [False, True, False, False, False]
    brokers.close()
    assert all(one.closed for one in StandIn.made)


def test_one_whose_clocks_were_moved_is_given_up(brokers: SessionBrokers) -> None:
    brokers.broker_with({})
    StandIn.made[0].is_ahead = True
    brokers.broker_with({})
    assert [(one.closed, one.resets) for one in StandIn.made] == [(True, 0), (False, 0)]


def test_one_that_does_not_start_is_closed(brokers: SessionBrokers) -> None:
    with pytest.raises(StartFailed):
        brokers.broker_with({"wrong": ""})
    assert StandIn.made[0].closed


def test_a_factory_tells_of_its_brokers_and_closes_one_that_does_not_start() -> None:
    told: list[Any] = []
    factory = BrokerFactory(told.append, keep_data=True)
    both = [factory({"num.partitions": "3"}, port=5), factory({}, keep_data=False)]
    with pytest.raises(StartFailed):
        factory({"wrong": ""})
    assert told == both and [one.closed for one in StandIn.made] == [False, False, True]
    assert [(one.port, one.keep_data) for one in told] == [(5, True), (0, False)]

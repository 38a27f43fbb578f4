"""Brokers of a session: which one a test gets, and when another one is started."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ottla.testing import broker_factory
from ottla.testing.errors import BrokerGone, StartFailed
from ottla.testing.session import SessionBrokers


class StandIn:
    made: list[StandIn] = []

    def __init__(self, properties: Mapping[str, str], *, keep_data: bool, **_: object) -> None:
        self.properties = dict(properties)
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


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> SessionBrokers:
    StandIn.made = []
    monkeypatch.setattr(broker_factory, "Broker", StandIn)
    return SessionBrokers(keep_data=True)


def test_the_same_one_is_emptied(brokers: SessionBrokers) -> None:
    first = brokers.emptied({})
    StandIn.made[0].paused = True
    assert brokers.emptied({}) is first
    assert [(one.resets, one.keep_data) for one in StandIn.made] == [(1, True)]


def test_other_properties_are_another_one_and_few_are_kept(brokers: SessionBrokers) -> None:
    for number in range(4):
        brokers.emptied({"num.partitions": str(number)})
    brokers.emptied({"num.partitions": "0"})
    brokers.emptied({"num.partitions": "4"})
    assert [one.closed for one in StandIn.made] == [False, True, False, False, False]
    brokers.close()
    assert all(one.closed for one in StandIn.made)


def test_one_that_cannot_be_emptied_is_given_up(brokers: SessionBrokers) -> None:
    brokers.emptied({})
    StandIn.made[0].dead = True
    brokers.emptied({})
    assert [one.closed for one in StandIn.made] == [True, False]


def test_one_whose_clocks_were_moved_is_given_up(brokers: SessionBrokers) -> None:
    brokers.emptied({})
    StandIn.made[0].is_ahead = True
    brokers.emptied({})
    assert [(one.closed, one.resets) for one in StandIn.made] == [(True, 0), (False, 0)]


def test_one_that_does_not_start_is_closed(brokers: SessionBrokers) -> None:
    with pytest.raises(StartFailed):
        brokers.emptied({"wrong": ""})
    assert StandIn.made[0].closed

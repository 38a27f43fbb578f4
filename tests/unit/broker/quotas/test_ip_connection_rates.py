"""Connections of an address in a second."""

from __future__ import annotations

from broker.quotas.ip_connection_rates import IpConnectionRates
from broker.quotas.sampled_rate import Window

FIVE = Window(5, 1000)


def test_no_address_is_measured_without_a_quota() -> None:
    rates = IpConnectionRates(FIVE)
    assert not rates.enabled
    assert rates.opened("10.0.0.1", 0) == 0
    rates.put("10.0.0.2", 1.0)
    assert rates.enabled
    assert rates.opened("10.0.0.1", 0) == 0
    assert len(rates) == 0


def test_those_over_the_quota_wait_and_count_for_nothing() -> None:
    rates = IpConnectionRates(FIVE)
    rates.put("10.0.0.1", 5.0)
    assert [rates.opened("10.0.0.1", 0) for _ in range(20)] == [0] * 20
    assert [rates.opened("10.0.0.1", 0) for _ in range(100)] == [200] * 100
    assert rates.opened("10.0.0.1", 201) == 0


def test_nobody_waits_for_longer_than_a_slice() -> None:
    rates = IpConnectionRates(FIVE)
    rates.put(None, 0.1)
    assert rates.opened("10.0.0.1", 0) == 1000


def test_the_default_is_for_those_without_one_of_their_own() -> None:
    rates = IpConnectionRates(FIVE)
    rates.put(None, 1.0)
    rates.put("10.0.0.1", 100.0)
    for address, expected in (("10.0.0.1", 0), ("10.0.0.2", 1000), ("10.0.0.3", 1000)):
        waits = [rates.opened(address, 0) for _ in range(5)]
        assert waits[-1] == expected
    rates.put("10.0.0.1", None)
    assert rates.opened("10.0.0.1", 0) > 0
    rates.put(None, None)
    assert rates.opened("10.0.0.2", 0) == 0
    assert rates.limits == {}


def test_addresses_that_open_nothing_are_let_go_of_and_there_is_a_most() -> None:
    rates = IpConnectionRates(FIVE, 100)
    rates.put(None, 1.0)
    for i in range(1000):
        rates.opened(f"10.0.{i // 250}.{i % 250}", 0)
    assert len(rates) == 100
    for i in range(60):
        rates.opened(f"10.1.0.{i}", 5000)
    assert len(rates) == 60


def test_what_was_opened_can_be_forgotten() -> None:
    rates = IpConnectionRates(FIVE)
    rates.put(None, 0.1)
    assert rates.opened("10.0.0.1", 0) == 1000
    rates.forget()
    assert len(rates) == 0
    rates.put(None, 1.0)
    assert rates.opened("10.0.0.1", 1) == 0

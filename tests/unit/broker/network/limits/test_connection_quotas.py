"""ConnectionQuotas: the counts alone; sockets are in test_socket_server."""

from __future__ import annotations

import pytest

from broker.network.limits.connection_quotas import KEPT_FOR_BROKERS, UNLIMITED, ConnectionQuotas
from broker.quotas.sampled_rate import Window


def _quotas(**limits: object) -> ConnectionQuotas:
    quotas = ConnectionQuotas(**limits)
    quotas.add_listener("A")
    quotas.add_listener("B", 2)
    return quotas


def test_unlimited_by_default():
    quotas = _quotas()
    for _ in range(100):
        assert quotas.slot_available("A")
        assert quotas.ip_allowed("1.1.1.1")
        quotas.opened("A", "1.1.1.1")
    assert quotas.total == 100
    for limit in (101, 100):
        quotas.limit_listener("A", limit, UNLIMITED)
        assert quotas.slot_available("A") == (limit > 100)
    quotas.max_connections_per_ip = 101
    assert quotas.ip_allowed("1.1.1.1")
    quotas.max_connections_per_ip = 100
    assert not quotas.ip_allowed("1.1.1.1")
    assert quotas.exceeded_by("A") == 0


def test_broker_limit_counts_all_listeners():
    quotas = _quotas(max_connections=2)
    quotas.opened("A", "x")
    quotas.opened("B", "x")
    assert not quotas.slot_available("A")
    quotas.closed("B", "x")
    assert quotas.slot_available("A")


def test_listener_limit_is_its_own():
    quotas = _quotas()
    quotas.opened("B", "x")
    quotas.opened("B", "x")
    assert not quotas.slot_available("B")
    assert quotas.slot_available("A")


def test_per_ip_limit_and_its_overrides():
    quotas = _quotas(max_connections_per_ip=1, per_ip_overrides={"9.9.9.9": 0, "8.8.8.8": 2})
    assert not quotas.ip_allowed("9.9.9.9")
    for ip, allowed in [("7.7.7.7", 1), ("8.8.8.8", 2)]:
        for _ in range(allowed):
            assert quotas.ip_allowed(ip)
            quotas.opened("A", ip)
        assert not quotas.ip_allowed(ip)
        quotas.closed("A", ip)
        assert quotas.ip_allowed(ip)


def test_addresses_without_connections_are_forgotten():
    quotas = _quotas()
    quotas.opened("A", "x")
    quotas.closed("A", "x")
    assert quotas._ip_counts == {}


def test_inter_broker_listener_is_protected_if_there_are_others():
    quotas = _quotas(max_connections=1, inter_broker_listener="A")
    quotas.opened("B", "x")
    assert quotas.slot_available("A")
    quotas.opened("A", "x")
    assert quotas.exceeded_by("A") == 0
    assert quotas.exceeded_by("B") == 1
    # Its own limit holds nevertheless.
    quotas.limit_listener("A", 1, UNLIMITED)
    assert not quotas.slot_available("A")

    alone = ConnectionQuotas(max_connections=1, inter_broker_listener="A")
    alone.add_listener("A")
    alone.opened("A", "x")
    assert not alone.slot_available("A")


def test_waiting_listeners_go_on_once_and_only_with_a_slot():
    quotas = _quotas(max_connections=3)
    for _ in range(2):
        quotas.opened("B", "x")
    quotas.opened("A", "x")
    resumed: list[str] = []
    quotas.wait_for_slot("A", lambda: resumed.append("A"))
    quotas.wait_for_slot("B", lambda: resumed.append("B"))
    quotas.closed("A", "x")
    assert resumed == ["A"]
    quotas.closed("B", "x")
    assert resumed == ["A", "B"]
    quotas.closed("B", "x")
    assert resumed == ["A", "B"]


def test_a_lack_of_descriptors_holds_up_every_listener():
    left = [2]
    quotas = _quotas(room=lambda: left[0])
    assert quotas.slot_available("A") and not quotas.lacks_descriptors("A")
    left[0] = 0
    assert not quotas.slot_available("A") and quotas.lacks_descriptors("A")


def test_the_last_descriptors_are_the_protected_listeners():
    left = [KEPT_FOR_BROKERS]
    quotas = _quotas(room=lambda: left[0], inter_broker_listener="B")
    assert not quotas.slot_available("A")
    assert quotas.slot_available("B")
    left[0] = 0
    assert not quotas.slot_available("B")


def test_the_longer_wait_of_broker_and_listener_counts():
    quotas = ConnectionQuotas(creation_rate=10, window=Window(2, 1000))
    quotas.add_listener("A")
    quotas.add_listener("B", UNLIMITED, 5)
    assert [quotas.creation_delay_ms("B", 0.0) for _ in range(6)] == [0] * 5 + [200]
    assert [quotas.creation_delay_ms("A", 0.0) for _ in range(5)] == [0] * 4 + [100]
    assert quotas.not_served("A")["max.connection.creation.rate"] == 1
    quotas.limit_broker(UNLIMITED, UNLIMITED)
    assert not quotas.limits_rate("A")
    assert quotas.limits_rate("B")


def test_who_is_refused_for_its_address_does_not_use_up_the_rate_of_others():
    quotas = ConnectionQuotas(
        creation_rate=5,
        window=Window(2, 1000),
        opened_from=lambda address, _now_ms: 1000.0 if address == "bad" else 0.0,
    )
    quotas.add_listener("A")
    for _ in range(50):
        assert quotas.creation_delay_ms("A", 0.0) == 0
        assert quotas.ip_delay_ms("A", "bad", 0.0) == 1000
    assert [quotas.creation_delay_ms("A", 0.0) for _ in range(6)] == [0] * 5 + [200]
    assert quotas.ip_delay_ms("A", "good", 0.0) == 0
    assert quotas.not_served("A")["connection_creation_rate"] == 50


def test_without_a_rate_nothing_is_counted_and_nothing_taken_back():
    quotas = ConnectionQuotas(opened_from=lambda _address, _now_ms: 1.0, window=Window(2, 1000))
    quotas.add_listener("A")
    for _ in range(50):
        quotas.ip_delay_ms("A", "x", 0.0)
    quotas.limit_listener("A", UNLIMITED, 5)
    assert [quotas.creation_delay_ms("A", 0.0) for _ in range(6)] == [0] * 5 + [200]


def test_why_somebody_was_not_served_is_counted():
    quotas = _quotas(max_connections=1)
    quotas.opened("A", "x")
    quotas.wait_for_slot("A", lambda: None)
    quotas.refused("B")
    quotas.limit_addresses(1, {"y": 5})
    assert not quotas.ip_allowed("x")
    assert quotas.ip_allowed("y")
    assert {name: n for name, n in quotas.not_served("A").items() if n} == {"max.connections": 1}
    assert quotas.not_served("B")["max.connections.per.ip"] == 1


def test_how_long_connections_waited_is_told_by_listener():
    window = Window(2, 1000)
    limited = {"bad": 250.0}
    quotas = ConnectionQuotas(
        creation_rate=5, window=window, opened_from=lambda ip, _now_ms: limited.get(ip, 0.0)
    )
    quotas.add_listener("A")
    quotas.add_listener("B")
    assert quotas.accept_throttle_ms("A", 0.0) == quotas.ip_throttle_ms("A", 0.0) == 0
    waits = [quotas.creation_delay_ms("A", 0.0) for _ in range(7)]
    late = [wait for wait in waits if wait]
    assert len(late) == 2
    assert quotas.accept_throttle_ms("A", 0.0) == pytest.approx(sum(late) / len(late))
    assert quotas.ip_delay_ms("A", "good", 0.0) == 0
    assert quotas.ip_delay_ms("A", "bad", 0.0) == 250
    assert quotas.ip_throttle_ms("A", 0.0) == pytest.approx(250)
    assert quotas.accept_throttle_ms("B", 0.0) == quotas.ip_throttle_ms("B", 0.0) == 0
    assert quotas.accept_throttle_ms("A", 120_000.0) == 0

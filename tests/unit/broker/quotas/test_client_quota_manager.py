"""What is kept of clients, and for how long. Throttle times: `test_client_quota_manager_kafka`."""

from __future__ import annotations

from math import inf

from broker.quotas.client_quota_manager import KEPT_MS, ClientQuotaManager, QuotaKind
from broker.quotas.limits import ClientEntity, SetLimits, Tags
from broker.quotas.sampled_rate import Window

FIVE = Window(5, 1000)
ALICE = "User:alice"


def _manager(kind: QuotaKind = QuotaKind.PRODUCE, max_clients: int = 1000) -> ClientQuotaManager:
    return ClientQuotaManager(kind, FIVE, SetLimits(), max_clients)


def test_nobody_is_measured_where_nobody_is_limited() -> None:
    manager = _manager()
    assert not manager.enabled
    assert manager.record(ALICE, "c", 1e9, 0) == 0
    assert manager.take(ALICE, "c", 1e9, 0) == 0
    manager.record_only(ALICE, "c", 1e9, 0)
    assert manager.most_at_once(ALICE, "c", 0) == inf
    assert len(manager) == 0


def test_a_quota_that_is_removed_holds_nobody_back_any_more() -> None:
    manager = _manager()
    manager.put(ClientEntity("alice"), 100.0)
    manager.put(ClientEntity("bob"), 100.0)
    assert manager.record(ALICE, "c", 1000, 0) == 6000
    manager.put(ClientEntity("alice"), None)
    assert manager.record(ALICE, "c", 1000, 1) == 0
    manager.put(ClientEntity("alice"), 100.0)
    assert manager.record(ALICE, "c", 0, 1) == 16_000 - 1  # what was used stayed known
    assert manager.record("User:bob", "c", 10, 1) == 0


def test_what_nobody_uses_is_let_go_of() -> None:
    manager = _manager()
    manager.put(ClientEntity("", None), 100.0)
    for i in range(500):
        manager.record(ALICE, f"c{i}", 1, i)
    assert len(manager) == 500
    for i in range(500):
        manager.record(ALICE, f"d{i}", 1, KEPT_MS + 1000 + i)
    assert len(manager) == 500


def test_one_that_still_owes_is_not() -> None:
    manager = _manager(QuotaKind.CONTROLLER_MUTATION)
    manager.put(ClientEntity("", None), 1.0)
    assert manager.record(ALICE, "owes", 200, 0) == 0
    for i in range(10):
        manager.record(ALICE, f"c{i}", 1, KEPT_MS + i)
    assert manager.record(ALICE, "owes", 1, KEPT_MS) == 200_000 - 5000 - KEPT_MS


def test_there_is_a_most_of_them() -> None:
    manager = _manager(max_clients=10)
    manager.put(ClientEntity("", None), 100.0)
    manager.record(ALICE, "used", 1000, 0)
    for i in range(1000):
        manager.record(ALICE, f"c{i}", 1, i)
        assert manager.record(ALICE, "used", 0, i) > 0  # what is used stays
    assert len(manager) == 10


def test_metrics_tell_the_rate_and_the_average_throttle_time() -> None:
    manager = _manager()
    manager.put(ClientEntity("alice"), 100.0)
    manager.record(ALICE, "c", 800, 0)
    for wait_ms in (100, 300):
        manager.throttled(ALICE, "c", wait_ms, 0)
    assert list(manager.measurements(0)) == [(Tags("alice", ""), 200, 200)]
    assert list(manager.measurements(300_000)) == [(Tags("alice", ""), 0, 0)]


def test_what_was_used_can_be_forgotten() -> None:
    manager = _manager()
    manager.put(ClientEntity("alice"), 100.0)
    assert manager.record(ALICE, "c", 1000, 0) == 6000
    manager.forget()
    assert len(manager) == 0
    assert manager.record(ALICE, "c", 400, 1) == 0

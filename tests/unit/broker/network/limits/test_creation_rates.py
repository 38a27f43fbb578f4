"""CreationRate, in a time of its own."""

from __future__ import annotations

import pytest

from broker.network.limits.creation_rates import UNLIMITED_RATE, CreationRate, no_ip_delay
from broker.quotas.sampled_rate import Window

FIVE_SECONDS = Window(5, 1000)


def test_without_a_limit_nobody_waits():
    rate = CreationRate(FIVE_SECONDS)
    assert rate.limit == UNLIMITED_RATE
    assert [rate.count(0.0) for _ in range(1000)] == [0.0] * 1000


def test_a_burst_of_a_window_passes_and_then_the_rate_holds():
    """Kafka with 5 a second and a window of 5 s: 20 at once, then 5 a second."""
    rate, now_ms = CreationRate(FIVE_SECONDS, 5), 0.0
    taken_ms = []
    for _ in range(420):
        now_ms += rate.count(now_ms)
        taken_ms.append(now_ms)
    assert taken_ms[:20] == [0.0] * 20
    assert taken_ms[20:25] == pytest.approx([200, 400, 600, 800, 1000])
    assert 5 * 0.95 <= 400 / (taken_ms[-1] / 1000) <= 5 * 1.1


# When an Apache Kafka with 5 a second and a window of 5 s had answered on each of 60
# connections that one client made one after the other.
KAFKA_MS = [
    6, 17, 19, 22, 24, 25, 32, 36, 38, 40, 44, 46, 48, 50, 53, 56, 58, 61, 65, 67, 205, 407, 602,
    802, 1004, 2008, 3010, 4019, 5022, 6002, 6003, 6005, 6009, 6015, 6019, 6021, 6022, 6023, 6025,
    6027, 6030, 6032, 6034, 6036, 6041, 6043, 6212, 6410, 6611, 6810, 7017, 8020, 9023,
]  # fmt: skip


def test_connections_wait_as_long_as_in_kafka():
    rate, now_ms = CreationRate(FIVE_SECONDS, 5), 0.0
    taken_ms = []
    for _ in KAFKA_MS:
        now_ms += rate.count(now_ms)
        taken_ms.append(now_ms)
    assert taken_ms == pytest.approx(KAFKA_MS, abs=70)


def test_a_wait_is_one_slice_at_most():
    rate = CreationRate(FIVE_SECONDS, 1)
    for _ in range(50):
        wait_ms = rate.count(0.0)
    assert wait_ms == 1000


def test_a_limit_of_nothing_is_the_longest_wait():
    assert CreationRate(FIVE_SECONDS, 0).count(0.0) == 1000


def test_a_limit_may_change():
    rate = CreationRate(FIVE_SECONDS)
    for _ in range(21):
        rate.count(0.0)
    rate.set_limit(5)
    assert rate.count(0.0) == 400
    rate.set_limit(6)
    assert rate.count(0.0) == 0


def test_what_is_taken_back_does_not_count():
    rate = CreationRate(FIVE_SECONDS, 1)
    for _ in range(100):
        assert rate.count(0.0) == 0
        rate.take_back(0.0)


def test_without_quotas_of_addresses_nobody_is_left_alone():
    assert no_ip_delay("127.0.0.1", 0.0) == 0

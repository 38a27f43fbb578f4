from __future__ import annotations

import pytest

from broker.quotas.throttle_times import ThrottleTimes


def test_it_is_the_average_of_the_last_minute() -> None:
    times = ThrottleTimes()
    assert times.average_ms(1_000) == 0
    times.record(100, 1_000)
    times.record(300, 2_000)
    assert times.average_ms(2_000) == pytest.approx(200)
    times.record(800, 40_000)
    assert times.average_ms(40_000) == pytest.approx(400)
    assert times.average_ms(70_000) == pytest.approx(800), "the first two are too long ago"
    assert times.average_ms(200_000) == 0

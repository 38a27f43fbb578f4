from __future__ import annotations

import math

from broker.share.state.share_metrics import WINDOW_MS, RecentTimes


def test_times_count_for_one_to_two_windows() -> None:
    times = RecentTimes()
    assert math.isnan(times.average_ms(0)) and math.isnan(times.highest_ms(0))
    times.record(0, 4)
    times.record(WINDOW_MS - 1, 2)
    times.record(WINDOW_MS, 9)
    assert (times.average_ms(WINDOW_MS), times.highest_ms(WINDOW_MS)) == (5, 9)
    assert times.average_ms(2 * WINDOW_MS) == 9, "the first window is too old"
    assert math.isnan(times.highest_ms(5 * WINDOW_MS))
    times.record(9 * WINDOW_MS, 1)
    assert times.average_ms(9 * WINDOW_MS) == 1

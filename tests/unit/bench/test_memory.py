"""The slope of memory, and what of the readings counts."""

from __future__ import annotations

import pytest

from bench.memory import Reading, settled, slope_mb_per_minute


def test_the_slope_is_in_megabytes_a_minute() -> None:
    readings = [Reading(at_s, 40 + at_s / 60) for at_s in range(0, 121, 10)]  # 1 MiB a minute
    assert slope_mb_per_minute(readings) == pytest.approx(1.048576)
    assert slope_mb_per_minute([Reading(at, 40) for at in range(5)]) == 0


def test_what_comes_and_goes_is_no_growth() -> None:
    readings = [Reading(at_s, 40 + at_s % 2) for at_s in range(601)]
    assert abs(slope_mb_per_minute(readings)) < 0.01


def test_the_first_third_does_not_count() -> None:
    readings = [Reading(at_s, min(at_s, 30)) for at_s in range(91)]
    assert [one.at_s for one in settled(readings)][0] == 30
    assert slope_mb_per_minute(settled(readings)) == 0

"""What the choices mean: none destroys data, and more is more."""

from __future__ import annotations

import pytest

from simulation.faults.faults import DESTROYING, weights
from simulation.users.fault_choices import CHOICES, faults_of, weather_of


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.parametrize("choice", CHOICES)
def test_no_choice_destroys_data(choice: str, brokers: int) -> None:
    kinds = weights(faults_of(choice, brokers))
    assert not any(kind in kinds for kind in (*DESTROYING, "disk_error", "disk_full"))
    assert brokers > 1 or not any("leader" in kind or "isolate" in kind for kind in kinds)


def test_many_are_more_than_some() -> None:
    assert faults_of("many", 3).mean_interval_ms < faults_of("some", 3).mean_interval_ms
    assert weather_of("many").cut_chance > weather_of("some").cut_chance > 0.0
    assert weather_of("none").cut_chance == weather_of("none").dumb_chance == 0.0

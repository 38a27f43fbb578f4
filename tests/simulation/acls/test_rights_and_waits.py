"""Seeds that found something where rights change while a fetch waits."""

from __future__ import annotations

import pytest

from tests.simulation.simulation import Simulation

pytestmark = pytest.mark.slow


def test_a_reader_that_has_lost_its_right_is_not_woken_by_what_it_may_not_read() -> None:
    """One of several topics of its session is denied: that ends no wait, as in Kafka."""
    assert Simulation(300616, brokers=3).run().judged.denied

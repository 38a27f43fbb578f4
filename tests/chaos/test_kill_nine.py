"""`kill -9` in mid-load, eight times: whatever was acknowledged is there, and start-up says so.

`python -m tests.chaos.kill_run --kills 200` is the same for longer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing.broker_process import BrokerProcess
from tests.chaos import kill_run

KILLS = 8


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    with BrokerProcess() as process:
        yield process


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost(broker: BrokerProcess) -> None:
    report = kill_run.run(broker, KILLS, seed=9)
    assert report.kills == KILLS
    assert broker.stop() == 0

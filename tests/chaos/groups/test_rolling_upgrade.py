"""A live group of two is upgraded under load, and goes back: nothing committed is read again.

`python -m tests.chaos.groups.rolling_upgrade` is the same with ten, beside Apache Kafka.
"""

from __future__ import annotations

import pytest

from tests.chaos.groups import rolling_upgrade
from tests.tools.cluster_processes import OTTLA


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_two_members_go_there_and_back() -> None:
    report = rolling_upgrade.measure(
        OTTLA, members=2, rest_s=0.2, group_consumer_assignment_interval_ms="0"
    )
    assert (report.read_again, report.skipped) == ([], [])
    assert report.records > 0
    # A stage in which nobody got a record in time has none to tell of.
    assert set(report.pauses) <= {
        "first assignment",
        "all classic",
        "to consumer",
        "all consumer",
        "to classic",
    }
    assert report.pauses
    assert set(report.steps_s) == {"classic", "consumer"}

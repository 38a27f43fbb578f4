"""A live group of three is upgraded under load, and goes back: nothing committed is read again.

`python -m tests.chaos.groups.rolling_upgrade` is the same with ten, beside Apache Kafka.
"""

from __future__ import annotations

import pytest

from tests.chaos.groups import rolling_upgrade
from tests.tools.client_leaks import CLIENTS_LEAVE_THINGS_OPEN
from tests.tools.cluster_processes import OTTLA

pytestmark = [*CLIENTS_LEAVE_THINGS_OPEN]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_three_members_go_there_and_back() -> None:
    report = rolling_upgrade.measure(OTTLA, members=3)
    assert report.read_again == []
    assert report.records > 0
    assert set(report.pauses) == {
        f"{place}-{protocol}" for place in range(3) for protocol in ("classic", "consumer")
    }

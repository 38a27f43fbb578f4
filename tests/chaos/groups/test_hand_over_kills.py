"""The coordinator is killed at each point of a hand-over: nothing is with two, or lost.

`python -m tests.chaos.groups.hand_over_kills --kills 50` is the same for longer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.groups import hand_over_kills
from tests.chaos.groups.consumer_member import POINTS
from tests.chaos.replicas import logged_faults
from tests.tools.cluster_processes import ClusterProcesses


@pytest.fixture
def cluster() -> Iterator[ClusterProcesses]:
    with ClusterProcesses(3, properties=hand_over_kills.PROPERTIES) as running:
        yield running
        assert running.unexpected_deaths() == []
        assert [logged_faults(node.log_text()) for node in running.nodes.values()] == [[], [], []]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_kill_at_each_point_of_a_hand_over(cluster: ClusterProcesses) -> None:
    report = hand_over_kills.run(cluster, len(POINTS), seed=9)
    assert report.kills == dict.fromkeys(POINTS, 1)
    assert report.commits > len(POINTS)

"""The coordinator is killed in a hand-over: nothing is with two, or lost.

`python -m tests.chaos.groups.hand_over_kills --kills 50` is the same at each point, for longer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.groups import hand_over_kills
from tests.chaos.replicas import logged_faults
from tests.tools.cluster_processes import ClusterProcesses

STRUCK_AT = ("last-commit-sent", "given-up")


@pytest.fixture
def cluster() -> Iterator[ClusterProcesses]:
    with ClusterProcesses(3, properties=hand_over_kills.PROPERTIES) as running:
        yield running
        assert running.unexpected_deaths() == []
        assert [logged_faults(node.log_text()) for node in running.nodes.values()] == [[], [], []]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_kill_before_and_after_what_is_given_up(cluster: ClusterProcesses) -> None:
    report = hand_over_kills.run(cluster, STRUCK_AT, seed=9)
    assert report.kills == dict.fromkeys(STRUCK_AT, 1)
    assert report.hand_overs > hand_over_kills.PARTITIONS
    assert report.commits > hand_over_kills.PARTITIONS

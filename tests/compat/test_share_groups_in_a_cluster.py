"""Java's share consumer in a cluster, where a group's coordinator, the coordinator of its state and
the leaders of its partitions are different nodes: all Ottla's, or one of them Kafka's."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.compat.share_rounds import SEEN
from tests.tools.cluster_processes import KAFKA, ClusterProcesses
from tests.tools.java_tools import run_program

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(600)]

PROPERTIES = {
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
}
ROUNDS = 2
"""Each has new groups and topics, which fall on other nodes."""


@pytest.mark.parametrize("others", [{}, {3: KAFKA}], ids=["ottla", "beside-kafka"])
def test_the_scripts_see_what_they_see_on_one_node(others: Mapping[int, str]) -> None:
    with ClusterProcesses(3, others=others, properties=PROPERTIES) as cluster:
        for _ in range(ROUNDS):
            done = run_program("ShareRounds", cluster.bootstrap, timeout=250)
            assert done.returncode == 0, done.stdout + done.stderr
            assert done.stdout == SEEN

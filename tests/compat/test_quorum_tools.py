"""Kafka's own tools on a dynamic quorum: controllers join it, leave it and are forgotten.

KIP-853 and KIP-1312. With `--broker=apache-kafka` the same against Apache Kafka, which shows that
the expectations are Kafka's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses
from tests.tools.kafka_tools import KafkaTools, ToolResult
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.java

ROLES = ("broker,controller", "controller")


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterProcesses]:
    """Node 1 is the only voter, node 2 observes."""
    peer = KAFKA if request.config.getoption("--broker") == "apache-kafka" else OTTLA
    with ClusterProcesses(2, peer=peer, roles=ROLES, voters=[1]) as running:
        yield running
        assert running.unexpected_deaths() == []


def members(tools: KafkaTools) -> dict[str, list[str]]:
    """Return the quorum's members by id: the columns after the id."""
    lines = tools("kafka-metadata-quorum", "describe", "--replication").lines[1:]
    return {line.split()[0]: line.split()[1:] for line in lines}


def registered(cluster: ClusterProcesses, tools: KafkaTools) -> list[str]:
    """Return the ids of the registered controllers."""
    at = ("--bootstrap-controller", f"127.0.0.1:{cluster.nodes[1].controller_port}")
    lines = tools.run("kafka-cluster", "list-endpoints", *at).lines[1:]
    return sorted(line.split()[0] for line in lines)


def unregister(cluster: ClusterProcesses, tools: KafkaTools, node_id: int) -> ToolResult:
    words = ("unregister-controller", "--bootstrap-server", cluster.bootstrap)
    return tools.run("kafka-cluster", *words, "--id", str(node_id))


@pytest.mark.timeout(300)
def test_a_controller_joins_leaves_and_is_forgotten(cluster: ClusterProcesses) -> None:
    with KafkaTools(cluster.bootstrap) as tools:
        wait_until(lambda: "2" in members(tools), "an observer", pause_s=0.2)
        added = tools(
            "kafka-metadata-quorum",
            *("--command-config", str(cluster.nodes[2].config_file), "add-controller"),
        )
        assert added.lines[0].startswith("Added controller 2 with directory id "), added
        directory, *_, role = members(tools)["2"]
        assert role == "Follower"

        of_the_second = ("--controller-id", "2", "--controller-directory-id", directory)
        removed = tools(
            "kafka-metadata-quorum", "remove-controller", *of_the_second, "--unregister"
        )
        assert removed.lines == [
            f"Removed KRaft controller 2 with directory id {directory}",
            "Unregistered KRaft controller 2",
        ]
        # It runs on, so it registers again.
        wait_until(lambda: registered(cluster, tools) == ["1", "2"], "a registration", pause_s=0.2)
        cluster.terminate(2)
        assert unregister(cluster, tools, 2).lines == ["Controller 2 is no longer registered."]
        wait_until(lambda: registered(cluster, tools) == ["1"], "no registration", pause_s=0.2)

        again = unregister(cluster, tools, 2)
        assert "Controller ID 2 is not currently registered." in again.stderr, again
        active = unregister(cluster, tools, 1)
        assert "Controller cannot unregister itself while it is active." in active.stderr, active

"""What a cluster's terminal shows: each state, each change once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from client.cluster_status import BrokerState, ClusterStatus, QuorumState, VoterState
from command.cluster_display import (
    ClusterDisplay,
    NodeState,
    NodeView,
    colour_of,
    exit_reason,
)
from command.cluster_layout import new_layout


def view(brokers: int = 3) -> ClusterDisplay:
    layout = new_layout(brokers)
    nodes = {
        node.node_id: NodeView(
            node, 100 + node.node_id, f"ottla serve --config c/broker-{node.node_id}", "c/log"
        )
        for node in layout.nodes
    }
    return ClusterDisplay(layout, nodes)


def status(leader: int, fenced: int | None = None) -> ClusterStatus:
    brokers = [BrokerState(one, "localhost", 9091 + one, None, one == fenced) for one in (1, 2, 3)]
    quorum = QuorumState(leader, 4, 10, [VoterState(one, 0, 0) for one in (1, 2, 3)], [])
    return ClusterStatus("id", brokers, quorum, 0, 0, [], [], [])


def set_all(shown: ClusterDisplay, state: NodeState) -> None:
    for one in shown.nodes.values():
        one.state = state


def test_each_change_is_one_line_and_said_once() -> None:
    shown = view()
    assert shown.changes() == [], "that a node starts is no news"
    shown.nodes[2].state = NodeState.SERVING
    assert shown.changes() == ["ottla: node 2 serves on port 9093 (process 102)"]
    assert shown.changes() == []


def test_a_node_that_has_left_is_told_once_and_may_come_back() -> None:
    shown = view()
    set_all(shown, NodeState.SERVING)
    shown.changes()
    node = shown.nodes[3]
    shown.remove(3)
    shown.layout = shown.layout.without(3)
    assert shown.changes() == [
        "ottla: node 3 has left the cluster",
        "ottla: the cluster is ready: bootstrap servers localhost:9092,localhost:9093",
    ]
    assert shown.changes() == []
    shown.nodes[3] = node
    assert "ottla: node 3 serves on port 9094 (process 103)" in shown.changes()


def test_the_bootstrap_servers_are_said_when_all_serve() -> None:
    shown = view(2)
    shown.nodes[1].state = NodeState.SERVING
    assert not any("bootstrap" in line for line in shown.changes())
    shown.nodes[2].state = NodeState.SERVING
    assert shown.changes()[-1] == (
        "ottla: the cluster is ready: bootstrap servers localhost:9092,localhost:9093"
    )


def test_a_dead_node_is_told_with_its_reason_and_the_way_back() -> None:
    shown = view()
    set_all(shown, NodeState.SERVING)
    shown.changes()
    shown.nodes[2].state, shown.nodes[2].exit_code = NodeState.DEAD, -9
    assert shown.changes() == [
        "ottla: node 2 is dead (killed by SIGKILL, see c/log); start it again with: "
        "ottla serve --config c/broker-2"
    ]
    table = shown.table()
    assert "dead, killed by SIGKILL" in table[1] and "process" not in table[1]
    assert table[4] == "    ottla serve --config c/broker-2"
    shown.nodes[2].exit_code, shown.nodes[2].last_words = 2, "port 9093 is taken"
    assert "dead (exit code 2: port 9093 is taken); start" in shown.changes()[0]


def test_the_cluster_speaks_for_itself() -> None:
    shown = view()
    set_all(shown, NodeState.SERVING)
    shown.changes()
    shown.status = status(leader=3)
    assert shown.changes() == [
        "ottla: node 3 is the active controller, epoch 4",
        "ottla: the cluster is healthy",
    ]
    assert "broker, controller (active)" in shown.table()[2]
    shown.status = status(leader=3, fenced=2)
    assert shown.changes() == ["ottla: the cluster is degraded: broker 2 fenced"]
    assert shown.table()[1].endswith("fenced")
    assert shown.table()[-1].startswith("bootstrap servers localhost:9092,")
    shown.status = replace(status(leader=3), quorum=None)
    lost = "the cluster is degraded: the quorum is lost, no active controller answers"
    assert shown.changes() == ["ottla: no active controller answers", f"ottla: {lost}"]
    assert shown.table()[-2] == lost
    shown.status, shown.unanswered = None, True
    assert shown.changes() == ["ottla: the cluster is degraded: no node answers"]
    assert shown.table()[-2] == "the cluster is degraded: no node answers"


def test_what_is_well_is_green_and_what_lacks_is_red() -> None:
    shown = view()
    set_all(shown, NodeState.SERVING)
    shown.status = status(leader=3)
    assert [colour_of(line) for line in shown.table()] == [None, None, None, "green", None]
    shown.status = status(leader=3, fenced=2)
    assert [colour_of(line) for line in shown.table()] == [None, "red", None, "red", None]
    shown.nodes[2].state, shown.nodes[2].exit_code = NodeState.DEAD, -9
    assert [colour_of(line) for line in shown.table()][:4] == [None, "red", None, None]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (NodeState.STOPPING, "node 1 is stopping"),
        (NodeState.STOPPED, "node 1 stopped"),
        (NodeState.ELSEWHERE, "node 1 was started again by hand"),
    ],
)
def test_the_other_states(state: NodeState, words: str) -> None:
    shown = view(1)
    shown.nodes[1].state, shown.nodes[1].exit_code = state, 0
    assert words in shown.changes()[0]


def test_a_node_that_did_not_stop_cleanly() -> None:
    shown = view(1)
    shown.nodes[1].state, shown.nodes[1].exit_code = NodeState.STOPPED, -9
    assert shown.changes() == ["ottla: node 1 stopped, killed by SIGKILL"]
    assert exit_reason(-35) == "killed by signal 35" and exit_reason(1) == "exit code 1"


def test_brokers_stop_first_and_the_active_controller_last() -> None:
    shown = view(7)
    assert shown.stop_order() == [[6, 7], [1], [2], [3], [4], [5]]
    shown.status = status(leader=2)
    assert shown.stop_order() == [[6, 7], [1], [3], [4], [5], [2]]
    del shown.nodes[7], shown.nodes[5]
    assert shown.stop_order() == [[6], [1], [3], [4], [2]]

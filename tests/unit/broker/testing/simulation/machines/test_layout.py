"""Which nodes there are, and what that sets for each."""

from __future__ import annotations

from broker.testing.simulation.machines.layout import Layout


def test_one_node_needs_nothing() -> None:
    assert Layout().brokers == 1 and Layout().properties(1) == {}


def test_combined_nodes_are_both() -> None:
    layout = Layout.combined(3)
    found = layout.properties(2)
    assert layout.brokers == 3 and found["process.roles"] == "broker,controller"
    assert found["listeners"] == "PLAINTEXT://broker-2:9092,CONTROLLER://broker-2:9093"
    voters = [f"{one}@broker-{one}:9093" for one in (1, 2, 3)]
    assert found["controller.quorum.voters"] == ",".join(voters)


def test_controllers_apart_have_no_listener_for_clients() -> None:
    layout = Layout.apart(2, 1)
    assert layout.brokers == 2
    assert layout.properties(101)["listeners"] == "CONTROLLER://broker-101:9093"
    assert layout.properties(1)["listeners"] == "PLAINTEXT://broker-1:9092"
    assert layout.properties(1)["controller.quorum.voters"] == "101@broker-101:9093"

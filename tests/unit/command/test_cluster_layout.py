"""The layout of a cluster on one machine: roles, ports, files that are configurations."""

from __future__ import annotations

import re

import pytest

from broker.config.parse import parse_config
from broker.config.properties import parse_properties
from command.cluster_layout import (
    BROKERS_MAX,
    PORTS,
    ClusterLayout,
    grown,
    moved,
    new_layout,
    replication_changes,
    with_keys,
)


def keys(layout: ClusterLayout, node_id: int) -> dict[str, str]:
    return parse_properties(layout.properties(layout.node(node_id), f"/c/{node_id}"))


@pytest.mark.parametrize("brokers", range(1, BROKERS_MAX + 1))
def test_every_file_is_a_configuration_without_a_warning(brokers: int) -> None:
    layout = new_layout(brokers, 20_000)
    for node in layout.nodes:
        config = parse_config(parse_properties(layout.properties(node, f"/c/{node.node_id}")))
        assert config.warnings == ()
        assert config.node_id == node.node_id
        assert config.is_controller == (node.node_id in layout.controllers)
        assert config.log_dirs == (f"/c/{node.node_id}",)
        assert [voter.node_id for voter in config.controller_quorum_voters] == layout.controllers
        assert config.default_replication_factor == min(brokers, 3)
        assert config.min_insync_replicas == (2 if brokers >= 3 else 1)


@pytest.mark.parametrize("brokers", range(1, BROKERS_MAX + 1))
def test_the_file_of_a_dynamic_quorum_has_addresses_of_controllers(brokers: int) -> None:
    layout = new_layout(brokers, 20_000, is_dynamic=True)
    for node in layout.nodes:
        config = parse_config(keys(layout, node.node_id))
        assert config.warnings == () and config.controller_quorum_voters == ()
        assert config.controller_quorum_bootstrap_servers == tuple(
            f"localhost:{20_009 + node_id}" for node_id in layout.controllers
        )


def test_the_number_of_controllers_is_odd_and_at_most_five() -> None:
    counts = [len(new_layout(brokers).controllers) for brokers in range(1, BROKERS_MAX + 1)]
    assert counts == [1, 1, 3, 3, 5, 5, 5, 5, 5]


def test_no_two_nodes_share_a_port_and_all_are_within_the_range() -> None:
    layout = new_layout(BROKERS_MAX, 9092)
    ports = [node.port for node in layout.nodes]
    ports += [node.controller_port for node in layout.nodes if node.controller_port is not None]
    assert len(dict.fromkeys(ports)) == len(ports)
    assert min(ports) == 9092 and max(ports) < 9092 + PORTS
    assert layout.bootstrap_servers.startswith("localhost:9092,localhost:9093,")


def test_a_fourth_node_joins_as_a_broker_and_the_voters_stay() -> None:
    three = new_layout(3, 9092)
    four = grown(three, 4)
    assert list(four.nodes[:3]) == list(three.nodes)
    assert four.nodes[3].port == 9095 and four.nodes[3].controller_port is None
    assert four.quorum_voters == three.quorum_voters


def test_a_node_that_joins_gets_the_lowest_free_id() -> None:
    left = new_layout(3, 9092, is_dynamic=True).without(2)
    after = grown(left, 4)
    assert [node.node_id for node in after.nodes] == [1, 2, 3, 4]
    assert [node.port for node in after.nodes] == [9092, 9093, 9094, 9095]
    assert after.controllers == [1, 3] and after.is_dynamic


def test_controllers_of_a_dynamic_quorum_keep_their_ports_as_the_metadata_has_them() -> None:
    layout = moved(new_layout(3, 9092, is_dynamic=True), 30_000)
    assert [node.port for node in layout.nodes] == [30_000, 30_001, 30_002]
    assert layout.quorum_bootstrap_servers == "localhost:9102,localhost:9103,localhost:9104"
    alone = moved(new_layout(2, 9092, is_dynamic=True), 30_000)
    assert alone.quorum_bootstrap_servers == "localhost:30010", "it tells the others itself"


def test_numbers_of_replicas_follow_the_nodes_unless_the_user_has_chosen_others() -> None:
    of_one, of_three = (keys(new_layout(nodes), 1) for nodes in (1, 3))
    assert replication_changes(of_one, 1) == {}
    changes = replication_changes(of_one, 3)
    assert {**of_one, **changes}["default.replication.factor"] == "3"
    assert all(of_three[name] == value for name, value in changes.items())
    assert replication_changes(of_three, 9) == {}
    assert replication_changes(of_three, 2)["min.insync.replicas"] == "1"
    assert replication_changes({**of_three, "min.insync.replicas": "1"}, 1) == {}


def test_a_moved_cluster_keeps_its_roles() -> None:
    layout = moved(new_layout(4, 9092), 30_000)
    assert [node.port for node in layout.nodes] == [30_000, 30_001, 30_002, 30_003]
    assert layout.controllers == [1, 2, 3]
    assert layout.quorum_voters.startswith("1@localhost:30010,")


def test_keys_are_set_in_place_and_the_rest_stays() -> None:
    text = "# mine\nlisteners = OLD\nmy.listeners=kept\n\n#listeners=shown\n"
    changed = with_keys(text, {"listeners": "NEW\\1", "log.dirs": "/new"})
    assert changed == (
        "# mine\nlisteners=NEW\\1\nmy.listeners=kept\n\n#listeners=shown\nlog.dirs=/new\n"
    )


def test_every_key_has_a_line_that_says_why() -> None:
    layout = new_layout(3)
    lines = layout.properties(layout.nodes[0], "/c").splitlines()
    for number, line in enumerate(lines):
        if re.match(r"[a-z.]+=", line):
            assert re.match(r"# [A-Z]", lines[number - 1]), line

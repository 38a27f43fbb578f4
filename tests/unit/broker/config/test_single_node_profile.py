"""The profile that applies without a file is safe and whole."""

from __future__ import annotations

import pytest

from broker.config.parse import parse_config, single_node_config
from broker.config.single_node_profile import SINGLE_NODE_PROFILE


def test_it_starts_as_it_is_and_listens_on_this_machine_only() -> None:
    config = parse_config(SINGLE_NODE_PROFILE)
    assert [one.host for one in config.listeners] == ["localhost", "localhost"]
    assert config.listeners[0].port == 9092
    assert config.is_broker and config.is_controller


def test_moving_the_listener_keeps_a_controller() -> None:
    config = single_node_config({"listeners": "PLAINTEXT://localhost:0", "node.id": "3"})
    assert [str(one) for one in config.listeners] == [
        "PLAINTEXT://localhost:0",
        "CONTROLLER://localhost:0",
    ]
    assert [voter.node_id for voter in config.controller_quorum_voters] == [3]
    own = {"listeners": "PLAINTEXT://localhost:1,CONTROLLER://localhost:2"}
    assert [one.port for one in single_node_config(own).listeners] == [1, 2]


VOTERS = "controller.quorum.voters"


@pytest.mark.parametrize(
    ("overrides", "controller", "voter"),
    [
        ({}, None, "localhost:0"),
        ({"listeners": "PLAINTEXT://:9096"}, None, "localhost:0"),
        ({"listeners": "PLAINTEXT://:1,controller://b:9097"}, "b:9097", "b:9097"),
        ({"listeners": "PLAINTEXT://:1,CONTROLLER://:9097"}, ":9097", "localhost:9097"),
        ({"listeners": "PLAINTEXT://:1,CONTROLLER://[::]:9097"}, "[::]:9097", "localhost:9097"),
        ({VOTERS: "1@localhost:9097"}, "localhost:9097", "localhost:9097"),
        ({VOTERS: "1@b:9097", "listeners": "PLAINTEXT://:1"}, "localhost:9097", "b:9097"),
    ],
)
def test_a_controller_listener_is_opened_where_somebody_said_where(
    overrides: dict[str, str], controller: str | None, voter: str
) -> None:
    config = single_node_config(overrides)
    (listener,) = config.controller_listeners
    assert config.opens_controller_listeners == (controller is not None)
    assert str(listener) == f"CONTROLLER://{controller or 'localhost:0'}"
    (own,) = config.controller_quorum_voters
    assert f"{own.host}:{own.port}" == voter


def test_a_file_opens_what_it_names() -> None:
    assert parse_config(SINGLE_NODE_PROFILE).opens_controller_listeners

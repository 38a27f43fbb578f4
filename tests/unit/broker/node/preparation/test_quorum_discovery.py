"""Who votes, found out by a node whose configuration names bootstrap servers only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from broker.config.endpoints import QuorumVoter
from broker.config.parse import parse_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.quorum_discovery import ask_for_voters, with_known_voters
from broker.node.preparation.storage_folders import format_storage, open_storage
from controller.raft.quorum_state import ElectionState, encode_quorum_state
from ground.config_def import ConfigError
from ground.filesystem import LocalFilesystem

FILESYSTEM = LocalFilesystem()
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
HERE = "localhost:9093"


def config(folder: Path, servers: str = HERE, roles: str = "broker,controller") -> BrokerConfig:
    listeners = {"broker": "PLAINTEXT://:9092", "controller": "CONTROLLER://:9093"}
    return parse_config(
        {
            "process.roles": roles,
            "node.id": "4",
            "controller.quorum.bootstrap.servers": servers,
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners[role] for role in roles.split(",")),
            "log.dirs": str(folder),
        }
    )


@pytest.mark.parametrize("roles", ["broker,controller", "controller"])
def test_a_controller_that_names_itself_alone_is_its_quorum_and_the_log_says_so(
    tmp_path: Path, roles: str
) -> None:
    found = with_known_voters(config(tmp_path, roles=roles), FILESYSTEM)
    assert found is not None
    assert found.controller_quorum_voters == (QuorumVoter(4, "localhost", 9093),)
    assert "controller.quorum.voters" not in found.originals
    format_storage(found, FILESYSTEM, os.urandom, 1, CLUSTER)
    assert open_storage(found, FILESYSTEM, os.urandom, 2).cluster_id == CLUSTER
    again = with_known_voters(config(tmp_path, "elsewhere:1,other:2", roles), FILESYSTEM)
    assert again is not None
    assert again.controller_quorum_voters == found.controller_quorum_voters


@pytest.mark.parametrize("servers", ["localhost:9093,b:9093", "localhost:9094", "192.0.2.200:9093"])
def test_a_controller_of_others_is_refused_in_one_line(tmp_path: Path, servers: str) -> None:
    with pytest.raises(StartError) as refused:
        with_known_voters(config(tmp_path, servers), FILESYSTEM)
    assert str(refused.value) == (
        f"{tmp_path} is not formatted, and controller.quorum.bootstrap.servers={servers} is not "
        "this node alone: set controller.quorum.voters=ID@HOST:PORT for each controller"
    )


def test_a_static_quorum_of_three_does_not_become_one_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "quorum-state").write_bytes(encode_quorum_state(ElectionState(5), (3, 4, 5)))
    with pytest.raises(StartError, match="is not this node alone: set controller.quorum.voters"):
        with_known_voters(config(tmp_path), FILESYSTEM)
    (folder / "quorum-state").write_bytes(encode_quorum_state(ElectionState(5), (4,)))
    assert with_known_voters(config(tmp_path), FILESYSTEM) is not None


def test_a_crash_within_the_format_leaves_what_can_be_formatted(tmp_path: Path) -> None:
    found = with_known_voters(config(tmp_path), FILESYSTEM)
    assert found is not None
    format_storage(found, FILESYSTEM, os.urandom, 1, CLUSTER)
    (tmp_path / "meta.properties").unlink()
    format_storage(found, FILESYSTEM, os.urandom, 1, CLUSTER)
    (tmp_path / "meta.properties").unlink()
    (tmp_path / "__cluster_metadata-0" / f"{0:020d}.log").write_bytes(b"records")
    with pytest.raises(StartError, match="is not a data folder"):
        format_storage(found, FILESYSTEM, os.urandom, 1, CLUSTER)


def test_a_broker_has_to_ask(tmp_path: Path) -> None:
    one = config(tmp_path, "localhost:1", "broker")
    assert with_known_voters(one, FILESYSTEM) is None
    told: list[tuple[str, int]] = []
    found = ask_for_voters(one, could_not=lambda host, port, _: told.append((host, port)))
    assert found is None, "nobody listens there"
    assert told == [("localhost", 1)]


@pytest.mark.parametrize("servers", ["localhost", "localhost:0", "localhost:70000", "1@a:1"])
def test_what_is_no_server(tmp_path: Path, servers: str) -> None:
    with pytest.raises(ConfigError, match="It is not host:port"):
        config(tmp_path, servers)

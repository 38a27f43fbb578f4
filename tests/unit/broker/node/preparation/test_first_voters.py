"""The voters that a new quorum begins with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from broker.config.endpoints import QuorumVoter
from broker.config.parse import parse_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.first_voters import (
    AS_CONFIGURED,
    FirstVoters,
    first_voters,
    with_static_voter,
)
from broker.node.preparation.storage_folders import format_storage, open_storage
from controller.raft.quorum_state import ElectionState, encode_quorum_state
from controller.raft.quorum_voters import voters_on_disk
from controller.voter_set import ReplicaKey
from ground.config_def import ConfigError
from ground.filesystem import LocalFilesystem
from protocol.primitives import uuid_from_string

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


def directory() -> bytes:
    return b"d" * 16


@pytest.mark.parametrize("roles", ["broker,controller", "controller"])
@pytest.mark.parametrize("chosen", [AS_CONFIGURED, FirstVoters(standalone=True)])
def test_a_controller_alone_is_its_quorum_and_the_log_says_so(
    tmp_path: Path, roles: str, chosen: FirstVoters
) -> None:
    one = config(tmp_path, roles=roles)
    made = format_storage(one, FILESYSTEM, os.urandom, 1, CLUSTER, chosen=chosen)
    voters = voters_on_disk(FILESYSTEM, str(tmp_path))
    assert voters is not None
    assert voters.is_only(ReplicaKey(4, made.directory_ids[str(tmp_path)]))
    assert voters.address(4, "CONTROLLER") == ("localhost", 9093)
    assert open_storage(one, FILESYSTEM, os.urandom, 2).cluster_id == CLUSTER
    assert with_static_voter(one, FILESYSTEM) == one


@pytest.mark.parametrize("servers", ["localhost:9093,b:9093", "localhost:9094", "192.0.2.200:9093"])
def test_a_controller_of_others_needs_an_option(tmp_path: Path, servers: str) -> None:
    one = config(tmp_path, servers)
    with pytest.raises(StartError) as refused:
        first_voters(one, AS_CONFIGURED, directory)
    assert str(refused.value) == (
        f"{tmp_path} is not formatted, and controller.quorum.bootstrap.servers={servers} is not "
        "this node alone: use ottla format with --standalone, --initial-controllers or "
        "--no-initial-controllers, or set controller.quorum.voters=ID@HOST:PORT for each controller"
    )
    assert first_voters(one, FirstVoters(none=True), directory) is None
    assert first_voters(one, FirstVoters(standalone=True), directory) is not None
    assert first_voters(config(tmp_path, servers, "broker"), AS_CONFIGURED, directory) is None


def test_initial_controllers_have_the_directories_that_are_given(tmp_path: Path) -> None:
    text = "4@a:9093:JEXY6aqzQY-32P5TStzaFg, 5@[::1]:9094:MvDxzVmcRsaTz33bUuRU6A"
    one = config(tmp_path, "a:9093,b:9094")
    chosen = FirstVoters(initial_controllers=text)
    made = format_storage(one, FILESYSTEM, os.urandom, 1, CLUSTER, chosen=chosen)
    own = uuid_from_string("JEXY6aqzQY-32P5TStzaFg")
    assert made.directory_ids == {str(tmp_path): own}
    voters = voters_on_disk(FILESYSTEM, str(tmp_path))
    assert voters is not None and voters.ids == (4, 5)
    assert ReplicaKey(4, own) in voters
    assert voters.address(5, "CONTROLLER") == ("::1", 9094)


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (FirstVoters(standalone=True, none=True), "exclude each other"),
        (FirstVoters(initial_controllers="4@a:9093"), "4@a:9093 is not ID@HOST:PORT:DIRECTORY-ID"),
        (FirstVoters(initial_controllers=""), "an empty entry is not"),
        (
            FirstVoters(initial_controllers="5@a:1:JEXY6aqzQY-32P5TStzaFg"),
            "node 4, which is formatted, is not among them",
        ),
        (
            FirstVoters(
                initial_controllers="4@a:1:JEXY6aqzQY-32P5TStzaFg,4@b:1:MvDxzVmcRsaTz33bUuRU6A"
            ),
            "two controllers have the same node ID",
        ),
        (
            FirstVoters(
                initial_controllers="4@a:1:JEXY6aqzQY-32P5TStzaFg,5@b:1:JEXY6aqzQY-32P5TStzaFg"
            ),
            "two controllers have the same directory ID",
        ),
    ],
)
def test_what_cannot_be_chosen(tmp_path: Path, chosen: FirstVoters, text: str) -> None:
    with pytest.raises(StartError) as refused:
        first_voters(config(tmp_path), chosen, directory)
    assert text in str(refused.value) and "\n" not in str(refused.value)


def test_a_static_quorum_takes_no_such_option(tmp_path: Path) -> None:
    static = config(tmp_path)._replace(
        controller_quorum_voters=(QuorumVoter(4, "localhost", 9093),)
    )
    assert first_voters(static, AS_CONFIGURED, directory) is None
    with pytest.raises(StartError, match="remove controller.quorum.voters"):
        first_voters(static, FirstVoters(standalone=True), directory)
    with pytest.raises(StartError, match="--standalone is for a controller"):
        first_voters(config(tmp_path, roles="broker"), FirstVoters(standalone=True), directory)


def test_a_static_quorum_of_three_does_not_become_one_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "quorum-state").write_bytes(encode_quorum_state(ElectionState(5), (3, 4, 5)))
    with pytest.raises(StartError, match="the voters 3, 4, 5 of .* are static: set controller"):
        with_static_voter(config(tmp_path), FILESYSTEM)
    (folder / "quorum-state").write_bytes(encode_quorum_state(ElectionState(5), (4,)))
    alone = with_static_voter(config(tmp_path), FILESYSTEM)
    assert alone.controller_quorum_voters == (QuorumVoter(4, "localhost", 9093),)


def test_a_crash_within_the_format_leaves_what_can_be_formatted(tmp_path: Path) -> None:
    one = config(tmp_path)
    format_storage(one, FILESYSTEM, os.urandom, 1, CLUSTER)
    (tmp_path / "meta.properties").unlink()
    format_storage(one, FILESYSTEM, os.urandom, 1, CLUSTER)
    (tmp_path / "meta.properties").unlink()
    (tmp_path / "__cluster_metadata-0" / f"{0:020d}.log").write_bytes(b"records")
    with pytest.raises(StartError, match="is not a data folder"):
        format_storage(one, FILESYSTEM, os.urandom, 1, CLUSTER)


@pytest.mark.parametrize("servers", ["localhost", "localhost:0", "localhost:70000", "1@a:1"])
def test_what_is_no_server(tmp_path: Path, servers: str) -> None:
    with pytest.raises(ConfigError, match="It is not host:port"):
        config(tmp_path, servers)

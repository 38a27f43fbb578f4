"""The voters that a new dynamic quorum begins with (KIP-853).

`ottla format` records them in the first snapshot of the metadata log:

    --standalone               this controller alone
    --initial-controllers …    these controllers, with their directory ids
    --no-initial-controllers   none: this node joins a quorum that there is

Without such an option, a controller whose only bootstrap server is itself is a quorum of its own. A
node with `controller.quorum.voters` has a static quorum, whose metadata log names no voters.

Owns nothing. Never writes (`controller.storage_format`). Follows KIP-853 and Kafka's `StorageTool`
and `DynamicVoters`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.config.endpoints import QuorumVoter, parse_servers
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from controller.raft.quorum_state import QuorumStateError, decode_static_voters
from controller.raft.quorum_voters import KNOWN_KRAFT_VERSIONS, METADATA_FOLDER, voters_on_disk
from controller.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ground.filesystem import Filesystem
from protocol.primitives import uuid_from_string

OPTIONS = "--standalone, --initial-controllers or --no-initial-controllers"
_CONTROLLER = re.compile(r"(\d+)@\[?([0-9a-zA-Z\-%._:]+?)\]?:(\d+):([0-9a-zA-Z_-]{22})")
_EXAMPLE = "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg"


class FirstVoters(NamedTuple):
    """The choice of the first voters; by default the configuration decides."""

    standalone: bool = False
    initial_controllers: str | None = None
    """`ID@HOST:PORT:DIRECTORY-ID` for each controller, separated by commas."""
    none: bool = False


AS_CONFIGURED = FirstVoters()


def first_voters(
    config: BrokerConfig,
    chosen: FirstVoters,
    new_directory_id: Callable[[], bytes],
) -> VoterSet | None:
    """Return the voters to record; None: the metadata log begins without any.

    Raises StartError if the options contradict each other or the configuration, or if a controller
    would have no voters.
    """
    _check(config, chosen)
    if config.controller_quorum_voters or chosen.none:
        return None
    if chosen.initial_controllers is not None:
        return parse_initial_controllers(config, chosen.initial_controllers)
    if not config.is_controller:
        return None
    if not chosen.standalone and not _is_alone(config):
        raise StartError(
            f"{config.metadata_log_dir} is not formatted, and controller.quorum.bootstrap.servers="
            f"{','.join(config.controller_quorum_bootstrap_servers)} is not this node alone: use "
            f"ottla format with {OPTIONS}, or set controller.quorum.voters=ID@HOST:PORT for each "
            "controller"
        )
    return VoterSet((_own_voter(config, new_directory_id()),))


def with_static_voter(config: BrokerConfig, filesystem: Filesystem) -> BrokerConfig:
    """Return `config` with this node as its static voter, if its metadata log names no voters and
    its only bootstrap server is itself: before, it had itself in `controller.quorum.voters`.

    Raises StartError if it had other voters there, too. Raises OSError.
    """
    if config.controller_quorum_voters or not config.is_controller:
        return config
    path = f"{config.metadata_log_dir}/{METADATA_FOLDER}/quorum-state"
    if not filesystem.exists(path) or voters_on_disk(filesystem, config.metadata_log_dir):
        return config
    try:
        before = decode_static_voters(filesystem.read(path))
    except QuorumStateError as error:
        raise StartError(f"{path}: {error}") from error
    if not before:
        return config
    servers = parse_servers(config.controller_quorum_bootstrap_servers)
    if before != [config.node_id] or not _names_itself(config, servers):
        raise StartError(
            f"the voters {', '.join(map(str, before))} of {path} are static: set "
            "controller.quorum.voters=ID@HOST:PORT for each of them"
        )
    return config._replace(controller_quorum_voters=(QuorumVoter(config.node_id, *servers[0]),))


def _check(config: BrokerConfig, chosen: FirstVoters) -> None:
    """Raise StartError if the options contradict each other or the configuration."""
    names = [
        name
        for name, is_set in (
            ("--standalone", chosen.standalone),
            ("--initial-controllers", chosen.initial_controllers is not None),
            ("--no-initial-controllers", chosen.none),
        )
        if is_set
    ]
    if len(names) > 1:
        raise StartError(f"{names[0]} and {names[1]} exclude each other: give one of them")
    if config.controller_quorum_voters and names and not chosen.none:
        raise StartError(
            f"{names[0]} is for a dynamic quorum: remove controller.quorum.voters, and set "
            "controller.quorum.bootstrap.servers in its place"
        )
    if chosen.standalone and not config.is_controller:
        raise StartError("--standalone is for a controller: add controller to process.roles")


def parse_initial_controllers(config: BrokerConfig, text: str) -> VoterSet:
    """Return the voters in the value of --initial-controllers. Raises StartError."""
    listener = next(iter(config.controller_listener_names))
    voters = []
    for entry in text.split(","):
        match = _CONTROLLER.fullmatch(entry.strip())
        if match is None:
            raise StartError(
                f"--initial-controllers: {entry.strip() or 'an empty entry'} is not "
                f"ID@HOST:PORT:DIRECTORY-ID; write, for example, {_EXAMPLE}"
            )
        node_id, host, port, directory = match.groups()
        key = ReplicaKey(int(node_id), uuid_from_string(directory))
        endpoints = (VoterEndpoint(listener, host, int(port)),)
        voters.append(Voter(key, endpoints, KNOWN_KRAFT_VERSIONS))
    ids = [voter.key.id for voter in voters]
    directories = [voter.key.directory_id for voter in voters]
    for values, what in ((ids, "node ID"), (directories, "directory ID")):
        if len(set(values)) < len(values):
            raise StartError(f"--initial-controllers: two controllers have the same {what}")
    if config.is_controller and config.node_id not in ids:
        raise StartError(
            f"--initial-controllers: node {config.node_id}, which is formatted, is not among them: "
            "add it, or use --no-initial-controllers"
        )
    return VoterSet(tuple(voters))


def _own_voter(config: BrokerConfig, directory_id: bytes) -> Voter:
    """Return this controller as a voter, with its first controller listener."""
    listener = config.advertised_controller_listeners[0]
    endpoint = VoterEndpoint(listener.listener_name, listener.host or "localhost", listener.port)
    return Voter(ReplicaKey(config.node_id, directory_id), (endpoint,), KNOWN_KRAFT_VERSIONS)


def _is_alone(config: BrokerConfig) -> bool:
    """Return whether the only bootstrap server is this node."""
    return _names_itself(config, parse_servers(config.controller_quorum_bootstrap_servers))


def _names_itself(config: BrokerConfig, servers: Sequence[tuple[str, int]]) -> bool:
    """Return whether the only server is a controller listener of this node."""
    ports = [listener.port for listener in config.controller_listeners]
    return len(servers) == 1 and servers[0][1] in ports and _is_here(servers[0][0])


def _is_here(host: str) -> bool:
    """Return whether a name or address is this machine's: only then a socket can bind to it."""
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in addresses:
        try:
            with socket.socket(family, kind) as probe:
                probe.bind((address[0], 0, *address[2:]))
        except OSError:
            continue
        return True
    return False

"""Who votes, where the configuration names only `controller.quorum.bootstrap.servers`.

A node whose metadata log names the voters (kraft.version 1) takes those. A node with a controller's
role and an empty folder is its own quorum, where the only server named is itself; the format then
writes it down. A broker that knows nobody asks the servers named who leads, until one says so.

Owns nothing. Never: changes who votes, which is not served yet. Follows KIP-853 and Kafka's
`kafka-storage format --standalone`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from broker.config.endpoints import QuorumVoter, parse_servers
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.network.outgoing.blocking_client import ApiNotServed, BlockingClient
from broker.network.outgoing.peer_warnings import PeerWarnings
from broker.node.preparation.storage_folders import is_formatted
from broker.node.security.client_guards import asking_guard, controller_prefix
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from controller.raft.quorum_silence import QuorumSilence
from controller.raft.quorum_state import QuorumStateError, decode_static_voters
from controller.raft.quorum_voters import METADATA_FOLDER, voters_on_disk
from ground.filesystem import Filesystem
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

ASKED_AGAIN_S = 0.2
_ANSWER_WITHIN_S = 2.0
_SET = "set controller.quorum.voters=ID@HOST:PORT for each controller"


class DoesNotLead(Exception):
    """A server that was asked who votes has no answer to it, as one that does not lead."""


async def find_voters(
    config: BrokerConfig, filesystem: Filesystem, asked_to_stop: asyncio.Future[Any]
) -> BrokerConfig | None:
    """`config` with the voters, which a broker may have to ask for until a controller leads; None
    where it is to stop meanwhile. Raises StartError and OSError."""
    found = with_known_voters(config, filesystem)
    if found is None and not is_formatted(config, filesystem):
        return config  # refused by who opens the folders
    guard = asking_guard(
        config.controller_security, controller_prefix(config), os.urandom, _wall_ms
    )
    warnings = PeerWarnings(guard, time.monotonic)
    silence = QuorumSilence(
        "controller.quorum.bootstrap.servers", lambda: time.monotonic() * 1_000.0
    )

    def could_not(host: str, port: int, error: Exception) -> None:
        if not isinstance(error, DoesNotLead):
            warnings.warn(host, port, error)
        silence.failed(f"{host}:{port}", guard.explain(error, host))

    while found is None and not asked_to_stop.done():
        found = await asyncio.to_thread(ask_for_voters, config, guard, could_not)
        if found is None:
            await asyncio.wait((asked_to_stop,), timeout=ASKED_AGAIN_S)
    if found is not None:
        silence.ended()
    return found


def with_known_voters(config: BrokerConfig, filesystem: Filesystem) -> BrokerConfig | None:
    """`config` with the voters that this node knows by itself; None where it has to ask.

    Raises StartError where there is nobody to ask either, and OSError.
    """
    if config.controller_quorum_voters:
        return config
    name = next(iter(config.controller_listener_names))
    found = voters_on_disk(filesystem, config.metadata_log_dir, name)
    if found:
        return config._replace(controller_quorum_voters=tuple(QuorumVoter(*one) for one in found))
    if not config.is_controller:
        return None
    servers = parse_servers(config.controller_quorum_bootstrap_servers)
    ports = [one.port for one in config.controller_listeners]
    itself = len(servers) == 1 and servers[0][1] in ports and _is_here(servers[0][0])
    if itself and _was_alone(config, filesystem):
        return config._replace(controller_quorum_voters=(QuorumVoter(config.node_id, *servers[0]),))
    formatted = is_formatted(config, filesystem)
    lacking = "does not say where all voters are" if formatted else "is not formatted"
    raise StartError(
        f"{config.metadata_log_dir} {lacking}, and controller.quorum.bootstrap.servers="
        f"{','.join(config.controller_quorum_bootstrap_servers)} is not this node alone: {_SET}"
    )


def _was_alone(config: BrokerConfig, filesystem: Filesystem) -> bool:
    """Whether no static quorum of more than this node is on the disk."""
    path = f"{config.metadata_log_dir}/{METADATA_FOLDER}/quorum-state"
    try:
        before = decode_static_voters(filesystem.read(path)) if filesystem.exists(path) else []
    except QuorumStateError as error:
        raise StartError(f"{path}: {error}") from error
    return before in ([], [config.node_id])


def ask_for_voters(
    config: BrokerConfig,
    guard: ClientGuard = PLAINTEXT_GUARD,
    could_not: Callable[[str, int, Exception], None] = lambda *_: None,
) -> BrokerConfig | None:
    """`config` with the voters that a server of `controller.quorum.bootstrap.servers` tells; None
    where none of them leads now. `could_not`: is told host, port and reason where one tells
    nothing."""
    for host, port in parse_servers(config.controller_quorum_bootstrap_servers):
        try:
            voters = _told_by(host, port, guard)
        except (OSError, ProtocolError, ApiNotServed, DoesNotLead) as error:
            could_not(host, port, error)
        else:
            return config._replace(controller_quorum_voters=tuple(voters))
    return None


def _told_by(host: str, port: int, guard: ClientGuard) -> Sequence[QuorumVoter]:
    """Raises DoesNotLead, OSError, ProtocolError and ApiNotServed."""
    asked = DescribeQuorumRequestTopicData(
        "__cluster_metadata", [DescribeQuorumRequestPartitionData(0)]
    )
    with BlockingClient(host, port, _ANSWER_WITHIN_S, guard=guard) as client:
        answer = client.call(DescribeQuorumRequest([asked]))
    partition = next((one for topic in answer.topics for one in topic.partitions), None)
    code = answer.error_code or (partition.error_code if partition is not None else ErrorCode.NONE)
    if partition is None or code:
        raise DoesNotLead(f"it does not say who votes: {ErrorCode(code).name}")
    at = {node.node_id: node.listeners[0] for node in answer.nodes if node.listeners}
    voters = [
        QuorumVoter(one.replica_id, at[one.replica_id].host, at[one.replica_id].port)
        for one in partition.current_voters
        if one.replica_id in at
    ]
    if not voters:
        raise DoesNotLead("it does not say where the voters are")
    return voters


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _is_here(host: str) -> bool:
    """Whether a name or address is this machine's: only then can a socket be bound to it."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as probe:
                probe.bind((address[0], 0, *address[2:]))
        except OSError:
            continue
        return True
    return False

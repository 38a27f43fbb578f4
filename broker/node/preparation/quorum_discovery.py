"""The discovery of the voters by a node that has only `controller.quorum.bootstrap.servers`.

If the node's metadata log names the voters (kraft.version 1), the node uses these. A node with the
controller role and an empty folder is its own quorum if the only bootstrap server is itself; the
formatting then records that quorum. A broker that knows no voters asks the bootstrap servers until
the leader answers.

Owns nothing. Never changes the voters, which is not served yet. Follows KIP-853 and Kafka's
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

RETRY_INTERVAL_S = 0.2
_ANSWER_WITHIN_S = 2.0
_SET = "set controller.quorum.voters=ID@HOST:PORT for each controller"


class DoesNotLead(Exception):
    """A server's answer without voters, as from a server that does not lead."""


async def find_voters(
    config: BrokerConfig, filesystem: Filesystem, asked_to_stop: asyncio.Future[Any]
) -> BrokerConfig | None:
    """Return `config` with the voters, after asking the servers until a controller leads.

    Return None if `asked_to_stop` ends the wait. Raises StartError and OSError.
    """
    known_config = with_known_voters(config, filesystem)
    if known_config is None and not is_formatted(config, filesystem):
        return config  # the opening of the folders rejects it
    guard = asking_guard(
        config.controller_security, controller_prefix(config), os.urandom, _wall_ms
    )
    warnings = PeerWarnings(guard, time.monotonic)
    silence = QuorumSilence(
        "controller.quorum.bootstrap.servers", lambda: time.monotonic() * 1_000.0
    )

    def could_not(host: str, port: int, error: Exception) -> None:
        """Log, at a bounded rate, why a server has not answered with voters. A server that does not
        lead is logged only if the wait gets long."""
        if not isinstance(error, DoesNotLead):
            warnings.warn(host, port, error)
        silence.failed(f"{host}:{port}", guard.explain(error, host))

    while known_config is None and not asked_to_stop.done():
        known_config = await asyncio.to_thread(ask_for_voters, config, guard, could_not)
        if known_config is None:
            await asyncio.wait((asked_to_stop,), timeout=RETRY_INTERVAL_S)
    if known_config is not None:
        silence.leader_reached()
    return known_config


def with_known_voters(config: BrokerConfig, filesystem: Filesystem) -> BrokerConfig | None:
    """Return `config` with the voters that this node knows by itself; None if it must ask.

    Raises StartError on a controller if its disk names no voters and it is not a quorum of its own.
    Raises OSError, too.
    """
    if config.controller_quorum_voters:
        return config
    name = next(iter(config.controller_listener_names))
    voters = voters_on_disk(filesystem, config.metadata_log_dir, name)
    if voters:
        return config._replace(
            controller_quorum_voters=tuple(QuorumVoter(*voter) for voter in voters)
        )
    if not config.is_controller:
        return None
    servers = parse_servers(config.controller_quorum_bootstrap_servers)
    ports = [listener.port for listener in config.controller_listeners]
    names_itself = len(servers) == 1 and servers[0][1] in ports and _is_here(servers[0][0])
    if names_itself and _had_no_other_voters(config, filesystem):
        return config._replace(controller_quorum_voters=(QuorumVoter(config.node_id, *servers[0]),))
    formatted = is_formatted(config, filesystem)
    lacking = "does not say where all voters are" if formatted else "is not formatted"
    raise StartError(
        f"{config.metadata_log_dir} {lacking}, and controller.quorum.bootstrap.servers="
        f"{','.join(config.controller_quorum_bootstrap_servers)} is not this node alone: {_SET}"
    )


def _had_no_other_voters(config: BrokerConfig, filesystem: Filesystem) -> bool:
    """Return whether no static quorum of more than this node is on the disk.

    Raises StartError if the file of the quorum is malformed.
    """
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
    """Return `config` with the voters that a bootstrap server names; None if none leads now.

    `could_not(host, port, error)` runs for each server that does not answer with voters.
    """
    for host, port in parse_servers(config.controller_quorum_bootstrap_servers):
        try:
            voters = _voters_from(host, port, guard)
        except (OSError, ProtocolError, ApiNotServed, DoesNotLead) as error:
            could_not(host, port, error)
        else:
            return config._replace(controller_quorum_voters=tuple(voters))
    return None


def _voters_from(host: str, port: int, guard: ClientGuard) -> Sequence[QuorumVoter]:
    """Return the voters that a server names.

    Raises DoesNotLead, OSError, ProtocolError and ApiNotServed.
    """
    request_topic = DescribeQuorumRequestTopicData(
        "__cluster_metadata", [DescribeQuorumRequestPartitionData(0)]
    )
    with BlockingClient(host, port, _ANSWER_WITHIN_S, guard=guard) as client:
        answer = client.call(DescribeQuorumRequest([request_topic]))
    partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
    code = answer.error_code or (partition.error_code if partition is not None else ErrorCode.NONE)
    if partition is None or code:
        raise DoesNotLead(f"it does not say who votes: {ErrorCode(code).name}")
    endpoints = {node.node_id: node.listeners[0] for node in answer.nodes if node.listeners}
    voters = [
        QuorumVoter(
            voter.replica_id, endpoints[voter.replica_id].host, endpoints[voter.replica_id].port
        )
        for voter in partition.current_voters
        if voter.replica_id in endpoints
    ]
    if not voters:
        raise DoesNotLead("it does not say where the voters are")
    return voters


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


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

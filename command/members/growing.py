"""`ottla cluster grow`: nodes that join a running cluster.

    files → start → registered as a broker → caught up → voter → addresses in all files

A step that is done is skipped, so the command may be repeated after any failure: it first finishes
the nodes that an earlier one began. A controller whose disk was replaced is such a node, too: the
voter with the old directory id is removed, and the new one added.

Owns nothing. Follows KIP-853.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from client.cluster import ClusterClient
from client.members.quorum import Quorum, VoterChange, add_voter, quorum_of, remove_voter
from client.members.replicas import registered_brokers
from client.refusals import Refused
from command.members.free_ports import refuse_taken_port
from command.members.local_cluster import LocalCluster
from command.members.plans import check_dynamic, check_voters_with, nodes_to_add
from protocol.errors import ErrorCode

_FINISHES = "ottla cluster grow tries again"
_FINAL = (ErrorCode.INVALID_REQUEST, ErrorCode.INCONSISTENT_CLUSTER_ID)
"""Errors that a repetition does not change."""


class Growth(NamedTuple):
    """The nodes that have joined."""

    nodes: list[int]
    controllers: list[int]
    """Those of them that are voters of the quorum."""
    replicas: int | None
    """How many replicas new topics get after a restart of the nodes; None: as many as before."""


def grow(
    folder: str,
    count: int | None,
    are_controllers: bool | None,
    first_port: int | None,
    command_config: str | None,
    note: Callable[[str], None],
) -> Growth:
    """Add `count` nodes to the running cluster in `folder`, and return them when they serve and
    vote.

    `count` None: finish what an earlier command began, else one node. `note` gets a line for each
    step. Raises StartError and Refused.
    """
    cluster = LocalCluster(folder, command_config)
    cluster.check_majority()
    unfinished = cluster.ask(lambda client: _unfinished(cluster, client))
    wanted = count if count is not None else len(unfinished) or 1
    added = nodes_to_add(
        cluster.layout, max(wanted - len(unfinished), 0), are_controllers, first_port
    )
    for node in added:
        for port in (node.port, node.controller_port):
            if port is not None:
                refuse_taken_port(node.node_id, port)
    if added:
        cluster.add(added)
    joining = [*unfinished, *(node.node_id for node in added)]
    for node_id in joining:
        _start(cluster, node_id, note)
    controllers = [node_id for node_id in joining if node_id in cluster.layout.controllers]
    if cluster.layout.is_dynamic:
        for node_id in controllers:
            _make_voter(cluster, node_id)
            note(f"node {node_id} is a voter of the quorum")
    return Growth(joining, controllers, cluster.write_shared_keys())


def _start(cluster: LocalCluster, node_id: int, note: Callable[[str], None]) -> None:
    """Start the node if it does not serve, and wait until its broker is alive. Raises Refused,
    StartError."""

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        return registered_brokers(client).get(node_id, False), None

    node = cluster.node(node_id)
    if not node.serves():
        note(f"node {node_id} starts")
        node.start()
    cluster.wait_for(
        attempt, f"node {node_id} runs, and is no broker of the cluster yet: {_FINISHES}"
    )


def _unfinished(cluster: LocalCluster, client: ClusterClient) -> list[int]:
    """Return the nodes of the folder that are no brokers yet, or controllers without a vote."""
    brokers = registered_brokers(client)
    quorum = quorum_of(client)
    lacking = []
    for node in cluster.layout.nodes:
        is_voter = node.controller_port is None or not cluster.layout.is_dynamic
        if not is_voter:
            is_voter = _is_voter(cluster, quorum, node.node_id)
        if node.node_id not in brokers or not is_voter:
            lacking.append(node.node_id)
    return lacking


def _is_voter(cluster: LocalCluster, quorum: Quorum, node_id: int) -> bool:
    """Return whether the node is a voter with its present directory."""
    voter = quorum.voters.get(node_id)
    return voter is not None and voter.directory_id == cluster.directory_id(node_id)


def _make_voter(cluster: LocalCluster, node_id: int) -> None:
    """Add the node to the voters, and wait until that is committed. Raises Refused, StartError."""

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        quorum = quorum_of(client)
        if _is_voter(cluster, quorum, node_id):
            return True, None
        check_dynamic(quorum)
        old = quorum.voters.get(node_id)
        if old is not None:
            return False, _text(remove_voter(client, cluster.cluster_id, node_id, old.directory_id))
        check_voters_with(quorum, node_id)
        change = add_voter(
            client,
            cluster.cluster_id,
            node_id,
            cluster.directory_id(node_id),
            cluster.endpoints(node_id),
        )
        if change.code in _FINAL:
            raise Refused(f"node {node_id} cannot be a voter: {_text(change)}")
        return False, _text(change)

    cluster.wait_for(
        attempt, f"node {node_id} runs as a broker, and is no voter of the quorum yet: {_FINISHES}"
    )


def _text(change: VoterChange) -> str:
    """Return the leader's answer as text, "" if it has no error."""
    return "" if change.code is ErrorCode.NONE else change.message or change.code.name

"""`ottla cluster shrink`: a node that leaves a running cluster.

    its replicas move → it is no voter → it stops → its registrations end → its files are deleted

A step that is done is skipped, so the command may be repeated after any failure. The node may be
dead, as long as other nodes have its records and a majority of the controllers runs.

Owns nothing. Follows KIP-853, and KIP-455 for the replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.members.quorum import quorum_of, remove_voter
from client.members.replicas import (
    assigned_partitions,
    reassign,
    registered_brokers,
    unregister,
    unregister_controller,
)
from client.refusals import Refused
from client.tables import counted
from command.cluster_layout import VOTERS_KEY
from command.members.local_cluster import LocalCluster
from command.members.plans import (
    check_dynamic,
    check_voters_without,
    new_places,
)
from protocol.errors import ErrorCode


class Shrinkage(NamedTuple):
    """A cluster after a node has left it."""

    nodes: list[int]
    """The ids of the nodes that remain."""
    kept_folders: list[str]
    """Data folders outside of the cluster's folder, which stay."""
    replicas: int | None
    """How many replicas new topics get after a restart of the nodes; None: as many as before."""


def shrink(
    folder: str,
    node_id: int,
    command_config: str | None,
    note: Callable[[str], None],
    *,
    fewer_replicas: bool = False,
) -> Shrinkage:
    """Remove a node from the running cluster in `folder`, with its files.

    `note` gets a line for each step. `fewer_replicas`: partitions for which no other broker is left
    lose the node's replica. Raises StartError and Refused.
    """
    cluster = LocalCluster(folder, command_config)
    _check(cluster, node_id)
    if node_id in cluster.layout.controllers:
        cluster.ask(lambda client: _check_quorum(client, node_id))
    _move_replicas(cluster, node_id, note, fewer_replicas=fewer_replicas)
    if node_id in cluster.layout.controllers:
        _remove_voter(cluster, node_id)
        note(f"node {node_id} is no voter of the quorum any more")
    cluster.node(node_id).leave()
    _check_no_replicas(cluster, node_id)
    _unregister(cluster, node_id)
    if node_id in cluster.layout.controllers:
        _unregister_controller(cluster, node_id)
    kept = cluster.forget(node_id)
    left = len(cluster.layout.controllers)
    if left % 2 == 0:
        note(
            f"{left} controllers remain, and no more of them may fail than of {left - 1}: ottla "
            "cluster grow --controllers adds one"
        )
    return Shrinkage(list(cluster.configs), kept, cluster.write_shared_keys())


def _check(cluster: LocalCluster, node_id: int) -> None:
    """Raise StartError if this node cannot leave now."""
    cluster.node(node_id)  # raises if there is none
    layout = cluster.layout
    if len(layout.nodes) == 1:
        raise StartError(
            f"node {node_id} is the only node: Ctrl-C in the shell of ottla cluster stops it"
        )
    if node_id in layout.controllers and not layout.is_dynamic:
        raise StartError(
            f"node {node_id} is a controller of a static quorum ({VOTERS_KEY} in each file), which "
            "it cannot leave: remove a node that is only a broker, or make a new cluster in "
            "another --dir"
        )
    cluster.check_majority()


def _check_quorum(client: ClusterClient, node_id: int) -> None:
    """Raise Refused if the quorum cannot be without this node."""
    quorum = quorum_of(client)
    check_dynamic(quorum)
    if node_id in quorum.voters:
        check_voters_without(quorum, node_id)


def _move_replicas(
    cluster: LocalCluster, node_id: int, note: Callable[[str], None], *, fewer_replicas: bool
) -> None:
    """Move all replicas of the node to other brokers, and wait until none is left. Raises Refused,
    StartError."""
    said: list[int] = []

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        partitions = assigned_partitions(client)
        remaining = [entry for entry in partitions if node_id in entry.replicas]
        alive = [broker for broker, lives in registered_brokers(client).items() if lives]
        places = new_places(partitions, node_id, alive, fewer_replicas=fewer_replicas)
        if remaining and not said:
            said.append(len(remaining))
            note(f"{counted(len(remaining), 'replica')} to move away from node {node_id}")
        if places:
            reassign(client, places)
        names = [f"{topic}-{index}" for topic, index in (entry.partition for entry in remaining)]
        return not remaining, ", ".join(names[:3])

    cluster.wait_for(
        attempt,
        f"replicas of node {node_id} still move: see ottla status, and repeat ottla cluster shrink "
        f"{node_id}, which waits on",
        without=node_id,
    )


def _remove_voter(cluster: LocalCluster, node_id: int) -> None:
    """Remove the node from the voters, if it is among them, and wait until that is committed.
    Raises Refused, StartError."""

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        quorum = quorum_of(client)
        voter = quorum.voters.get(node_id)
        if voter is None:
            return True, None
        check_voters_without(quorum, node_id)
        change = remove_voter(client, cluster.cluster_id, node_id, voter.directory_id)
        if change.code is ErrorCode.NONE:
            return False, ""
        return False, change.message or change.code.name

    cluster.wait_for(
        attempt,
        f"node {node_id} is still a voter: repeat ottla cluster shrink {node_id}",
        without=node_id,
    )


def _check_no_replicas(cluster: LocalCluster, node_id: int) -> None:
    """Raise Refused if the node, which has stopped, got a replica before that; start it again."""
    partitions = cluster.ask(assigned_partitions, without=node_id)
    late = [entry.partition for entry in partitions if node_id in entry.replicas]
    if late:
        cluster.node(node_id).stay()
        topic, index = late[0]
        raise Refused(
            f"{topic}-{index} got a replica on node {node_id} meanwhile, so the node runs again: "
            f"repeat ottla cluster shrink {node_id}"
        )


def _unregister(cluster: LocalCluster, node_id: int) -> None:
    """Remove the registration of the broker. Raises Refused, StartError."""

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        if node_id not in registered_brokers(client):
            return True, None
        unregister(client, node_id)
        return False, ""

    cluster.wait_for(
        attempt,
        f"broker {node_id} is still registered: repeat ottla cluster shrink {node_id}",
        without=node_id,
    )


def _unregister_controller(cluster: LocalCluster, node_id: int) -> None:
    """Remove the registration of the controller. Raises Refused, StartError."""

    def attempt(client: ClusterClient) -> tuple[bool, object]:
        unregister_controller(client, node_id)
        return True, None

    cluster.wait_for(
        attempt,
        f"controller {node_id} is still registered: repeat ottla cluster shrink {node_id}",
        without=node_id,
    )

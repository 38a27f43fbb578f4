"""The decisions about a change of a running `ottla cluster`, without I/O.

Which nodes join, with which ports and roles; whether the quorum keeps a majority; which brokers get
the replicas of a broker that leaves. A fault of the folder or the command is a StartError, one of
the cluster's state is Refused; both are one line that says what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from broker.config.start_error import StartError
from client.core.leaders import Partition
from client.members.quorum import Quorum
from client.members.replicas import AssignedPartition
from client.refusals import Refused
from client.tables import counted
from command.cluster_layout import (
    BROKERS_MAX,
    CONTROLLERS_MAX,
    VOTERS_KEY,
    ClusterLayout,
    ClusterNode,
    controllers_for,
    first_port_of,
    free_ids,
    node_at,
)
from protocol.primitives import ZERO_UUID


def nodes_to_add(
    layout: ClusterLayout,
    count: int,
    are_controllers: bool | None = None,
    first_port: int | None = None,
) -> list[ClusterNode]:
    """Return `count` new nodes with the lowest free ids.

    `are_controllers` None: so many of them become controllers that their number stays odd, as in a
    new cluster of that size. `first_port`: the port for clients of the first new node; None: the
    ports follow from the ids. Raises StartError if there are too many nodes or controllers, the
    quorum is static, or a port belongs to another node.
    """
    ids = free_ids(layout)[:count]
    if len(ids) < count:
        raise StartError(
            f"at most {BROKERS_MAX} nodes run on one machine, and there are {len(layout.nodes)}: "
            f"add {len(ids)} at most"
        )
    controllers = _new_controllers(layout, count, are_controllers)
    nodes = []
    for place, node_id in enumerate(ids):
        base = first_port_of(layout) if first_port is None else first_port + place - node_id + 1
        nodes.append(node_at(node_id, base, place < controllers))
    wanted = layout.with_nodes(*nodes)
    if len(wanted.ports) < len(wanted.nodes) + len(wanted.controllers):
        raise StartError("the new nodes need ports that nodes of the cluster have: name a --port")
    return nodes


def _new_controllers(layout: ClusterLayout, count: int, are_controllers: bool | None) -> int:
    """Return how many of `count` new nodes are controllers. Raises StartError if the quorum cannot
    have them."""
    before = len(layout.controllers)
    if are_controllers is None:
        number = min(count, max(controllers_for(len(layout.nodes) + count) - before, 0))
        if (before + number) % 2 == 0:
            number = max(number - 1, 0)
    else:
        number = count if are_controllers else 0
    if number and not layout.is_dynamic:
        raise StartError(
            f"the quorum of this cluster is static ({VOTERS_KEY} in each file), so no controller "
            "can join it: add brokers with --no-controllers, or make a new cluster in another --dir"
        )
    if before + number > CONTROLLERS_MAX:
        raise StartError(
            f"{before + number} controllers are too many, at most {CONTROLLERS_MAX} are useful: "
            "add brokers with --no-controllers"
        )
    return number


def check_majority(controllers: Sequence[int], running: Collection[int]) -> None:
    """Raise StartError if fewer than a majority of the controllers run: then nothing changes."""
    dead = [node_id for node_id in controllers if node_id not in running]
    if len(controllers) - len(dead) <= len(controllers) // 2:
        raise StartError(
            f"no majority of the controllers runs ({_ids(dead)} of {len(controllers)} do not), so "
            f"the cluster cannot change: start one first, with ottla cluster restart {dead[0]}"
        )


def check_voters_without(quorum: Quorum, node_id: int) -> None:
    """Raise Refused if the quorum would have no voter, or no majority that follows its leader,
    without this voter."""
    others = [voter for key, voter in quorum.voters.items() if key != node_id]
    if not others:
        raise Refused(
            f"node {node_id} is the only controller: add another first, with ottla cluster grow "
            "--controllers"
        )
    _check_following([voter.state.node_id for voter in others], quorum, f"without node {node_id}")


def check_voters_with(quorum: Quorum, node_id: int) -> None:
    """Raise Refused if the quorum would have no majority with this further voter, because others do
    not follow the leader."""
    _check_following([*quorum.voters, node_id], quorum, f"with node {node_id}")


def _check_following(voters: Sequence[int], quorum: Quorum, change: str) -> None:
    """Raise Refused if no majority of `voters` follows. A voter that is new is about to."""
    silent = [
        node_id
        for node_id in voters
        if node_id in quorum.voters and quorum.voters[node_id].state.lagging
    ]
    if len(voters) - len(silent) <= len(voters) // 2:
        raise Refused(
            f"the quorum would have no majority {change}, because {_ids(silent)} of {len(voters)} "
            f"controllers do not follow: start one first, with ottla cluster restart {silent[0]}"
        )


def check_dynamic(quorum: Quorum) -> None:
    """Raise Refused if the quorum is static: its voters have no directory ids."""
    if any(voter.directory_id == ZERO_UUID for voter in quorum.voters.values()):
        raise Refused(
            "the quorum is static (kraft.version 0), so its controllers cannot change: raise "
            "kraft.version first, with Kafka's kafka-features upgrade"
        )


def new_places(
    partitions: Sequence[AssignedPartition],
    node_id: int,
    brokers: Collection[int],
    *,
    fewer_replicas: bool = False,
) -> dict[Partition, tuple[int, ...]]:
    """Return the replicas that partitions get so that none stays on the broker `node_id`; without
    those that move away from it already.

    A replica goes to the broker with the fewest replicas, and takes the same place in the list.
    `brokers`: the other brokers that are alive. Raises Refused if too few of them remain for a
    partition; with `fewer_replicas`, the partition loses the replica then.
    """
    counts = Counter(replica for partition in partitions for replica in partition.target)
    places: dict[Partition, tuple[int, ...]] = {}
    for partition in partitions:
        before = partition.target
        if node_id not in before:
            continue
        free = [broker for broker in sorted(brokers) if broker not in (node_id, *before)]
        if free:
            chosen = min(free, key=lambda broker: counts[broker])
            counts[chosen] += 1
            after = tuple(chosen if replica == node_id else replica for replica in before)
        elif fewer_replicas and len(before) > 1:
            after = tuple(replica for replica in before if replica != node_id)
        else:
            name, index = partition.partition
            others = _ids([broker for broker in sorted(brokers) if broker != node_id])
            raise Refused(
                f"{name}-{index} has {counted(len(before), 'replica')}, too many for the "
                f"other live brokers ({others or 'none'}): start or add a broker first, or use "
                "--fewer-replicas"
            )
        places[partition.partition] = after
    return places


def _ids(node_ids: Sequence[int]) -> str:
    """Return ids as text: `2, 3`."""
    return ", ".join(map(str, node_ids))

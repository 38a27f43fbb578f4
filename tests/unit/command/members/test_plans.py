"""Decisions about nodes that join and leave: ids, ports, roles, majorities, places of replicas."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from client.cluster_status import VoterState
from client.members.quorum import Quorum, QuorumMember
from client.members.replicas import AssignedPartition
from client.refusals import Refused
from command.cluster_layout import ClusterLayout, new_layout
from command.members.plans import (
    check_dynamic,
    check_majority,
    check_voters_with,
    check_voters_without,
    new_places,
    nodes_to_add,
)
from protocol.primitives import ZERO_UUID

DIRECTORY = b"a directory's id"


def layout(nodes: int) -> ClusterLayout:
    return new_layout(nodes, 9092, is_dynamic=True)


def quorum(*voters: int, silent: tuple[int, ...] = ()) -> Quorum:
    members = {
        node_id: QuorumMember(DIRECTORY, VoterState(node_id, 0, 60_000 if node_id in silent else 0))
        for node_id in voters
    }
    return Quorum(voters[0], members, {})


@pytest.mark.parametrize(
    ("before", "count", "controllers"),
    [(1, 1, 0), (1, 2, 2), (3, 1, 0), (3, 2, 2), (3, 3, 2), (4, 1, 0), (4, 3, 2), (5, 4, 0)],
)
def test_the_number_of_controllers_stays_odd(before: int, count: int, controllers: int) -> None:
    added = nodes_to_add(layout(before), count)
    assert [node.node_id for node in added] == list(range(before + 1, before + count + 1))
    roles = [node.controller_port is not None for node in added]
    assert roles == [True] * controllers + [False] * (count - controllers)


def test_a_controller_takes_the_place_of_one_that_has_left() -> None:
    (node,) = nodes_to_add(layout(5).without(2), 1)
    assert (node.node_id, node.port, node.controller_port) == (2, 9093, 9103)


def test_roles_and_ports_as_the_user_wants_them() -> None:
    (node,) = nodes_to_add(layout(3), 1, True)
    assert node.controller_port == 9105
    first, second = nodes_to_add(layout(3), 2, False, 20_000)
    assert (first.node_id, first.port, first.controller_port) == (4, 20_000, None)
    assert second.port == 20_001


@pytest.mark.parametrize(
    ("before", "count", "are_controllers", "port", "reason"),
    [
        (layout(8), 2, None, None, "at most 9 nodes run .* and there are 8: add 1 at most"),
        (layout(3), 3, True, None, "6 controllers are too many.* with --no-controllers"),
        (new_layout(3), 2, None, None, "the quorum of this cluster is static .* another --dir"),
        (new_layout(3), 1, True, None, "the quorum of this cluster is static"),
        (layout(3), 1, None, 9103, "the new nodes need ports .*: name a --port"),
    ],
)
def test_nodes_that_cannot_join(
    before: ClusterLayout, count: int, are_controllers: bool | None, port: int | None, reason: str
) -> None:
    with pytest.raises(StartError, match=reason):
        nodes_to_add(before, count, are_controllers, port)


def test_a_static_cluster_grows_by_brokers() -> None:
    (node,) = nodes_to_add(new_layout(3), 1)
    assert (node.node_id, node.controller_port) == (4, None)


def test_a_majority_of_the_controllers_has_to_run() -> None:
    check_majority([1, 2, 3], [1, 3, 4])
    with pytest.raises(StartError, match=r"\(2, 3 of 3 do not\).* with ottla cluster restart 2$"):
        check_majority([1, 2, 3], [1, 4])
    with pytest.raises(StartError, match="no majority"):
        check_majority([1, 2], [2])


def test_a_voter_leaves_if_the_others_have_a_majority() -> None:
    check_voters_without(quorum(1, 2, 3, silent=(3,)), 3)
    check_voters_without(quorum(1, 2, 3, 4, silent=(4,)), 3)
    with pytest.raises(Refused, match=r"without node 2, because 3 of 2 .* ottla cluster restart 3"):
        check_voters_without(quorum(1, 2, 3, silent=(3,)), 2)
    with pytest.raises(Refused, match="node 1 is the only controller: add another first"):
        check_voters_without(quorum(1), 1)


def test_a_voter_joins_if_all_have_a_majority() -> None:
    check_voters_with(quorum(1), 2)
    check_voters_with(quorum(1, 2, 3, silent=(3,)), 4)
    with pytest.raises(Refused, match="with node 4, because 2, 3 of 4 .* ottla cluster restart 2"):
        check_voters_with(quorum(1, 2, 3, silent=(2, 3)), 4)


def test_a_static_quorum_is_told_by_its_directories() -> None:
    check_dynamic(quorum(1, 2))
    static = {1: QuorumMember(ZERO_UUID, VoterState(1, 0, 0))}
    with pytest.raises(Refused, match=r"static \(kraft.version 0\).*kafka-features upgrade"):
        check_dynamic(Quorum(1, static, {}))


def partition(index: int, *replicas: int, leaving: tuple[int, ...] = ()) -> AssignedPartition:
    return AssignedPartition(("t", index), replicas, leaving)


def test_replicas_go_to_the_brokers_with_the_fewest_and_keep_their_place() -> None:
    partitions = [
        partition(0, 1, 2, 3),
        partition(1, 3, 1, 2),
        partition(2, 1, 2, 4),
        partition(3, 2, 5),
    ]
    assert new_places(partitions, 1, [2, 3, 4, 5]) == {
        ("t", 0): (4, 2, 3),
        ("t", 1): (3, 5, 2),
        ("t", 2): (3, 2, 4),
    }


def test_a_move_under_way_is_left_alone() -> None:
    """Plan nothing: a repeated command waits for the moves of an earlier command."""
    moving = partition(0, 4, 2, 3, 1, leaving=(1,))
    assert new_places([moving], 1, [2, 3, 4, 5]) == {}
    assert new_places([moving], 4, [1, 2, 3, 5]) == {("t", 0): (1, 2, 3)}


def test_replicas_without_another_place() -> None:
    with pytest.raises(Refused, match=r"t-0 has 3 replicas, too many .* \(2, 3\): start or add"):
        new_places([partition(0, 1, 2, 3)], 1, [1, 2, 3])
    fewer = new_places([partition(0, 1, 2, 3)], 1, [1, 2, 3], fewer_replicas=True)
    assert fewer == {("t", 0): (2, 3)}
    with pytest.raises(Refused, match=r"t-0 has 1 replica, too many .* \(none\)"):
        new_places([partition(0, 1)], 1, [1], fewer_replicas=True)

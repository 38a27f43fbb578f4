"""Replicas are equal, epochs have one leader, who is in sync has everything: each broken once."""

from __future__ import annotations

import pytest

from simulation.invariants.cluster_invariants import (
    InSyncMeansInSync,
    OneLeaderPerEpoch,
    ReplicasAreEqual,
    batches,
)
from simulation.sim_trace import Violation
from simulation.users.user_run import UserRun
from tests.unit.simulation.exchanges import started, write


@pytest.fixture(scope="module")
def run() -> UserRun:
    """A cluster with three records in t-0."""
    one = started()
    write(one, b"a", b"b", b"c")
    one.converge()
    return one


def test_batches_of_a_replica_by_offset(run: UserRun) -> None:
    leader = run.view.leader("t", 0)
    assert leader is not None
    partition = leader.replicas.partition("t", 0)
    assert partition is not None
    assert list(batches(partition, 3)) == [0, 1, 2] and list(batches(partition, 2)) == [0, 1]


def test_replicas_that_differ(run: UserRun, monkeypatch: pytest.MonkeyPatch) -> None:
    one = ReplicasAreEqual(run.world, run.promises)
    one.at_end(None)
    seen: list[object] = []

    def other(partition: object, end: int) -> dict[int, bytes]:
        seen.append(partition)
        return {0: bytes([len(seen)])}

    module = "simulation.invariants.cluster_invariants.batches"
    monkeypatch.setattr(module, other)
    with pytest.raises(Violation, match="I7: .* differs between . and . at offsets"):
        one.at_end(None)


def test_two_leaders_of_one_epoch(run: UserRun, monkeypatch: pytest.MonkeyPatch) -> None:
    one = OneLeaderPerEpoch(run.world, run.promises)
    for broker in run.brokers:
        one.node_ran(broker)
    impostor = next(b for b in run.brokers if b is not run.view.leader("t", 0))
    partition = impostor.replicas.partition("t", 0)
    monkeypatch.setattr(type(partition), "is_leader", True)
    one = OneLeaderPerEpoch(run.world, run.promises)
    with pytest.raises(Violation, match="I12: .* lead"):
        for broker in run.brokers:
            one.node_ran(broker)


def test_one_in_sync_that_does_not_have_it(run: UserRun) -> None:
    leader = run.view.leader("t", 0)
    assert leader is not None
    one = InSyncMeansInSync(run.world, run.promises)
    for broker in run.brokers:
        if broker is not leader:
            one.node_ran(broker)
    one.node_ran(leader)
    with pytest.raises(Violation, match="I14: .* is committed up to 3, . in sync has it up to 0"):
        InSyncMeansInSync(run.world, run.promises).node_ran(leader)

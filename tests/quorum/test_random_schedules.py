"""Raft under schedules that a seed draws: messages late, lost and doubled, restarts that lose what
was not fsynced, time-outs at any moment. Checked after every event:

* one leader an epoch; epochs and high watermarks never go back (while a node lives)
* logs that have the same epoch at an offset are equal before it (log matching)
* what was committed once is in the log of every later leader (leader completeness)
"""

from __future__ import annotations

import random

import pytest

from controller.raft import raft_messages as m
from controller.raft.quorum_state import Role
from tests.quorum.raft_cluster import Node, RaftCluster

SEEDS = 40
EVENTS = 600


class Checked(RaftCluster):
    """A cluster with its invariants."""

    def __init__(self, seed: int, voters: int) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.leaders: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.seen: dict[int, tuple[int, int]] = {}
        self.do_voters(*map(str, range(1, voters + 1)), "observers", str(voters + 1))
        self.do_start()

    def _draw(self, node_id: int) -> object:
        return lambda bound: self.random.randrange(bound)

    def event(self) -> None:
        """One thing happens."""
        kind = self.random.random()
        node = self.random.choice(list(self.nodes.values()))
        if kind < 0.70 and self.under_way:
            index = self.random.randrange(len(self.under_way))
            message = self.under_way[index]
            if self.random.random() > 0.05:  # else it comes twice
                del self.under_way[index]
            if self.random.random() > 0.05:  # else it never comes
                self._arrive(*message)
        elif kind < 0.80:
            self.do_flush(str(node.id))
        elif kind < 0.90:
            if node.raft.role is Role.LEADER:
                self.do_propose(str(node.id), str(self.random.randint(1, 3)))
        elif kind < 0.97:
            if node.deadline_ms is not None:
                self.do_tick(str(node.id))
        elif kind < 0.99:
            self.lose_power(node)
        elif node.raft.role is Role.LEADER:
            self.do_resign(str(node.id))

    def lose_power(self, node: Node) -> None:
        """A restart without what was not fsynced."""
        node.batches = [b for b in node.batches if b.next_offset <= node.flushed_to]
        self.seen.pop(node.id, None)
        self.do_restart(str(node.id))

    def deliver_and_flush(self) -> None:
        """What a healthy network and healthy disks do."""
        for node in self.nodes.values():
            if node.flushed_to < node.raft.log.end_offset:
                self.do_flush(str(node.id))
        self.do_deliver()

    def check(self) -> None:
        for node in self.nodes.values():
            raft = node.raft
            if raft.role is Role.LEADER:
                assert self.leaders.setdefault(raft.epoch, node.id) == node.id
            before = self.seen.get(node.id, (0, 0))
            now = (raft.epoch, raft.high_watermark or 0)
            assert now[0] >= before[0] and now[1] >= before[1], f"node {node.id} went back"
            self.seen[node.id] = now
            self._check_committed(node)
        for node in self.nodes.values():
            if node.raft.role is Role.LEADER and node.raft.epoch == max(self.leaders):
                has = {offset: b.epoch for b in node.batches for offset in _offsets(b)}
                for offset, epoch in self.committed.items():
                    assert has.get(offset) == epoch, f"leader {node.id} lacks offset {offset}"

    def _check_committed(self, node: Node) -> None:
        for batch in reversed(node.batches):
            for offset in _offsets(batch):
                if offset < (node.raft.high_watermark or 0):
                    known = self.committed.setdefault(offset, batch.epoch)
                    assert known == batch.epoch, f"two records committed at {offset}"


def _offsets(batch: m.AppendedBatch) -> range:
    return range(batch.base_offset, batch.next_offset)


@pytest.mark.parametrize("voters", [1, 3, 5])
def test_invariants_hold(voters: int) -> None:
    committed = 0
    for seed in range(SEEDS):
        cluster = Checked(seed, voters)
        try:
            for _ in range(EVENTS):
                cluster.event()
                cluster.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {voters} voters: {error}") from error
        committed += len(cluster.committed)
    assert committed > SEEDS, "the schedules commit too little to show anything"


@pytest.mark.parametrize("voters", [1, 3, 5])
def test_a_quorum_comes_back(voters: int) -> None:
    """Liveness: when faults end, a leader is found and commits."""
    for seed in range(SEEDS // 3):
        cluster = Checked(seed, voters)
        for _ in range(EVENTS // 3):
            cluster.event()
        before = len(cluster.committed)
        for _ in range(100):
            for _ in range(10):
                cluster.deliver_and_flush()
            cluster.check()
            leaders = [n for n in cluster.nodes.values() if n.raft.role is Role.LEADER]
            if leaders and len(cluster.committed) > before:
                break
            cluster.do_wait("150")
        else:
            raise AssertionError(f"seed {seed}, {voters} voters: no leader comes back")

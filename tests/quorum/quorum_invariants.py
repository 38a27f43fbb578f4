"""What holds in a quorum at every moment: Kafka's seven properties of its Raft simulation, and that
nobody votes twice.

    MonotonicHighWatermark        a node's high watermark never goes back while it lives
    MonotonicEpoch                nor does its epoch, not even over a loss of power, once told
    MajorityReachedHighWatermark  what a leader calls committed is in a majority of logs
    SingleLeader                  one an epoch
    SnapshotAtLogStart            a log begins at 0 or at the end of a snapshot
    LeaderNeverLoadSnapshot       a leader has everything itself
    ConsistentCommittedData       at one offset, all nodes were given the same, ever; in the end all
                                  have all of it
    VoteOnce                      in one epoch, to one candidate
    VotersOfTheLog                the voters are those of records that the log has
    OneChangeAtATime              a leader appends no voters before the ones before are committed

Follows Kafka's `RaftEventSimulationTest`.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch
from controller.voter_set import ReplicaKey
from protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from protocol.messages.end_quorum_epoch import EndQuorumEpochRequest
from protocol.messages.vote import VoteRequest

if TYPE_CHECKING:
    from tests.quorum.quorum_world import QuorumNode, QuorumWorld


class Violation(AssertionError):
    """An invariant does not hold."""


class QuorumInvariants:
    """Looks after everything that a node does."""

    def __init__(self, world: QuorumWorld) -> None:
        self.world = world
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[ReplicaKey, int], ReplicaKey] = {}
        self.batches: dict[int, tuple[int, int, int]] = {}
        self.states: dict[int, int] = {}
        self.told_epochs: dict[ReplicaKey, int] = {}
        self._seen: dict[int, tuple[int, int]] = {}
        self._ends: dict[ReplicaKey, int] = {}
        self.elections = 0

    def hold(self, condition: bool, what: str) -> None:
        """Raise Violation unless the condition holds."""
        if not condition:
            raise Violation(f"seed {self.world.seed}, {self.world.world.now_ms:.1f} ms: {what}")

    # --- nodes ---------------------------------------------------------------------------------

    def node_started(self, node: QuorumNode) -> None:
        self._seen[node.id] = (0, 0)
        told = self.told_epochs.get(node.key, 0)
        self.hold(
            node.raft.epoch >= told,
            f"node {node.id} came back in epoch {node.raft.epoch} and had told of {told}",
        )

    def node_stopped(self, node: QuorumNode) -> None:
        if hasattr(node, "log"):  # else it died before it had opened one
            self._ends[node.key] = node.log.end_offset

    def node_ran(self, node: QuorumNode) -> None:
        if not node.alive:
            return
        raft = node.raft
        self.hold(not node.failures, f"node {node.id} failed: {node.failures}")
        epoch, committed = raft.epoch, raft.high_watermark or 0
        before = self._seen[node.id]
        self.hold(epoch >= before[0], f"node {node.id}: epoch {before[0]}, then {epoch}")
        self.hold(
            committed >= before[1], f"node {node.id}: high watermark {before[1]}, then {committed}"
        )
        self._seen[node.id] = (epoch, committed)
        if raft.is_leader:
            first = self.leaders.setdefault(epoch, node.id)
            self.hold(first == node.id, f"nodes {first} and {node.id} lead epoch {epoch}")
            if committed > before[1]:
                self._majority_has(node, committed)
            if raft.high_watermark is not None:
                waiting = [at for at, _ in node.log.voters.sets if at >= committed]
                self.hold(len(waiting) < 2, f"leader {node.id}: voters at {waiting}, {committed}")
        voters_at, end = node.log.voters.latest_offset, raft.end_offset
        self.hold(
            voters_at is None or voters_at < end, f"node {node.id}: voters at {voters_at} of {end}"
        )
        start = node.log.start_offset
        ends = [snapshot.end_offset for snapshot in node.log.snapshots]
        self.hold(start == 0 or start in ends, f"node {node.id}: log at {start}, snapshots {ends}")

    def _majority_has(self, leader: QuorumNode, committed: int) -> None:
        voters = leader.log.voters.latest
        having = 0
        for voter in voters.voters:
            node = self.world.nodes[voter.key.id]
            if voter.is_replica(node.key):
                end = node.log.end_offset if node.alive else self._ends.get(node.key, 0)
                having += end >= committed
        self.hold(
            having > len(voters) // 2,
            f"node {leader.id} committed {committed}, only {having} of {voters} have that",
        )

    # --- what is told --------------------------------------------------------------------------

    def answered(self, source: int, target: int, request: Any, response: Any) -> None:
        topics = getattr(response, "topics", ())
        if not topics or not isinstance(
            request, VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest
        ):
            return
        answer = topics[0].partitions[0]
        key = self.world.nodes[target].key
        self.told_epochs[key] = max(self.told_epochs.get(key, 0), answer.leader_epoch)
        if isinstance(request, VoteRequest) and answer.vote_granted:
            asked = request.topics[0].partitions[0]
            if not asked.pre_vote:
                candidate = ReplicaKey(asked.replica_id, asked.replica_directory_id)
                self._voted(key, asked.replica_epoch, candidate)

    def _voted(self, voter: ReplicaKey, epoch: int, candidate: ReplicaKey) -> None:
        first = self.votes.setdefault((voter, epoch), candidate)
        self.hold(
            first == candidate, f"node {voter} voted for {first} and {candidate} in epoch {epoch}"
        )

    def leader_changed(self, node: QuorumNode, leader_id: int | None, epoch: int) -> None:
        if leader_id is None:
            return
        if leader_id == node.id:
            self.elections += 1
        first = self.leaders.setdefault(epoch, leader_id)
        self.hold(first == leader_id, f"nodes {first} and {leader_id} lead epoch {epoch}")

    # --- what is committed ---------------------------------------------------------------------

    def committed(self, node: QuorumNode, batch: CommittedBatch, image: MetadataImage) -> None:
        content = zlib.crc32(repr(list(batch.records)).encode())
        now = (batch.last_offset, batch.epoch, content)
        first = self.batches.setdefault(batch.base_offset, now)
        self.hold(first == now, f"node {node.id} was given another batch at {batch.base_offset}")
        self._same_state(node, image)

    def snapshot_loaded(self, node: QuorumNode, image: MetadataImage) -> None:
        self.hold(not node.raft.is_leader, f"leader {node.id} loads a snapshot")
        self._same_state(node, image)

    def _same_state(self, node: QuorumNode, image: MetadataImage) -> None:
        configs = {f"{key}": dict(value) for key, value in image.configs.items()}
        state = zlib.crc32(json.dumps(configs, sort_keys=True).encode())
        first = self.states.setdefault(image.offset, state)
        self.hold(first == state, f"node {node.id} has another image at offset {image.offset}")

    def at_the_end(self) -> None:
        """All nodes have the same, up to the last offset that was ever committed."""
        last = max(self.batches)
        for node in self.world.nodes.values():
            self.hold(
                node.loader.image.offset >= last,
                f"node {node.id} ends at {node.loader.image.offset}, committed was {last}",
            )
            self._same_state(node, node.loader.image)
        sets = {str(node.log.voters.latest) for node in self.world.nodes.values()}
        self.hold(len(sets) == 1, f"the nodes have different voters: {sets}")

"""Invariants of several replicas: I7, I12 and I14 in tests/simulation/README.md."""

from __future__ import annotations

import hashlib

from broker.replication.partition import Partition
from ground.sim_scheduler import SimScheduler
from protocol.record_batch import iterate_batches
from simulation.invariants.invariant import Invariant, Promises
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import SimulatedNodes

Place = tuple[bytes, int]


def batches(partition: Partition, end: int) -> dict[int, bytes]:
    """Return a digest of each batch of a replica below `end`, by its first offset.

    Raises AssertionError if the log cannot be read.
    """
    log = partition.log
    offset, data = log.log_start_offset, b""
    while offset < end:
        read = log.read(offset, 1 << 20)
        if read.error:
            raise AssertionError(f"{partition!r} cannot be read at {offset}: {read.error!r}")
        records = read.records if isinstance(read.records, bytes) else read.records.read()
        if not records:
            break
        data += records
        offset = 1 + max(header.last_offset for _, header in iterate_batches(memoryview(data)))
    view = memoryview(data)
    digests = {}
    for position, header in iterate_batches(view):
        if header.base_offset < end:
            whole = view[position : position + header.size_in_bytes]
            digests[header.base_offset] = hashlib.blake2b(whole, digest_size=8).digest()
    return digests


class ClusterInvariant(Invariant):
    """An invariant that looks at all nodes."""

    @property
    def view(self) -> SimulatedNodes:
        """All nodes of the cluster; an AssertionError in a run of a single broker."""
        view = self.promises.view
        assert view is not None
        return view


class ReplicasAreEqual(ClusterInvariant):
    """I7: when all faults have ended, the replicas of a partition hold the same bytes."""

    name = "I7"

    def at_end(self, final: object) -> None:
        """Raise Violation if replicas differ below their lowest high watermark."""
        for topic, _, index, registration in self.view.registrations():
            replicas = {
                broker_id: replica
                for broker_id in registration.replicas
                if (replica := self._replica(broker_id, topic, index)) is not None
            }
            if len(replicas) < len(registration.replicas):
                continue  # the last reader's search for a coordinator has just created it
            # Members commit offsets as long as brokers run: compare below all high watermarks.
            end = min(replica.log.high_watermark for replica in replicas.values())
            digests_by_replica = {
                node_id: batches(replica, end) for node_id, replica in replicas.items()
            }
            self._compare(f"{topic}-{index}", digests_by_replica)

    def _replica(self, broker_id: int, topic: str, index: int) -> Partition | None:
        """Return a broker's replica of a partition; None: the broker does not have it."""
        broker = self.view.node(broker_id)
        assert broker is not None
        return broker.replicas.partition(topic, index)

    def _compare(self, name: str, digests_by_replica: dict[int, dict[int, bytes]]) -> None:
        """Raise Violation if a batch in the range of all logs differs between them. The digests are
        by node id and first offset."""
        # Each replica moves its log start on its own, so compare what all still have.
        start = max((min(digests) for digests in digests_by_replica.values() if digests), default=0)
        common = {
            replica: {offset: digest for offset, digest in digests.items() if offset >= start}
            for replica, digests in digests_by_replica.items()
        }
        first, *others = common
        for other in others:
            if common[first] != common[other]:
                offsets = sorted(
                    offset
                    for offset in {**common[first], **common[other]}
                    if common[first].get(offset) != common[other].get(offset)
                )
                raise self.broken(
                    f"{name} differs between {first} and {other} at offsets {offsets[:5]}"
                )


class OneLeaderPerEpoch(ClusterInvariant):
    """I12: a leader epoch of a partition, and an epoch of the quorum, have one leader."""

    name = "I12"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._leaders: dict[tuple[Place, int], int] = {}
        self._controllers: dict[int, int] = {}
        self._seen: dict[str, tuple[int, int, object]] = {}

    def node_ran(self, broker: SimBroker) -> None:
        """Raise Violation if a second node leads the quorum or a partition in an epoch."""
        assert broker.node is not None
        raft = broker.node.controller.raft
        image = broker.node.image
        state = (broker.life, raft.epoch if raft.is_leader else -1, image)
        if self._seen.get(broker.address) == state:
            return
        self._seen[broker.address] = state
        if raft.is_leader:
            leader = self._controllers.setdefault(raft.epoch, broker.node_id)
            if leader != broker.node_id:
                raise self.broken(f"{leader} and {broker.node_id} lead the quorum in {raft.epoch}")
        if not broker.is_broker:
            return
        for partition in broker.replicas.partitions():
            if partition.is_leader:
                key = ((partition.topic_id, partition.index), partition.leader_epoch)
                if self._leaders.setdefault(key, broker.node_id) != broker.node_id:
                    raise self.broken(
                        f"{self._leaders[key]} and {broker.node_id} lead {partition!r} in epoch "
                        f"{partition.leader_epoch}"
                    )


class InSyncMeansInSync(ClusterInvariant):
    """I14: every member of the committed ISR holds all committed records."""

    name = "I14"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._high: dict[tuple[str, Place], tuple[int, int]] = {}
        self._ends: dict[tuple[int, Place], int] = {}

    def node_ran(self, broker: SimBroker) -> None:
        """Keep the end offsets of this broker's logs. For each partition that it leads, if the high
        watermark or the ISR has changed, raise Violation if an in-sync replica lacks a record."""
        if not broker.is_broker:
            return
        for partition in broker.replicas.partitions():
            place = (partition.topic_id, partition.index)
            self._ends[(broker.node_id, place)] = partition.log.log_end_offset
            if not partition.is_leader:
                continue
            high = partition.log.high_watermark
            state = (high, partition.partition_epoch)
            if self._high.get((broker.address, place)) != state:
                self._high[(broker.address, place)] = state
                self._check(partition, place, high)

    def _check(self, partition: Partition, place: Place, high: int) -> None:
        """Raise Violation if an in-sync replica lacks a committed record."""
        registration = self.view.newest_image().topics.partition(partition.topic, partition.index)
        if registration is None or registration.leader_epoch != partition.leader_epoch:
            return  # this leader was replaced, and its high watermark does not count
        # The ISR of a response to AlterPartition is committed too, though the controller that sent
        # it may die before another node has it.
        is_newer = partition.partition_epoch > registration.partition_epoch
        for member in partition.isr if is_newer else registration.isr:
            end = self._ends.get((member, place), 0)
            if end < high:
                raise self.broken(
                    f"{partition!r} is committed up to {high}, {member} in sync has it up to {end}"
                )

    def power_lost(self, broker: SimBroker) -> None:
        """Exempt a broker from the check until it runs again: its log may have lost records."""
        for node_id, place in list(self._ends):
            if node_id == broker.node_id:
                self._ends[(node_id, place)] = 1 << 62


CLUSTER_INVARIANTS = (ReplicasAreEqual, OneLeaderPerEpoch, InSyncMeansInSync)

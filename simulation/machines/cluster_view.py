"""A cluster as only the simulation sees it: all nodes at once, whatever the links between them.

For the nemesis (who leads now?) and for invariants (has another replaced who said this?). Reads the
nodes, changes nothing.
"""

from __future__ import annotations

from broker.replication.partition import Partition
from controller.metadata.image import MetadataImage, PartitionRegistration
from simulation.machines.sim_broker import SimBroker

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


class ClusterView:
    """See the module."""

    def __init__(self, nodes: list[SimBroker]) -> None:
        self.nodes = nodes
        self.brokers = [one for one in nodes if one.is_broker]
        self._by_id = {one.node_id: one for one in nodes}
        self._by_address = {one.address: one for one in nodes}

    def node(self, node_id: int) -> SimBroker | None:
        return self._by_id.get(node_id)

    def at(self, address: str) -> SimBroker:
        return self._by_address[address]

    def newest_image(self) -> MetadataImage:
        """The metadata of whoever has read furthest, dead or alive: all that was read is committed,
        though the living may not know it yet."""
        images = [one.last_image for one in self.nodes]
        images += [one.node.image for one in self.nodes if one.node is not None]
        return max(images, key=lambda image: image.offset, default=MetadataImage())

    def active_controller(self) -> SimBroker | None:
        """Who leads the quorum, in the newest epoch in which somebody does."""
        found: SimBroker | None = None
        epoch = -1
        for one in self.nodes:
            if one.node is None:
                continue
            raft = one.node.controller.raft
            if raft.is_leader and raft.epoch > epoch:
                found, epoch = one, raft.epoch
        return found

    def registrations(self) -> list[tuple[str, bytes, int, PartitionRegistration]]:
        """Every partition as the newest image has it: topic, topic id, index, registration."""
        return [
            (topic.name, topic.id, index, registration)
            for topic in self.newest_image().topics.by_name.values()
            for index, registration in topic.partitions.items()
        ]

    def leader(self, topic: str, index: int) -> SimBroker | None:
        """The leader of a partition, by the newest image."""
        registration = self.newest_image().topics.partition(topic, index)
        return None if registration is None else self._by_id.get(registration.leader)

    def coordinator(self) -> SimBroker | None:
        """The leader of the first partition of the offsets topic."""
        return self.leader(OFFSETS_TOPIC, 0)

    def transaction_coordinator(self) -> SimBroker | None:
        """The same of the transactions' topic; None where there is none."""
        return self.leader(TRANSACTIONS_TOPIC, 0)

    # --- how it is -----------------------------------------------------------------------------

    def is_replaced(self, broker: SimBroker, topic: str, index: int) -> bool:
        """Whether the metadata has a newer leader epoch of a partition than a broker has."""
        registration = self.newest_image().topics.partition(topic, index)
        if registration is None or broker.node is None:
            return True
        partition = broker.replicas.partition(topic, index)
        return partition is None or partition.leader_epoch < registration.leader_epoch

    def is_healthy(self, broker: SimBroker) -> bool:
        """Whether a broker serves, in this life, and is in sync with all that it holds."""
        return self.why_not_healthy(broker) is None

    def why_not_healthy(self, broker: SimBroker) -> str | None:
        """What a broker lacks."""
        if broker.node is None or broker.paused:
            return "it does not run"
        if not broker.is_broker:
            return None
        registered = self.newest_image().brokers.get(broker.node_id)
        if registered is None or registered.fenced or not broker.serving:
            return f"it does not serve: {registered}"
        if registered.epoch != broker.node.broker_epoch():
            return f"its epoch is {broker.node.broker_epoch()}, registered is {registered.epoch}"
        for topic, _, index, one in self.registrations():
            if broker.node_id in one.replicas and broker.node_id not in one.isr:
                partition = broker.replicas.partition(topic, index)
                return f"it is not in sync with {topic}-{index}: {one}; it has {_state(partition)}"
        return None

    def all_healthy(self) -> bool:
        return all(self.is_healthy(one) for one in self.nodes)

    def why_not_converged(self) -> str | None:
        """What keeps the cluster from being at rest; None where all have, and agree on, all."""
        for broker in self.nodes:
            why = self.why_not_healthy(broker)
            if why is not None:
                return f"{broker.address}: {why}"
        newest = self.newest_image()
        for broker in self.nodes:
            assert broker.node is not None
            image = broker.node.image
            if (image.topics, image.configs) != (newest.topics, newest.configs):
                return f"{broker.address} has other metadata ({image.offset}, {newest.offset})"
        for topic, _, index, registration in self.registrations():
            why = self._why_not_equal(topic, index, registration)
            if why is not None:
                return f"{topic}-{index}: {why}"
        return None

    def _why_not_equal(
        self, topic: str, index: int, registration: PartitionRegistration
    ) -> str | None:
        if len(registration.isr) < len(registration.replicas):
            return f"in sync are {registration.isr} of {registration.replicas}"
        ends = []
        for replica in registration.replicas:
            broker = self._by_id[replica]
            assert broker.node is not None
            partition = broker.replicas.partition(topic, index)
            if partition is None:
                return f"{broker.address} does not have it"
            if partition.leader_epoch != registration.leader_epoch:
                return f"{broker.address} is in epoch {partition.leader_epoch}"
            ends.append((partition.log.high_watermark, partition.log.log_end_offset))
        if len(set(ends)) > 1 or ends[0][0] != ends[0][1]:
            return f"high watermarks and ends are {ends}"
        return None


def _state(partition: Partition | None) -> str:
    if partition is None:
        return "nothing"
    log = partition.log
    return (
        f"leader {partition.leader_id} in epoch {partition.leader_epoch}, log "
        f"{log.log_start_offset} to {log.log_end_offset}, high watermark {log.high_watermark}"
    )

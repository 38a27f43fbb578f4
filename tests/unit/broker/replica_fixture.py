"""A ReplicaManager with real logs, whose topics a test makes by metadata records."""

from __future__ import annotations

from collections.abc import Sequence

from broker.config.parse import single_node_config
from broker.metrics import Metrics
from broker.replication.alter_partition_manager import AlterPartitionManager
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.replication.to_controller import ToController
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.records import MetadataRecord
from ground.filesystem import LocalFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from ground.sliced_work import Steps, in_one_go
from protocol.messages.metadata_records import (
    BrokerEndpoint,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from protocol.records import Record
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.producer_rules import ProducerRules
from tests.batches import build_batch

NODE_ID = 1


class Replicas:
    """One broker's replicas in a folder, in virtual time."""

    def __init__(
        self,
        folder: str,
        *,
        verifies_transactions: bool = False,
        descriptors: Descriptors | None = None,
        **overrides: str,
    ) -> None:
        self.scheduler = SimScheduler()
        self.blocking = SimBlocking(self.scheduler)
        """`folder`: one, or several separated by commas."""
        self.config = single_node_config({"log.dirs": folder, **overrides})
        self.failures = LogDirFailureChannel()
        environment = LogEnvironment(
            LocalFilesystem(),
            self.scheduler,
            self.blocking,
            self.failures,
            ProducerRules(verifies=verifies_transactions),
            descriptors=descriptors or Descriptors(),
        )
        self.logs = LogManager(
            environment,
            LogManagerSettings(self.config.log_dirs),
            lambda topic: self.manager.topic_config(topic),
            self.random_bytes,
        )
        self.manager = ReplicaManager(
            self.config, self.logs, self.scheduler, self.random_bytes, Metrics()
        )
        self.logs.lock()
        loaded: list[Exception | None] = []
        self.logs.load(done=loaded.append)
        self.scheduler.run_until(lambda: bool(loaded), 60_000)
        self.image = MetadataImage()
        self._offset = 0

    def random_bytes(self, count: int) -> bytes:
        return self.scheduler.random.randbytes(count)

    def replay(self, *records: MetadataRecord) -> None:
        """Commit metadata records, and have the replicas follow."""
        in_one_go(self.begin(*records))

    def begin(self, *records: MetadataRecord) -> Steps[None]:
        """Commit metadata records; what the replicas have to do for them."""
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self._offset += 1
        self.image = delta.apply(self._offset, 1, self.scheduler.wall_ms())
        return self.manager.follow(delta, self.image)

    def create(
        self,
        topic: str,
        partitions: int = 1,
        replicas: Sequence[int] = (NODE_ID,),
        isr: Sequence[int] | None = None,
        leader: int = NODE_ID,
        **configs: str,
    ) -> Partition:
        """Make a topic whose id is its name; its first partition."""
        self.replay_new(topic, partitions, replicas, isr, leader, **configs)
        return self.partition(topic)

    def replay_new(
        self,
        topic: str,
        partitions: int = 1,
        replicas: Sequence[int] = (NODE_ID,),
        isr: Sequence[int] | None = None,
        leader: int = NODE_ID,
        **configs: str,
    ) -> None:
        """The same of one that may not be served here."""
        topic_id = topic_id_of(topic)
        records: list[MetadataRecord] = [TopicRecord(topic, topic_id)]
        for key, value in configs.items():
            records.append(ConfigRecord(ResourceType.TOPIC, topic, key.replace("_", "."), value))
        for index in range(partitions):
            records.append(
                PartitionRecord(
                    index,
                    topic_id,
                    list(replicas),
                    list(replicas if isr is None else isr),
                    leader=leader,
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=[bytes(15) + b"\x05"] * len(replicas),
                )
            )
        self.replay(*records)

    def partition(self, topic: str, index: int = 0) -> Partition:
        partition = self.manager.partition(topic, index)
        assert partition is not None
        return partition

    def delete(self, topic: str) -> None:
        self.replay(RemoveTopicRecord(topic_id_of(topic)))

    def move_leader(self, topic: str, leader: int, isr: Sequence[int] | None = None) -> None:
        self.replay(
            PartitionChangeRecord(
                0, topic_id_of(topic), isr=None if isr is None else list(isr), leader=leader
            )
        )

    def register(
        self, broker_id: int, epoch: int = 1, *, fenced: bool = False, rack: str | None = None
    ) -> None:
        """Make a broker of the cluster known; again, with a later epoch, after its restart."""
        address = BrokerEndpoint("PLAINTEXT", f"host-{broker_id}", 9092, 0)
        self.replay(
            RegisterBrokerRecord(
                broker_id, broker_epoch=epoch, end_points=[address], rack=rack, fenced=fenced
            )
        )

    def propose_to(self, controller: ToController) -> None:
        """Let leaders propose ISRs to `controller`."""
        self.manager.leader_view.propose_to(
            AlterPartitionManager(self.scheduler, controller, NODE_ID, lambda: 1)
        )

    def reassign(self, topic: str, replicas: Sequence[int]) -> None:
        self.replay(PartitionChangeRecord(0, topic_id_of(topic), replicas=list(replicas)))

    def batch(self, *values: bytes, **options: object) -> memoryview:
        """A batch as a client sends it, with the present time."""
        now_ms = self.scheduler.wall_ms()
        records = [Record(-1, now_ms, None, value) for value in values]
        return memoryview(build_batch(records, **options))  # type: ignore[arg-type]

    def append(self, topic: str, *values: bytes, index: int = 0) -> int:
        """Append as a client with acks=1 would; the base offset."""
        partition = self.partition(topic, index)
        info = partition.append_as_leader(self.batch(*values), 1, self.scheduler.wall_ms())
        assert not isinstance(info, int), info
        assert not info.error, info
        partition.changed()
        return info.first_offset


def topic_id_of(topic: str) -> bytes:
    return topic.encode().ljust(16, b"_")[:16]

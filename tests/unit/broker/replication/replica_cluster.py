"""Several brokers' replicas in one process and virtual time, with a controller made of a few rules.

Everything between the logs is real: `ReplicaManager`, `Partition`, fetchers, the Fetch and
ListOffsets APIs, the codec, AlterPartition's proposals. The controller and the network are not:
what they may do is what a test wants to choose.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from broker.apis.fetch.api import FetchApi
from broker.apis.list_offsets import ListOffsetsApi
from broker.config.parse import single_node_config
from broker.metrics import Metrics
from broker.replication.alter_partition_manager import AlterPartitionManager
from broker.replication.partition import Partition
from broker.replication.replica_fetcher_manager import ReplicaFetcherManager
from broker.replication.replica_manager import ReplicaManager
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, PartitionRegistration, ResourceType
from controller.metadata.loader import delta_between
from controller.metadata.records import MetadataRecord
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from protocol.messages.metadata_records import (
    BrokerEndpoint,
    ConfigRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from protocol.record_batch import iterate_batches
from protocol.records import Record
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from tests.batches import build_batch
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.broker.replication.memory_network import Gone, MemoryChannel, MemoryNetwork

LAG_MS = 3000


class Broker:
    """One broker: its disk, and while it runs its replicas."""

    def __init__(self, cluster: ReplicaCluster, node_id: int) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.filesystem = MemoryFilesystem()
        self.running = False
        self.image = MetadataImage()
        self.epoch = 0
        self.clean = False
        self.config = single_node_config(
            {
                "log.dirs": "/data",
                "node.id": str(node_id),
                "replica.lag.time.max.ms": str(LAG_MS),
                "log.segment.bytes": "1048576",
                **cluster.overrides,
            }
        )

    def start(self, epoch: int) -> None:
        cluster = self.cluster
        self.epoch = epoch
        self.life = Gone(cluster.world)
        self.blocking = SimBlocking(cluster.world, 5.0)
        self.failures = LogDirFailureChannel()
        environment = LogEnvironment(
            self.filesystem,
            self.life,
            self.blocking,
            self.failures,
        )
        self.logs = LogManager(
            environment,
            LogManagerSettings(("/data",), replica_high_watermark_checkpoint_interval_ms=200),
            lambda topic: self.replicas.topic_config_in(cluster.image, topic),
            cluster.random_bytes,
        )
        self.replicas = ReplicaManager(
            self.config, self.logs, self.life, cluster.random_bytes, Metrics()
        )
        self.replicas.leader_view.propose_to(
            AlterPartitionManager(self.life, self._to_controller, self.node_id, lambda: self.epoch)
        )
        self.fetchers = ReplicaFetcherManager(
            self.config,
            cluster.network(self),
            self.life,
            self.replicas,
            lambda broker: ("host", broker) if broker in self.image.brokers else None,
            Metrics(),
            lambda: self.epoch,
        )
        answers = SlicedAnswers(self.logs.sliced)
        self.apis: dict[ApiKey, Callable[..., None]] = {
            ApiKey.FETCH: FetchApi(self.config, self.replicas, answers).handle,
            ApiKey.LIST_OFFSETS: ListOffsetsApi(self.config, self.replicas, answers).handle,
        }
        self.logs.lock()
        loaded: list[Exception | None] = []
        self.logs.load(done=loaded.append)
        cluster.world.run_until(lambda: bool(loaded), 60_000)
        assert loaded == [None]
        self.running = True
        cluster.prepare(self)
        self.image = MetadataImage()
        self.catch_up()
        self.logs.start()

    def catch_up(self) -> None:
        """Take the newest image in, however many lie between."""
        if self.running and self.image is not self.cluster.image:
            before, self.image = self.image, self.cluster.image
            self.replicas.apply(delta_between(before, self.image), self.image)

    def kill(self) -> None:
        """The process dies; what it wrote stays."""
        self.running = self.life.alive = self.blocking.alive = False
        self.filesystem.kill()
        for channel in list(self.cluster.channels):
            if channel.target == self.node_id:
                channel.lose()
        self.filesystem.heal()

    def stop(self) -> None:
        """A stop that leaves everything clean."""
        self.fetchers.shutdown()
        self.replicas.complete_waiting()
        self.logs.close(self.epoch)
        self.running = self.life.alive = self.blocking.alive = False

    def partition(self, topic: str = "t") -> Partition:
        found = self.replicas.partition(topic, 0)
        assert found is not None
        return found

    def _to_controller(self, request: Any, respond: Callable[[Any], None]) -> None:
        self.cluster.alter_partition(self, request, respond)


class ReplicaCluster:
    """Brokers 1 to `count`, all running, with one topic `t` of one partition on all of them."""

    def __init__(
        self,
        seed: int,
        count: int = 3,
        delay_ms: float = 3.0,
        prepare: Callable[[Broker], None] = lambda _: None,
        **configs: str,
    ) -> None:
        """`prepare` sees each broker at each start, before it hears of metadata."""
        self.world = SimScheduler(seed)
        self.chance = random.Random(f"{seed}/cluster")
        self.overrides: dict[str, str] = {}
        self.delay_ms = delay_ms
        self.cuts: dict[tuple[int, int], None] = {}
        self.channels: dict[MemoryChannel, None] = {}
        self.prepare = prepare
        self.image = MetadataImage()
        self._offset = 0
        self.brokers = {one: Broker(self, one) for one in range(1, count + 1)}
        for broker in self.brokers.values():
            self._register(broker)
            broker.start(self._offset)
        self.create("t", tuple(self.brokers), **configs)

    def random_bytes(self, count: int) -> bytes:
        return self.chance.randbytes(count)

    def network(self, source: Broker) -> MemoryNetwork:
        return MemoryNetwork(self, source)

    def later(self, callback: Callable[[], None]) -> None:
        self.world.call_later(0.1 + self.chance.random() * self.delay_ms, callback)

    def is_cut(self, source: int, target: int) -> bool:
        return (source, target) in self.cuts

    def run(self, duration_ms: float) -> None:
        self.world.run_for(duration_ms)

    # --- the controller ------------------------------------------------------------------------

    def commit(self, *records: MetadataRecord) -> None:
        """Commit metadata; each broker hears of it a little later, of several at once perhaps."""
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self._offset += 1
        self.image = delta.apply(self._offset, 1, self.world.wall_ms())
        for broker in self.brokers.values():
            self.world.call_later(self.chance.random() * 20, broker.catch_up)

    def _register(self, broker: Broker) -> None:
        endpoint = BrokerEndpoint("PLAINTEXT", "host", broker.node_id, 0)
        epoch = self._offset + 1
        self.commit(
            RegisterBrokerRecord(
                broker.node_id, broker_epoch=epoch, end_points=[endpoint], fenced=False
            )
        )

    def create(self, topic: str, replicas: tuple[int, ...], **configs: str) -> None:
        topic_id = topic_id_of(topic)
        self.commit(
            TopicRecord(topic, topic_id),
            *[
                ConfigRecord(ResourceType.TOPIC, topic, key.replace("_", "."), value)
                for key, value in configs.items()
            ],
            PartitionRecord(
                0,
                topic_id,
                list(replicas),
                list(replicas),
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes(15) + b"\x05"] * len(replicas),
            ),
        )

    def registration(self, topic: str = "t") -> PartitionRegistration:
        found = self.image.topics.partition(topic, 0)
        assert found is not None
        return found

    def change(
        self, leader: int | None = None, isr: list[int] | None = None, topic: str = "t"
    ) -> None:
        """Another leader (also the same: another epoch), or another ISR."""
        change = PartitionChangeRecord(0, topic_id_of(topic), isr=isr)
        if leader is not None:
            change.leader = leader
        self.commit(change)

    def leader(self, topic: str = "t") -> Broker | None:
        """The broker that leads and knows it."""
        broker = self.brokers.get(self.registration(topic).leader)
        if broker is None or not broker.running:
            return None
        partition = broker.replicas.partition(topic, 0)
        return broker if partition is not None and partition.is_leader else None

    def fence(self, node_id: int) -> None:
        """A broker is gone: it leaves the ISR, unless it is the last; another one leads."""
        now = self.registration()
        isr = [one for one in now.isr if one != node_id] or [node_id]
        alive = [one for one in isr if self.brokers[one].running]
        fenced = FenceBrokerRecord(node_id, self.brokers[node_id].epoch)
        change = PartitionChangeRecord(0, topic_id_of("t"), isr=isr)
        if now.leader == node_id:
            change.leader = alive[0] if alive else -1
        self.commit(fenced, *([change] if change.leader != -2 or isr != list(now.isr) else []))

    def kill(self, node_id: int) -> None:
        self.brokers[node_id].kill()
        self.fence(node_id)

    def restart(self, node_id: int) -> None:
        broker = self.brokers[node_id]
        self._register(broker)
        broker.start(self._offset)
        now = self.registration()
        if now.leader < 0 and node_id in now.isr:
            self.change(node_id, None)

    def alter_partition(
        self, sender: Broker, request: AlterPartitionRequest, respond: Callable[[Any], None]
    ) -> None:
        life = sender.life

        def decide() -> None:
            topics = []
            for topic in request.topics:
                answers = [self._alter(topic.topic_id, one) for one in topic.partitions]
                topics.append(AlterPartitionResponseTopicData(topic.topic_id, answers))
            answer = AlterPartitionResponse(0, 0, topics)
            self.later(lambda: respond(answer) if life.alive else None)

        self.later(decide)

    def _alter(self, topic_id: bytes, asked: Any) -> AlterPartitionResponsePartitionData:
        topic = self.image.topics.get_by_id(topic_id)
        assert topic is not None
        now = self.registration(topic.name)
        isr = [one.broker_id for one in asked.new_isr_with_epochs]
        error = ErrorCode.NONE
        if asked.leader_epoch != now.leader_epoch:
            error = ErrorCode.FENCED_LEADER_EPOCH
        elif asked.partition_epoch != now.partition_epoch:
            error = ErrorCode.INVALID_UPDATE_VERSION
        elif any(not self.brokers[one].running for one in isr) or any(
            one.broker_epoch not in (-1, self.brokers[one.broker_id].epoch)
            for one in asked.new_isr_with_epochs
        ):
            error = ErrorCode.INELIGIBLE_REPLICA
        if error:
            return AlterPartitionResponsePartitionData(0, int(error))
        self.change(None, isr, topic.name)
        now = self.registration(topic.name)
        return AlterPartitionResponsePartitionData(
            0, 0, now.leader, now.leader_epoch, isr, 0, now.partition_epoch
        )

    # --- clients -------------------------------------------------------------------------------

    def append(self, value: bytes, count: int = 1, acks: int = -1) -> tuple[int, int] | None:
        """(base offset, end offset) of a batch that the leader took; None where none did."""
        leader = self.leader()
        if leader is None:
            return None
        partition = leader.partition()
        now_ms = self.world.wall_ms()
        batch = memoryview(build_batch([Record(-1, now_ms, None, value)] * count))
        info = partition.append_as_leader(batch, acks, now_ms)
        if isinstance(info, ErrorCode) or info.error:
            return None
        partition.changed()
        return info.first_offset, info.last_offset + 1

    def bytes_of(self, node_id: int, start: int, end: int) -> bytes:
        """The batches of a replica's log from `start` below `end`."""
        log, found = self.brokers[node_id].partition().log, b""
        offset = start
        while offset < end:
            data = log.read(offset, 1 << 20, end)
            assert not data.error
            if not data.size:
                break
            chunk = data.records.read()  # type: ignore[union-attr]
            found += chunk
            offset = _end_of(chunk)
        return found

    def assert_equal_logs(self, topic: str = "t") -> None:
        """I7, after everything has healed: the same bytes up to the high watermark, at the end."""
        leader = self.leader(topic)
        assert leader is not None
        log = leader.partition(topic).log
        end = log.log_end_offset
        assert log.high_watermark == end
        logs = [broker.partition(topic).log for broker in self.brokers.values()]
        # A log start is on disk a minute later only: after a crash some replicas have an older one.
        start = max(each.log_start_offset for each in logs)
        expected = self.bytes_of(leader.node_id, start, end)
        for node_id, broker in self.brokers.items():
            other = broker.partition(topic).log
            assert (other.log_end_offset, other.high_watermark) == (end, end), f"broker {node_id}"
            found = self.bytes_of(node_id, start, end)
            assert found == expected, f"broker {node_id} has other bytes than the leader"


def _end_of(batches: bytes) -> int:
    return [header.next_offset for _, header in iterate_batches(memoryview(batches))][-1]

"""Replicas that move between directories: what is copied, when it is exchanged, and every end."""

from __future__ import annotations

import errno
import random
from contextlib import suppress

import pytest

from broker.config.parse import single_node_config
from broker.metrics import Metrics
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.replication.replica_mover import align
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from ground.memory_filesystem import Died, MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.log_dir_failure import DescriptorsLack, LogDirFailure, LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, environment, open_log, read_all

TOPIC_ID = b"t" * 16
A, B = "/a", "/b"
BROKER = 4  # the resource type of a broker's configs


class Broker:
    """One broker with two directories; its one topic lies in the first."""

    def __init__(self, filesystem: MemoryFilesystem | None = None) -> None:
        self.filesystem = filesystem or MemoryFilesystem()
        self.start()

    def start(self) -> None:
        self.world = SimScheduler(7)
        self.failures = LogDirFailureChannel()
        blocking = SimBlocking(self.world, 5.0)
        self.config = single_node_config({"log.dirs": f"{A},{B}", "log.segment.bytes": "1048576"})
        self.logs = LogManager(
            LogEnvironment(self.filesystem, self.world, blocking, self.failures),
            LogManagerSettings((A, B)),
            lambda topic: self.replicas.topic_config(topic),
            self.world.random.randbytes,
        )
        self.replicas = ReplicaManager(
            self.config, self.logs, self.world, self.world.random.randbytes, Metrics()
        )
        self.logs.lock()
        done: list[Exception | None] = []
        self.logs.load(done=done.append)
        self.world.run_until(lambda: bool(done), 60_000)
        assert done == [None]
        self.image = MetadataImage()
        self.replay(TopicRecord("t", TOPIC_ID))
        self.replay(PartitionRecord(0, TOPIC_ID, [1], [1], leader=1, leader_epoch=0))

    def replay(self, record: object) -> None:
        delta = MetadataDelta(self.image)
        delta.replay(record)  # type: ignore[arg-type]
        self.image = delta.apply(self.image.offset + 1, 1, NOW_MS)
        self.replicas.apply(delta, self.image)

    @property
    def partition(self) -> Partition:
        found = self.replicas.partition("t", 0)
        assert found is not None
        return found

    def append(self, count: int = 1, size: int = 1000) -> None:
        for number in range(count):
            value = b"%06d" % number + b"v" * size
            info = self.partition.append_as_leader(batch(value), 1, self.world.wall_ms())
            assert not isinstance(info, ErrorCode) and not info.error, info

    def move(self, log_dir: str = B) -> None:
        self.replicas.mover.move(self.partition, log_dir)

    def run(self, ms: float = 60_000) -> None:
        self.world.run_until(lambda: not len(self.replicas.mover), ms)

    def folders(self, log_dir: str) -> list[str]:
        return [one for one in self.filesystem.list_dir(log_dir) if one.startswith("t-0")]


def test_a_replica_moves_with_all_that_it_has() -> None:
    broker = Broker()
    broker.append(30, 100_000)
    log = broker.partition.log
    log.increment_log_start_offset(3)
    before, epochs = read_all(log), log.leader_epochs.entries
    assert log.log_dir == A
    broker.move()
    broker.run()
    moved = broker.partition.log
    assert (moved.log_dir, moved.directory) == (B, "/b/t-0")
    assert broker.logs.get(("t", 0)) is moved
    assert read_all(moved) == before
    assert (moved.log_start_offset, moved.log_end_offset) == (3, 30)
    assert moved.high_watermark == 30
    assert moved.leader_epochs.entries == epochs
    assert moved.topic_id == TOPIC_ID
    assert moved.recovery_point >= log.recovery_point
    assert [one[-7:] for one in broker.folders(A)] == ["-delete"]
    broker.world.run_for(70_000)
    assert broker.folders(A) == []
    broker.append()
    assert broker.partition.log.log_end_offset == 31


def test_it_serves_while_it_moves_and_catches_up_with_a_steady_load() -> None:
    broker = Broker()
    broker.append(5, 200_000)
    broker.move()
    for _ in range(400):
        broker.append(1, 20_000)
        broker.world.run_for(1)
        if not len(broker.replicas.mover):
            break
    assert broker.partition.log.log_dir == B
    total = broker.partition.log.log_end_offset
    assert total > 6
    assert read_all(broker.partition.log).count(b"v" * 20_000) == 5 * 10 + total - 5


def test_a_rate_slows_it_down() -> None:
    broker = Broker()
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    broker.replay(ConfigRecord(BROKER, "", key, "100000"))
    broker.append(10, 100_000)
    broker.move()
    began = broker.world.monotonic_ms()
    broker.run()
    assert broker.partition.log.log_dir == B
    assert broker.world.monotonic_ms() - began > 8_000


def test_a_restart_in_the_midst_goes_on() -> None:
    for clean in (True, False):
        broker = Broker()
        broker.replay(
            ConfigRecord(BROKER, "", "replica.alter.log.dirs.io.max.bytes.per.second", "100000")
        )
        broker.append(10, 100_000)
        before = read_all(broker.partition.log)
        broker.move()
        broker.world.run_for(3_000)
        future = broker.logs.future_logs.get(("t", 0))
        assert future is not None and 0 < future.log_end_offset < 10
        assert [one[-7:] for one in broker.folders(B)] == ["-future"]
        if clean:
            broker.replicas.complete_waiting()
            assert broker.logs.close()
        else:
            broker.filesystem.kill()
        had = future.log_end_offset
        broker.start()
        future = broker.logs.future_logs.get(("t", 0))
        assert future is not None and future.log_end_offset >= had
        assert broker.partition.log.log_dir == A
        broker.run()
        assert broker.partition.log.log_dir == B
        assert read_all(broker.partition.log) == before


def test_a_move_back_or_elsewhere_ends_it() -> None:
    broker = Broker()
    broker.append(10, 200_000)
    broker.move()
    broker.world.run_for(1)
    broker.move(A)
    broker.run()
    assert broker.partition.log.log_dir == A
    assert broker.logs.future_logs.get(("t", 0)) is None
    broker.world.run_for(100)
    assert broker.folders(B) == []


def test_a_deleted_topic_takes_its_copy_along() -> None:
    broker = Broker()
    broker.append(10, 200_000)
    broker.move()
    broker.world.run_for(1)
    broker.replay(RemoveTopicRecord(TOPIC_ID))
    broker.world.run_for(100_000)
    assert broker.folders(A) == broker.folders(B) == []
    assert len(broker.replicas.mover) == 0


@pytest.mark.parametrize(
    ("operation", "path", "left"),
    [
        ("append", "-future/", A),
        ("sync", "-future/", A),
        ("rename", "-future", A),
        ("sync_dir", B, A),
        ("pread", "/a/t-0", None),
        ("rename", "/a/t-0", B),
    ],
)
def test_a_disk_that_fails(operation: str, path: str, left: str | None) -> None:
    """Where the copy's disk fails the log stays; where the log's own does, it is offline."""
    broker = Broker()
    broker.append(20, 100_000)
    broker.filesystem.inject(operation, path_part=path, count=10**6)
    with suppress(LogDirFailure):
        broker.move()
    broker.run(10_000)
    log = broker.partition.log
    if left is None:
        assert broker.logs.online_dirs == [B]
        assert log.offline and log.log_dir == A
        return
    assert log.log_dir == left
    assert broker.logs.online_dirs == [left]
    assert not log.offline
    assert log.log_end_offset == 20


def each_end(power: bool) -> int:
    """Die before every change of the disk that a move makes; how many there were."""
    model = Broker()
    model.append(8, 200_000)
    model.partition.log.flush()
    model.world.run_for(100)
    model.logs.upkeep.checkpoint_recovery_points()
    model.world.run_for(100)
    wanted = read_all(model.partition.log)
    for folder in ("/", A, B):
        model.filesystem.sync_dir(folder)
    for point in range(200):
        disk = model.filesystem.clone()
        disk.kill()
        disk.heal()
        broker = Broker(disk)
        disk.die_at = disk.changes + point
        died = False
        try:
            broker.move()
            broker.run()
            broker.world.run_for(100_000)
        except Died:
            died = True
        disk.die_at = None
        if power:
            disk.lose_power(random.Random(point))
        else:
            disk.kill()
        disk.heal()
        again = Broker(disk)
        assert read_all(again.partition.log) == wanted, point
        again.run()
        again.world.run_for(100_000)
        assert read_all(again.partition.log) == wanted, point
        live = [one for path in (A, B) for one in again.folders(path)]
        assert live.count("t-0") == 1, (point, live)
        if not died:
            return point
    raise AssertionError("it never ends")


@pytest.mark.parametrize("power", [False, True])
def test_whenever_the_process_ends_or_the_power_goes_nothing_is_lost(power: bool) -> None:
    assert each_end(power) > 15


# ---- what is cut off -----------------------------------------------------------------------------


def two_logs() -> tuple[UnifiedLog, UnifiedLog]:
    ports = environment(MemoryFilesystem())
    config = LogConfig(segment_bytes=1 << 20)
    return (
        open_log(ports=ports, config=config, directory="/data/topic-0"),
        open_log(ports=ports, config=config, directory="/data/topic-1"),
    )


def copy(log: UnifiedLog, future: UnifiedLog) -> None:
    records = log.read(future.log_end_offset, 1 << 20).records
    data = records if isinstance(records, bytes) else records.read()
    future.append_as_follower(memoryview(bytearray(data)), log.latest_epoch)


def test_what_the_log_cut_off_is_cut_off_the_copy() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        log, future = two_logs()
        epoch = 0
        for step in range(40):
            draw = chance.random()
            if draw < 0.5:
                log.append_as_leader(batch(b"%d" % step, b"x"), epoch, NOW_MS)
            elif draw < 0.6:
                log.high_watermark = log.log_start_offset
                log.truncate_to(chance.randint(log.log_start_offset, log.log_end_offset))
                epoch += 1  # what follows is another leader's
            elif draw < 0.65:
                log.update_high_watermark(log.log_end_offset)
                log.increment_log_start_offset(
                    chance.randint(log.log_start_offset, log.log_end_offset)
                )
            elif draw < 0.7:
                end = log.log_end_offset + chance.randint(0, 5)
                log.truncate_fully_and_start_at(end)
                epoch += 1
            else:
                align(log, future)
                if future.log_end_offset < log.log_end_offset:
                    copy(log, future)
        for _ in range(10):
            align(log, future)
            if future.log_end_offset < log.log_end_offset:
                copy(log, future)
        assert future.log_end_offset == log.log_end_offset, seed
        start = max(log.log_start_offset, future.log_start_offset)
        assert start == log.log_start_offset, seed
        assert read_all(future, start) == read_all(log, start), seed


def test_a_copy_that_there_is_no_descriptor_for_is_not_begun() -> None:
    broker = Broker()
    descriptors = broker.logs.descriptors
    descriptors.moves = lambda: 10**10
    with pytest.raises(DescriptorsLack, match="is not moved"):
        broker.move()
    assert broker.folders(B) == [] and broker.logs.online_dirs == [A, B]
    broker.move(A)  # to where it lies: nothing to do
    descriptors.moves = lambda: 0
    broker.move()
    broker.run()
    assert broker.partition.log.log_dir == B


@pytest.mark.parametrize("operation", ["open", "replace", "sync_dir", "read"])
def test_a_move_waits_for_descriptors_wherever_they_lack(operation: str) -> None:
    for skip in range(1_000):
        broker = Broker()
        broker.append(3)
        broker.filesystem.inject(operation, errno.EMFILE, skip=skip)
        try:
            broker.move()
        except DescriptorsLack:
            broker.move()  # whoever asked for it asks again; once it is begun it goes on by itself
        broker.run()
        assert broker.logs.online_dirs == [A, B]
        if broker.filesystem.faults_left:
            break
        assert broker.partition.log.log_dir == B and not broker.partition.log.offline
        broker.append()
    assert operation == "read" or skip

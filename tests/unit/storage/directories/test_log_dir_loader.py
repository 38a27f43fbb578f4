"""Scenario S4: every side file, damaged in every way, after a clean and after an unclean stop.

Whatever lies beside the segments may be missing, zeroed, cut short or of an earlier time: the log
still holds the same records, finds them by offset and by time, knows its leader epochs, and takes a
producer's retry for one.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from storage.directories.log_dirs import read_meta_properties, write_meta_properties
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.checkpoints import MetaProperties
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch, offset_by_time, read_all

TOPIC_ID = bytes(range(16))
CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=200, file_delete_delay_ms=0)
PRODUCER = {"producer_id": 7, "producer_epoch": 0}

FILES = (
    "{active}.index",
    "{active}.timeindex",
    "{closed}.index",
    "{closed}.timeindex",
    "{closed}.txnindex",
    "{end}.snapshot",
    "{active}.snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "../recovery-point-offset-checkpoint",
    "../log-start-offset-checkpoint",
    "../replication-offset-checkpoint",
    "../cleaner-offset-checkpoint",
    "../.kafka_cleanshutdown",
)
OLD = "old"
DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "zeroed": lambda data: bytes(len(data) or 24),
    "cut short": lambda data: data[: len(data) * 2 // 3],
    "garbage": lambda data: b"\xa5" * (len(data) or 24),
}


def opened(filesystem: MemoryFilesystem) -> LogManager:
    environment = LogEnvironment(filesystem, SimScheduler(), Jobs(), LogDirFailureChannel())
    manager = LogManager(
        environment, LogManagerSettings(("/data",)), lambda _: CONFIG, lambda n: bytes(n)
    )
    manager.lock()
    manager.load()
    return manager


def the_log(manager: LogManager) -> UnifiedLog:
    return manager.get_or_create(("t", 0), TOPIC_ID)


def fill(log: UnifiedLog, first: int, last: int) -> None:
    """Batches of two records; every fourth is a producer's; a new epoch every ten."""
    for number in range(first, last):
        fields = {**PRODUCER, "base_sequence": number // 4 * 2} if number % 4 == 0 else {}
        sent = batch(b"%04d" % number, b"v" * 80, timestamp=NOW_MS + number, **fields)
        info = log.append_as_leader(sent, number // 10, NOW_MS + number)
        assert info.error is ErrorCode.NONE, info
    log.update_high_watermark(log.log_end_offset)


def checkpoint(manager: LogManager) -> None:
    manager.upkeep.checkpoint_recovery_points()
    manager.upkeep.checkpoint_log_starts()
    manager.upkeep.checkpoint_high_watermarks()


class World:
    """A folder after a stop, one from earlier in its life, and what it has to hold."""

    def __init__(self, *, clean: bool) -> None:
        filesystem = MemoryFilesystem()
        manager = opened(filesystem)
        log = the_log(manager)
        fill(log, 0, 25)
        checkpoint(manager)
        assert manager.close(3)
        self.earlier = filesystem.clone()
        filesystem.heal()
        manager = opened(filesystem)
        log = the_log(manager)
        fill(log, 25, 61)
        log.increment_log_start_offset(5)
        checkpoint(manager)
        fill(log, 61, 65)
        self.records = read_all(log, 6)
        self.epochs = log.leader_epochs.entries
        self.end = log.log_end_offset
        bases = log.segments.base_offsets
        self.names = {
            "active": f"{bases[-1]:020d}",
            "closed": f"{bases[1]:020d}",
            "end": f"{self.end:020d}",
        }
        if clean:
            assert manager.close(4)
        else:
            filesystem.kill()
        self.filesystem = filesystem


WORLDS = {clean: World(clean=clean) for clean in (True, False)}


def check(filesystem: MemoryFilesystem, world: World) -> None:
    manager = opened(filesystem)
    assert manager.online_dirs == ["/data"]
    log = the_log(manager)
    assert log.log_end_offset == world.end
    assert log.log_start_offset in (0, 5)
    assert read_all(log, 6) == world.records
    assert log.leader_epochs.latest == world.epochs[-1][0]
    wanted = [start for _, start in world.epochs if start > 5]
    assert [start for _, start in log.leader_epochs.entries if start > 5] == wanted
    for number in range(5, 65, 7):
        found = offset_by_time(log, NOW_MS + number)
        assert found is not None and found.offset == 2 * number
        read = log.read(2 * number + 1, 1)
        data = read.records if isinstance(read.records, bytes) else read.records.read()
        (_, header), *_ = iterate_batches(data, allow_partial_tail=True)
        assert header.base_offset == 2 * number
    again = batch(b"0064", b"v" * 80, timestamp=NOW_MS, **PRODUCER, base_sequence=32)
    info = log.append_as_leader(again, 6, NOW_MS)
    assert (info.error, info.duplicate, info.first_offset) == (ErrorCode.NONE, True, 128)
    fill(log, 68, 70)
    assert manager.close(5)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", [*DAMAGE, OLD])
@pytest.mark.parametrize("name", FILES)
def test_a_side_file_is_rebuilt(name: str, damage: str, clean: bool) -> None:
    world = WORLDS[clean]
    path = f"/data/t-0/{name.format(**world.names)}".replace("t-0/../", "")
    filesystem = world.filesystem.clone()
    filesystem.heal()
    if damage == OLD:
        data = world.earlier.read(path) if world.earlier.exists(path) else None
    else:
        data = DAMAGE[damage](filesystem.read(path) if filesystem.exists(path) else b"")
    if data is None:
        filesystem.remove(path)
    else:
        filesystem.replace_atomically(path, data)
    check(filesystem, world)


@pytest.mark.parametrize("damage", ["empty", "zeroed", "cut short", "garbage"])
def test_a_folder_of_unknown_owner_is_refused(damage: str) -> None:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/data")
    write_meta_properties(filesystem, "/data", MetaProperties("c" * 22, 1, b"d" * 16))
    path = "/data/meta.properties"
    damaged = DAMAGE[damage](filesystem.read(path))
    assert damaged is not None
    filesystem.replace_atomically(path, damaged)
    with pytest.raises(ValueError, match="damaged or incomplete"):
        read_meta_properties(filesystem, "/data")


def flipped(seed: int, kind: str) -> tuple[MemoryFilesystem, World]:
    """A folder in which one bit of one file of this kind is another."""
    chance = random.Random(seed)
    world = WORLDS[chance.random() < 0.5]
    filesystem = world.filesystem.clone()
    filesystem.heal()
    files = [path for path, data in filesystem.files() if path.endswith(kind) and data]
    if files:
        path = chance.choice(files)
        data = bytearray(filesystem.read(path))
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        filesystem.replace_atomically(path, data)
    return filesystem, world


@pytest.mark.parametrize(
    "kind",
    (
        ".index",
        ".timeindex",
        ".snapshot",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        ".kafka_cleanshutdown",
    ),
)
@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_in_a_side_file_changes_nothing(seed: int, kind: str) -> None:
    """Scenario S3: indexes have no checksums; what one says is held against the batches."""
    check(*flipped(seed, kind))


@pytest.mark.parametrize("kind", ("leader-epoch-checkpoint", "log-start-offset-checkpoint"))
@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_digit_loses_no_batch(seed: int, kind: str) -> None:
    """Texts without a checksum, in which another digit is another truth, as in Kafka: where the
    file can still be read, records stay where they are, and the log goes on."""
    filesystem, world = flipped(seed, kind)
    manager = opened(filesystem)
    log = the_log(manager)
    assert log.log_end_offset == world.end
    assert world.records.endswith(read_all(log, max(6, log.log_start_offset)))
    fill(log, 68, 70)
    assert manager.close(5)


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_in_a_topic_id_sets_the_log_aside(seed: int) -> None:
    """It is not that topic's log any more, as far as anybody can know: it is renamed, and kept."""
    filesystem, world = flipped(seed, "t-0/partition.metadata")
    manager = opened(filesystem)
    log = the_log(manager)
    stray = [name for name in filesystem.list_dir("/data") if name.endswith("-stray")]
    if not stray:
        assert log.log_end_offset == world.end
        return
    kept = [data for path, data in filesystem.files() if stray[0] in path and path.endswith(".log")]
    assert b"".join(kept).endswith(world.records)


@pytest.mark.parametrize("seed", range(120))
def test_a_flipped_bit_in_a_segment_is_served_as_it_is_or_refused(seed: int) -> None:
    """S3: the broker makes nothing of it that looks right. Who reads checks the batch's checksum:
    consumers, and followers before they append."""
    filesystem, world = flipped(seed, ".log")
    manager = opened(filesystem)
    log = the_log(manager)
    on_disk = b"".join(
        data for path, data in filesystem.files() if "/t-0/" in path and path.endswith(".log")
    )
    for number in range(3, 65):
        read = log.read(2 * number, 1)
        if read.error is not ErrorCode.NONE:
            assert read.error in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.OFFSET_OUT_OF_RANGE)
            continue
        data = read.records if isinstance(read.records, bytes) else read.records.read()
        assert data in on_disk
    manager.close(5)

"""The files of one log."""

from __future__ import annotations

from dataclasses import replace

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.local_log import LocalLog
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, environment

LOG = "/data/topic-0"


def failed(doing: str, error: OSError) -> None:
    raise AssertionError(f"{doing}: {error}")


def local_log(
    filesystem: MemoryFilesystem,
    config: LogConfig | None = None,
    scheduler: SimScheduler | None = None,
) -> LocalLog:
    filesystem.make_dirs(LOG)
    config = config or LogConfig()
    segments = LogSegments()
    segments.add(LogSegment(filesystem, LOG, 0, config, created_ms=NOW_MS, create=True))
    ports = replace(
        environment(filesystem),
        scheduler=scheduler or SimScheduler(),
        random_below=lambda below: below - 1,
    )
    snapshots, epochs = ProducerSnapshots(filesystem, LOG), LeaderEpochCache(filesystem, LOG)
    return LocalLog(ports, LOG, config, segments, snapshots, epochs, failed)


def add(log: LocalLog, base: int) -> None:
    active = log.segments.active
    data = batch(b"v", base_offset=base)
    active.note(base, NOW_MS, active.append(data), len(data))


def test_rolling_closes_one_segment_and_opens_the_next() -> None:
    filesystem = MemoryFilesystem()
    log = local_log(filesystem)
    first = log.segments.active
    assert log.roll(0, NOW_MS) is first
    add(log, 0)
    second = log.roll(1, NOW_MS)
    assert log.segments.active is second
    assert not first.offset_index.is_open
    assert filesystem.exists(first.path(".index")) and filesystem.exists(first.path(".timeindex"))


def test_a_new_segment_gets_its_jitter() -> None:
    config = LogConfig(segment_ms=1000, segment_jitter_ms=101)
    log = local_log(MemoryFilesystem(), config)
    add(log, 0)
    log.roll(1, NOW_MS)
    add(log, 1)
    assert log.segments.active.is_full(2, NOW_MS + 901, 1, NOW_MS)
    assert not log.segments.active.is_full(2, NOW_MS + 900, 1, NOW_MS)


def test_a_stale_file_of_a_new_segments_name_is_emptied() -> None:
    filesystem = MemoryFilesystem()
    log = local_log(filesystem)
    add(log, 0)
    filesystem.open(f"{LOG}/{1:020d}.log", create=True).append(b"old bytes")
    assert log.roll(1, NOW_MS).size == 0


def test_segments_set_aside_keep_their_bytes_for_the_delay() -> None:
    filesystem, scheduler = MemoryFilesystem(), SimScheduler()
    log = local_log(filesystem, LogConfig(file_delete_delay_ms=10), scheduler)
    add(log, 0)
    log.roll(1, NOW_MS)
    log.set_aside([log.segments.first])
    scheduler.run_for(9)
    assert log.segments.base_offsets == [1]
    deleted = [name for name in filesystem.list_dir(LOG) if name.endswith(".deleted")]
    assert [name.partition(".")[2] for name in deleted] == [
        "index.deleted",
        "log.deleted",
        "timeindex.deleted",
    ]
    scheduler.run_for(1)
    assert filesystem.list_dir(LOG) == [f"{1:020d}.log"]


def test_truncation_over_segments_reopens_the_one_that_is_left() -> None:
    filesystem, scheduler = MemoryFilesystem(), SimScheduler()
    log = local_log(filesystem, scheduler=scheduler)
    for base in range(4):
        add(log, base)
        log.roll(base + 1, NOW_MS)
    assert log.truncate_to(1) == 1
    scheduler.run_for(60_000)
    assert not [name for name in filesystem.list_dir(log.directory) if name.endswith(".deleted")]
    assert log.segments.base_offsets == [0, 1]
    assert log.segments.active.offset_index.is_open
    add(log, 1)
    assert log.segments.active.locate(1) is not None


def test_syncing_covers_segments_from_the_offset_on_and_the_folder_last() -> None:
    filesystem = MemoryFilesystem()
    log = local_log(filesystem)
    for base in range(3):
        add(log, base)
        log.roll(base + 1, NOW_MS)
    log.sync_job(3, [])()
    assert ("sync", f"{LOG}/{3:020d}.log") not in filesystem.calls, "it is empty"
    add(log, 3)
    filesystem.replace_atomically(f"{LOG}/epochs", b"x", sync=False)
    filesystem.calls.clear()
    log.sync_job(2, [f"{LOG}/epochs"])()
    synced = [path.rpartition("/")[2] for operation, path in filesystem.calls]
    assert [name[18:] for name in synced[:4]] == ["02.log", "02.index", "02.timeindex", "03.log"]
    filesystem.calls.clear()
    log.sync_job(3, [])()
    assert filesystem.calls == [("sync", f"{LOG}/{3:020d}.log")], "nothing else is new"
    log.sync_job(3, [f"{LOG}/epochs"])()
    assert filesystem.calls[-2:] == [("sync", f"{LOG}/epochs"), ("sync_dir", LOG)]


def test_a_new_config_reaches_old_segments_and_new_ones() -> None:
    log = local_log(MemoryFilesystem())
    add(log, 0)
    log.update_config(LogConfig(segment_bytes=100))
    assert log.segments.active.config.segment_bytes == 100
    assert log.roll(1, NOW_MS).config.segment_bytes == 100


def test_a_truncation_within_the_active_segment_leaves_nothing_to_remove() -> None:
    scheduler = SimScheduler()
    log = local_log(MemoryFilesystem(), scheduler=scheduler)
    add(log, 0)
    add(log, 1)
    assert log.truncate_to(1) == 1
    assert not scheduler.pending()

"""Opening a log after any end: torn tails, lost side files, half-done work, lost power."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from ground.memory_filesystem import Died, MemoryFilesystem
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches, read_header
from protocol.records import iterate_records
from storage.log.recovery_report import RecoveryReport
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    DIRECTORY,
    NOW_MS,
    batch,
    environment,
    offset_by_time,
    open_log,
    read_all,
)

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)
LOG = f"{DIRECTORY}/{0:020d}.log"


def append(log: UnifiedLog, *, times: int = 1, epoch: int = 0, size: int = 50) -> None:
    for _ in range(times):
        sequence = log.log_end_offset
        sent = batch(
            b"v" * size,
            b"w" * size,
            timestamp=NOW_MS + sequence,
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
        )
        assert log.append_as_leader(sent, epoch, NOW_MS).error is ErrorCode.NONE


def filled(times: int = 30, config: LogConfig = SMALL) -> tuple[MemoryFilesystem, UnifiedLog]:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, config)
    append(log, times=times // 2)
    append(log, times=times - times // 2, epoch=1)
    return filesystem, log


def check_whole(log: UnifiedLog, end: int) -> None:
    """Everything about the log is what appending `end` records by `filled` gives."""
    assert log.log_end_offset == end
    data = read_all(log)
    offsets = [
        record.offset for p, _ in iterate_batches(data) for record in iterate_records(data, p)
    ]
    assert offsets == list(range(end))
    assert sum(producer.last_sequence for producer in log.producers) == max(end - 1, 0)
    for offset in range(end):
        found = offset_by_time(log, NOW_MS + offset - offset % 2)
        assert found is not None and found.offset == offset - offset % 2


def test_a_clean_start_trusts_and_scans_nothing() -> None:
    filesystem, log = filled()
    log.close()
    filesystem.kill()
    again = open_log(filesystem, SMALL, recovery_point=60)
    assert again.recovery == RecoveryReport()
    check_whole(again, 60)
    assert again.leader_epochs.entries == [(0, 0), (1, 30)]
    append(again, epoch=1)
    check_whole(again, 62)


def test_process_death_loses_nothing() -> None:
    filesystem, log = filled()
    filesystem.kill()
    again = open_log(filesystem, SMALL, clean=False)
    assert again.recovery.segments_scanned == len(log.segments.base_offsets)
    assert again.recovery.bytes_cut == 0
    check_whole(again, 60)
    assert again.leader_epochs.entries == [(0, 0), (1, 30)]
    again.close()
    check_whole(open_log(filesystem, SMALL), 60)


def test_only_segments_after_the_recovery_point_are_scanned() -> None:
    filesystem, log = filled()
    filesystem.kill()
    again = open_log(filesystem, SMALL, clean=False, recovery_point=log.recovery_point)
    assert again.recovery.segments_scanned == 1
    check_whole(again, 60)


def test_a_tail_cut_at_every_byte_of_the_last_three_batches() -> None:
    filesystem, log = filled(8, LogConfig(index_interval_bytes=100))
    filesystem.kill()
    data = filesystem.read(LOG)
    borders = [position for position, _ in iterate_batches(data)] + [len(data)]
    for size in range(borders[-4], len(data) + 1):
        twin = filesystem.clone()
        twin.open(LOG).truncate(size)
        again = open_log(twin, SMALL, clean=False)
        whole = max(number for number, border in enumerate(borders) if border <= size)
        check_whole(again, whole * 2)
        assert again.recovery.bytes_cut == size - borders[whole]
        append(again, epoch=1)
        check_whole(again, whole * 2 + 2)


@pytest.mark.parametrize("garbage", [b"\0", b"\xff", b"v"])
def test_a_tail_of_garbage_is_cut(garbage: bytes) -> None:
    filesystem, _ = filled(8, LogConfig(index_interval_bytes=100))
    filesystem.kill()
    for size in (1, 11, 60, 61, 62, 500):
        twin = filesystem.clone()
        twin.open(LOG).append(garbage * size)
        check_whole(open_log(twin, SMALL, clean=False), 16)


def test_a_torn_segment_ends_the_log_and_later_ones_go() -> None:
    filesystem, log = filled()
    second = log.segments.base_offsets[1]
    filesystem.kill()
    path = f"{DIRECTORY}/{second:020d}.log"
    filesystem.open(path).truncate(filesystem.size(path) - 1)
    again = open_log(filesystem, SMALL, clean=False)
    assert again.segments.base_offsets == [0, second]
    assert again.recovery.segments_removed == len(log.segments.base_offsets) - 2
    check_whole(again, log.segments.base_offsets[2] - 2)
    names = filesystem.list_dir(DIRECTORY)
    assert not [n for n in names if n.endswith(".snapshot") and int(n[:20]) > again.log_end_offset]


def test_a_tail_lost_at_a_batch_border_ends_the_log_too() -> None:
    filesystem, log = filled()
    filesystem.kill()
    first_batch = read_header(filesystem.read(LOG)).size_in_bytes
    filesystem.open(LOG).truncate(filesystem.size(LOG) - first_batch)
    again = open_log(filesystem, SMALL, clean=False)
    assert again.segments.base_offsets == [0]
    check_whole(again, log.segments.base_offsets[1] - 2)


def test_gaps_between_segments_of_a_compacted_log_are_no_damage() -> None:
    config = LogConfig(cleanup_policy=("compact",))
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, config)
    for base in (0, 50):
        log.append_as_follower(batch(b"v", base_offset=base, leader_epoch=0), 0)
        log.roll()
    log.append_as_follower(batch(b"v", base_offset=90, leader_epoch=0), 0)
    filesystem.kill()
    again = open_log(filesystem, config, clean=False)
    assert (again.log_end_offset, again.recovery.segments_removed) == (91, 0)


SIDE_FILES = ("index", "timeindex", "snapshot", "leader-epoch-checkpoint")


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", ["missing", "zeroed", "empty", "truncated", "garbage"])
@pytest.mark.parametrize("side_file", SIDE_FILES)
def test_side_files_are_rebuilt(side_file: str, damage: str, clean: bool) -> None:
    filesystem, log = filled()
    recovery_point = log.recovery_point
    log.close()
    filesystem.kill()
    for name in filesystem.list_dir(DIRECTORY):
        if name.rpartition(".")[2] == side_file:
            path = f"{DIRECTORY}/{name}"
            data = filesystem.read(path)
            if damage == "missing":
                filesystem.remove(path)
            else:
                kinds = {
                    "zeroed": bytes(len(data)),
                    "empty": b"",
                    "truncated": data[: len(data) // 2 + 1],
                    "garbage": b"\xa5" * len(data),
                }
                filesystem.replace_atomically(path, kinds[damage])
    again = open_log(filesystem, SMALL, clean=clean, recovery_point=0 if clean else recovery_point)
    check_whole(again, 60)
    assert again.leader_epochs.entries == [(0, 0), (1, 30)]
    again.close()
    last = open_log(filesystem, SMALL)
    assert last.recovery == RecoveryReport()
    check_whole(last, 60)


def test_epochs_before_a_log_start_that_a_crash_took_back_are_known_again() -> None:
    """Else a follower whose log has diverged there would not be told so (seed 8 of a cluster)."""
    filesystem, log = filled()
    log.update_high_watermark(60)
    assert log.increment_log_start_offset(40) is ErrorCode.NONE
    recovery_point = log.segments.base_offsets[-1]
    filesystem.kill()
    again = open_log(filesystem, SMALL, clean=False, recovery_point=recovery_point)
    assert again.log_start_offset == 0
    assert again.leader_epochs.entries == [(0, 0), (1, 30)]
    assert again.end_offset_for_epoch(0).end_offset == 30
    filesystem.kill()
    kept = open_log(filesystem, SMALL, log_start_offset=40)
    assert kept.leader_epochs.entries == [(1, 40)]


def test_leftovers_of_half_done_work_are_removed() -> None:
    filesystem, log = filled(8)
    log.close()
    for name in (
        f"{0:020d}.log.deleted",
        f"{0:020d}.index.deleted",
        f"{5:020d}.log.cleaned",
        f"{0:020d}.timeindex.tmp",
        f"{77:020d}.index",
        f"{77:020d}.timeindex",
        f"{77:020d}.txnindex",
    ):
        filesystem.replace_atomically(f"{DIRECTORY}/{name}", b"x")
    filesystem.replace_atomically(f"{DIRECTORY}/partition.metadata", b"keep")
    check_whole(open_log(filesystem, SMALL), 16)
    assert sorted({name.partition(".")[2] for name in filesystem.list_dir(DIRECTORY)}) == [
        "",
        "index",
        "log",
        "metadata",
        "snapshot",
        "timeindex",
    ]


def test_the_log_start_is_what_checkpoint_and_first_segment_say() -> None:
    filesystem, log = filled()
    second = log.segments.base_offsets[1]
    log.close()
    assert open_log(filesystem, SMALL, log_start_offset=5).log_start_offset == 5
    filesystem.remove(LOG)
    again = open_log(filesystem, SMALL, log_start_offset=5)
    assert again.log_start_offset == second
    assert again.leader_epochs.entries[0] == (0, second)


def test_a_log_that_lost_everything_after_its_start_begins_there() -> None:
    filesystem, _ = filled(8)
    filesystem.kill()
    filesystem.open(LOG).truncate(0)
    again = open_log(filesystem, SMALL, clean=False, log_start_offset=9)
    assert (again.log_start_offset, again.log_end_offset) == (9, 9)
    assert again.segments.base_offsets == [9]
    info = again.append_as_leader(batch(b"v"), 2, NOW_MS)
    assert info.first_offset == 9


def test_an_empty_folder_is_a_new_log() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, clean=False, log_start_offset=30)
    assert (log.log_start_offset, log.log_end_offset) == (30, 30)
    assert log.recovery == RecoveryReport()
    assert log.recovery_point == 0 or log.recovery_point <= 30


def test_a_damaged_segment_that_was_synced_is_not_cut() -> None:
    filesystem, log = filled()
    log.close()
    first = read_header(filesystem.read(LOG)).size_in_bytes
    file = filesystem.open(LOG)
    flipped = bytes([file.pread(1, 2 * first + 70)[0] ^ 1])
    file.write_at(flipped, 2 * first + 70)
    filesystem.remove(LOG.replace(".log", ".index"))
    again = open_log(filesystem, SMALL)
    assert again.log_end_offset == 60
    assert any("damaged" in note for note in again.recovery.notes)
    header = read_header(read_all(again, 6))
    assert header.base_offset == 6, "what follows the damage is served"


@pytest.mark.parametrize("seed", range(60))
def test_lost_power_leaves_a_valid_prefix_that_holds_what_was_flushed(seed: int) -> None:
    chance = random.Random(seed)
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    log = open_log(config=SMALL, ports=ports)
    filesystem.sync_dir("/")
    filesystem.sync_dir("/data")
    for _ in range(chance.randint(1, 40)):
        append(log, epoch=chance.choice([0, 0, 1]) if log.latest_epoch < 1 else 1)
        if chance.random() < 0.2:
            log.flush()
    flushed, written = log.recovery_point, read_all(log)
    filesystem.lose_power(chance)
    again = open_log(filesystem, SMALL, clean=False, recovery_point=flushed)
    assert flushed <= again.log_end_offset <= log.log_end_offset
    data = read_all(again)
    assert data == written[: len(data)]
    check_whole(again, again.log_end_offset)
    expected = [
        (epoch, start) for epoch, start in log.leader_epochs.entries if start < again.log_end_offset
    ]
    assert again.leader_epochs.entries == expected
    append(again, epoch=2, times=20)
    check_whole(again, again.log_end_offset)


def life_of_a_log(filesystem: MemoryFilesystem, acknowledged: list[int]) -> None:
    """Appends over several segments, a truncation, a flush; the last acknowledged end is told."""
    log = open_log(filesystem, SMALL)
    filesystem.sync_dir("/")
    filesystem.sync_dir("/data")
    for step in range(24):
        append(log, epoch=step // 10)
        acknowledged.append(log.log_end_offset)
        if step == 14:
            acknowledged.append(20)  # from here on the cut part may be gone
            log.truncate_to(20)
        if step == 18:
            log.flush()
    log.close()


@pytest.mark.parametrize("power", [False, True])
def test_a_crash_at_every_step_of_a_life(power: bool) -> None:
    whole = MemoryFilesystem()
    life_of_a_log(whole, [])
    assert whole.changes > 100
    for step in range(3, whole.changes + 1):
        filesystem, acknowledged = MemoryFilesystem(), [0]
        filesystem.die_at = step
        with suppress(Died):
            life_of_a_log(filesystem, acknowledged)
        if power:
            filesystem.lose_power(random.Random(step))
        else:
            filesystem.kill()
        filesystem.make_dirs(DIRECTORY)
        log = open_log(filesystem, SMALL, clean=False)
        if not power:
            assert log.log_end_offset >= acknowledged[-1]
        check_whole(log, log.log_end_offset)
        append(log, epoch=5, times=8)
        check_whole(log, log.log_end_offset)

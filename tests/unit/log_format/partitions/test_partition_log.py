from __future__ import annotations

from pathlib import Path

import pytest

from log_format.damage import LogError, OldFormat
from log_format.partitions.partition_log import PartitionLog
from protocol.records import Record
from storage.log.unified_log import UnifiedLog
from tests.batches import build_batch
from tests.unit.log_format.folders import (
    FIRST_MS,
    HOUR_MS,
    copied,
    opened,
    rows_of_log,
    rows_of_server,
    several_segments,
)
from tests.unit.storage.harness import NOW_MS, batch, offset_by_time, open_log
from tests.unit.storage.transactional_fixture import BOTH, SMALL, Producer, commit_all, two_aborted


def closed(log: UnifiedLog) -> UnifiedLog:
    log.close()
    return log


def logs_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def test_where_it_begins_and_ends(tmp_path: Path) -> None:
    server = closed(several_segments())
    log = opened(copied(server, tmp_path))
    assert [one.base_offset for one in log.segments] == server.segments.base_offsets
    assert len(log.segments) > 3
    assert (log.log_start, log.end, log.stable_end) == (0, 24, 24)
    assert log.notes == [] and log.topic_id is None
    assert rows_of_log(log) == rows_of_server(server)
    assert log.size == sum(one.stat().st_size for one in logs_of(tmp_path / "topic-0"))


def test_the_checkpoints_log_start_hides_what_is_before(tmp_path: Path) -> None:
    log = opened(copied(closed(several_segments()), tmp_path), log_start=7)
    assert log.log_start == 7
    assert [row[0] for row in rows_of_log(log)] == list(range(7, 24))


def test_an_empty_log(tmp_path: Path) -> None:
    log = opened(copied(closed(open_log(log_start_offset=5)), tmp_path))
    assert (log.log_start, log.end, log.stable_end) == (5, 5, 5)
    assert rows_of_log(log) == [] and log.offset_of_time(0) is None


def test_aborted_and_open_transactions(tmp_path: Path) -> None:
    server = two_aborted()
    commit_all(server)
    log = opened(copied(closed(server), tmp_path))
    assert log.aborted == BOTH
    assert log.stable_end == server.last_stable_offset == 9 and log.end == 10
    assert [row[0] for row in rows_of_log(log)] == [2, 3]
    assert [row[0] for row in rows_of_log(log, committed=False)] == [0, 1, 2, 3, 4, 7, 9]


@pytest.mark.parametrize("lost", ["*.snapshot", "*.txnindex", "*.index", "*.timeindex"])
def test_transactions_are_found_without_some_of_the_files(tmp_path: Path, lost: str) -> None:
    """A segment that has lost its transaction index alone is as one without aborted ones, as in
    Kafka; only where an offset or time index is gone too is it known that files are missing."""
    server = two_aborted()
    commit_all(server)
    folder = copied(closed(server), tmp_path)
    for file in folder.glob(lost):
        file.unlink()
    for file in folder.glob("*.index") if lost == "*.txnindex" else ():
        file.unlink()
    log = opened(folder)
    assert log.aborted == BOTH and log.stable_end == 9
    assert [row[0] for row in rows_of_log(log)] == [2, 3]
    assert bool(log.notes) is (lost != "*.snapshot")


@pytest.mark.parametrize(
    ("suffix", "bytes_left"), [(".index", 5), (".timeindex", 11), (".txnindex", 33)]
)
def test_cut_indexes_are_told_and_made_anew(tmp_path: Path, suffix: str, bytes_left: int) -> None:
    server = two_aborted()
    commit_all(server)
    folder = copied(closed(server), tmp_path)
    for file in folder.glob(f"*{suffix}"):
        file.write_bytes(file.read_bytes()[:bytes_left])
    log = opened(folder)
    assert log.aborted == BOTH
    assert suffix in log.notes[0] and "its batches were read instead" in log.notes[0]


def test_many_producers_at_random_end_as_the_server_says(tmp_path: Path) -> None:
    import random

    for seed in range(6):
        chance = random.Random(seed)
        server = open_log(config=SMALL)
        producers = [Producer(server, pid) for pid in range(4)]
        for _ in range(60):
            one = chance.choice(producers)
            if chance.random() < 0.3:
                one.end(commit=chance.random() < 0.5)
            else:
                one.send(chance.randint(1, 3))
        commit_all(server)
        log = opened(copied(closed(server), tmp_path / str(seed)))
        assert log.stable_end == server.last_stable_offset
        wanted = [row[0] for row in rows_of_server(server) if row[0] < log.stable_end]
        hidden = {
            header for one in log.aborted for header in range(one.first_offset, one.last_offset + 1)
        }
        seen = [row[0] for row in rows_of_log(log)]
        assert set(wanted) - hidden <= set(seen) <= set(wanted)


@pytest.mark.parametrize("cut", [1, 20, 61, 75])
def test_a_torn_end_is_told(tmp_path: Path, cut: int) -> None:
    server = closed(several_segments())
    folder = copied(server, tmp_path)
    last = logs_of(folder)[-1]
    last.write_bytes(last.read_bytes()[:-cut])
    log = opened(folder)
    assert log.end == 22
    assert "its end is torn" in log.notes[0] and "\n" not in log.notes[0]
    assert rows_of_log(log) == rows_of_server(server)[:22]


def test_a_last_batch_with_a_wrong_checksum_is_a_torn_end(tmp_path: Path) -> None:
    folder = copied(closed(several_segments()), tmp_path)
    last = logs_of(folder)[-1]
    data = bytearray(last.read_bytes())
    data[-1] ^= 1
    last.write_bytes(data)
    log = opened(folder)
    assert log.end == 22 and "CRC-32C" in log.notes[0]


def test_room_that_is_not_used_yet_is_no_damage(tmp_path: Path) -> None:
    server = closed(several_segments())
    folder = copied(server, tmp_path)
    last = logs_of(folder)[-1]
    last.write_bytes(last.read_bytes() + bytes(5000))
    log = opened(folder)
    assert log.end == 24 and log.notes == []
    assert rows_of_log(log) == rows_of_server(server)


@pytest.mark.parametrize("damage", [5, 9, 16, 17, 80])
def test_damage_before_whole_batches_is_refused(tmp_path: Path, damage: int) -> None:
    server = open_log()
    for number in range(10):
        server.append_as_leader(batch(b"v" * 50, b"w"), number, NOW_MS)
    folder = copied(closed(server), tmp_path)
    [file] = logs_of(folder)
    data = bytearray(file.read_bytes())
    size = len(data) // 10
    data[4 * size + damage] ^= 0x41
    file.write_bytes(data)
    with pytest.raises(LogError, match=r"is damaged at byte \d+: .*whole batches follow.*=stop"):
        opened(folder)
    if damage < 8:  # the base offset, which no checksum covers
        return
    log = opened(folder, stop_at_damage=True)
    assert log.end == 8 and f"{6 * size} bytes from there on are not read" in log.notes[0]
    assert rows_of_log(log) == rows_of_server(server)[:8]


def test_damage_in_an_earlier_segment(tmp_path: Path) -> None:
    server = closed(several_segments())
    folder = copied(server, tmp_path)
    second = logs_of(folder)[1]
    second.write_bytes(second.read_bytes()[:-1])
    with pytest.raises(LogError, match="damaged"):
        rows_of_log(opened(folder))
    log = opened(folder, stop_at_damage=True)
    assert rows_of_log(log) == rows_of_server(server)[: log.end] and log.end < 10
    assert len(log.segments) == 2


def test_other_formats_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    old = bytes(8) + (22).to_bytes(4, "big") + bytes(4) + b"\x01" + bytes(17)
    (folder / f"{0:020d}.log").write_bytes(old)
    with pytest.raises(OldFormat, match="format v1"):
        opened(folder)


def test_what_is_no_partition(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="has no segment"):
        opened(tmp_path)
    (tmp_path / f"{0:020d}.log.swap").touch()
    with pytest.raises(LogError, match="in the middle of a compaction"):
        opened(tmp_path)


def test_times_as_the_server_finds_them(tmp_path: Path) -> None:
    server = several_segments()
    commit_all(server)
    log = opened(copied(closed(server), tmp_path))
    for time in range(FIRST_MS - HOUR_MS, FIRST_MS + 14 * HOUR_MS, HOUR_MS // 2):
        found = offset_by_time(server, time)
        assert log.offset_of_time(time) == (None if found is None else found.offset)
    assert log.offset_of_time(FIRST_MS + 11 * HOUR_MS + 1) is None


def test_a_time_index_that_lost_its_end(tmp_path: Path) -> None:
    folder = copied(closed(several_segments()), tmp_path)
    for file in folder.glob("*.timeindex"):
        file.write_bytes(file.read_bytes()[:12])
    log = opened(folder)
    for number in range(12):
        assert log.offset_of_time(FIRST_MS + number * HOUR_MS) == 2 * number


def test_parts_are_cut_at_batches_and_lose_nothing(tmp_path: Path) -> None:
    server = closed(several_segments(40))
    log = opened(copied(server, tmp_path))
    everything = rows_of_server(server)
    for step in (1, 100, 500, 10_000):
        assert rows_of_log(log, step_bytes=step) == everything
    for start, end in ((0, 1), (3, 4), (17, 61), (79, 80), (5, 5), (80, 90)):
        assert rows_of_log(log, start, end, step_bytes=200) == everything[start:end]
    parts = list(log.ranges(20, 24, 1))
    assert sum(one.end - one.start for part in parts for one in part) < log.size / 4


def test_after_a_clean_stop_the_files_tell_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = two_aborted()
    commit_all(server)
    folder = copied(closed(server), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(PartitionLog, "_walk", None)
        log = opened(folder, clean=True)
    assert (log.end, log.stable_end, log.aborted, log.notes) == (10, 9, BOTH, [])
    assert [row[0] for row in rows_of_log(log)] == [2, 3]
    assert [row[0] for row in rows_of_log(log, committed=False)] == [0, 1, 2, 3, 4, 7, 9]


@pytest.mark.parametrize("lost", ["00000000000000000010.snapshot", "*.index", "cut", "more"])
def test_a_clean_stop_is_not_believed_against_the_files(tmp_path: Path, lost: str) -> None:
    server = two_aborted()
    commit_all(server)
    folder = copied(closed(server), tmp_path)
    last = logs_of(folder)[-1]
    if lost == "cut":
        last.write_bytes(last.read_bytes()[:-1])
    elif lost == "more":
        more = build_batch([Record(10, NOW_MS, None, b"v")], base_offset=10)
        last.write_bytes(last.read_bytes() + bytes(more))
    else:
        for file in folder.glob(lost):
            file.unlink()
    log = opened(folder, clean=True)
    end = {"cut": 9, "more": 11}.get(lost, 10)
    assert (log.end, log.stable_end, log.aborted) == (end, 9, BOTH)


def test_an_empty_last_segment_after_a_clean_stop(tmp_path: Path) -> None:
    server = several_segments()
    server.roll()
    server.close()
    log = opened(copied(server, tmp_path), clean=True)
    assert (log.end, log.notes) == (24, []) and rows_of_log(log) == rows_of_server(server)
    empty = opened(copied(closed(open_log()), tmp_path / "empty"), clean=True)
    assert (empty.end, empty.notes) == (0, [])

"""Rounds that begin, end, and are given up; what cannot be cleaned is told of once."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

import pytest

from ground.topic_partition import TopicPartition
from storage.cleaning.cleaner_job import CleaningFailed
from storage.cleaning.cleaner_ports import CleanerDied, CleanerSettings
from storage.cleaning.log_cleaner import LogCleaner
from tests.unit.storage.cleaning_fixture import Bench
from tests.unit.storage.harness import DIRECTORY, LOG_DIR, PARTITION, open_log, read_all


def dirty(bench: Bench) -> Bench:
    for number in range(3):
        bench.write((b"k", b"%d" % number))
        bench.roll()
    return bench


def cleaned_files(bench: Bench) -> list[str]:
    suffixes = (".cleaned", ".swap")
    return [name for name in bench.disk.list_dir(DIRECTORY) if name.endswith(suffixes)]


def test_a_round_replaces_the_segments_and_says_how_far_it_came() -> None:
    bench = dirty(Bench())
    slice_before = bench.log.read(0, 1_000)
    bench.cleaner.look()
    assert bench.log.being_cleaned
    bench.runner.run()
    assert not bench.log.being_cleaned
    assert bench.log.segments.base_offsets == [0, 3]
    assert bench.left() == [(2, b"k", b"2")]
    assert bench.cleaner.first_dirty_offset(bench.log) == 3
    assert (bench.swaps, cleaned_files(bench)) == (1, [])
    assert slice_before.records.read(), "a slice under way keeps its file"  # type: ignore[union-attr]
    assert any(name.endswith(".deleted") for name in bench.disk.list_dir(DIRECTORY))
    bench.scheduler.run_for(200)
    assert not any(name.endswith(".deleted") for name in bench.disk.list_dir(DIRECTORY))


def test_readers_go_on_across_the_gaps_and_a_restart_finds_the_same() -> None:
    bench = dirty(Bench())
    bench.clean()
    bench.write((b"l", b"3"))
    data = read_all(bench.log, 0)
    bench.log.close()
    again = open_log(bench.disk, bench.log.config)
    assert (read_all(again, 0), again.log_end_offset) == (data, 4)
    assert again.recovery.notes == []


def test_it_looks_by_itself_and_again_at_once_after_a_round() -> None:
    bench = dirty(Bench())
    bench.scheduler.run_for(999)
    assert bench.runner.waiting == []
    bench.scheduler.run_for(1)
    assert len(bench.runner.waiting) == 1
    bench.runner.run()
    bench.write((b"k", b"9"))
    bench.roll()
    bench.scheduler.run_for(0)
    assert len(bench.runner.waiting) == 1


def test_the_filthiest_goes_first_and_no_more_than_there_are_threads() -> None:
    bench = dirty(Bench(threads=2))
    for number in (1, 2):
        folder = f"{LOG_DIR}/topic-{number}"
        log = open_log(config=bench.log.config, ports=bench.ports, directory=folder)
        log.partition = TopicPartition("topic", number)
        bench.logs.append(log)
        held, bench.log = bench.log, log
        dirty(bench)
        bench.log = held
    bench.cleaner.look()
    assert len(bench.runner.waiting) == 2
    bench.runner.run()
    bench.runner.run()
    bench.scheduler.run_for(0)
    assert [job.directory for job, _ in bench.runner.waiting] == [f"{LOG_DIR}/topic-2"]


def test_a_log_that_is_not_compacted_or_not_dirty_enough_is_left_alone() -> None:
    bench = dirty(Bench())
    bench.change(cleanup_policy=("delete",))
    bench.cleaner.look()
    bench.change(cleanup_policy=("compact",), min_cleanable_dirty_ratio=1.0)
    bench.cleaner.look()
    assert bench.runner.waiting == []


def truncate(bench: Bench) -> None:
    bench.log.truncate_to(2)


def turn_off(bench: Bench) -> None:
    bench.change(cleanup_policy=("delete",))


def abort(bench: Bench) -> None:
    bench.cleaner.abort(PARTITION)
    assert bench.runner.cancelled == [DIRECTORY]


@pytest.mark.parametrize("meanwhile", [truncate, turn_off, abort])
def test_a_round_that_came_too_late_changes_nothing(meanwhile: Callable[[Bench], None]) -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    meanwhile(bench)
    bases, left = bench.log.segments.base_offsets, bench.left()
    bench.runner.run()
    assert (bench.log.segments.base_offsets, bench.left()) == (bases, left)
    assert cleaned_files(bench) == []
    assert not bench.log.being_cleaned and bench.swaps == 0
    assert bench.cleaner.uncleanable == {}


def test_a_deleted_log_is_let_go() -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    bench.log.rename(f"{LOG_DIR}/topic-0.x-delete")
    bench.log.retire()
    bench.logs.clear()
    bench.cleaner.look()
    assert bench.runner.cancelled == [DIRECTORY]
    bench.runner.run(fail=FileNotFoundError(errno.ENOENT, "gone"))
    assert bench.ports.failures.offline_dirs() == {}
    assert not bench.log.being_cleaned


@pytest.mark.parametrize("error", [CleaningFailed("damaged"), RuntimeError("a bug")])
def test_what_cannot_be_cleaned_is_told_once_and_left_alone(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    with caplog.at_level(logging.WARNING, "ottla.storage.cleaning.log_cleaner"):
        bench.runner.run(fail=error)
        for _ in range(3):
            bench.cleaner.look()
    assert list(bench.cleaner.uncleanable) == [(LOG_DIR, PARTITION)]
    assert len([one for one in caplog.records if "not cleaned any more" in one.message]) == 1
    assert bench.runner.waiting == []
    bench.logs.clear()
    bench.cleaner.look()
    assert bench.cleaner.uncleanable == {}


def test_a_disk_that_fails_goes_offline_and_a_full_one_does_not() -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    bench.runner.run(fail=OSError(errno.ENOSPC, "full"))
    assert bench.ports.failures.offline_dirs() == {}
    bench.cleaner.look()
    assert bench.runner.waiting == [], "not again at once"
    bench.scheduler.run_for(11_000)
    assert len(bench.runner.waiting) == 1
    bench.runner.run(fail=OSError(errno.EIO, "broken"))
    assert list(bench.ports.failures.offline_dirs()) == [LOG_DIR]


def test_a_runner_that_dies_again_and_again_ends_it() -> None:
    bench = dirty(Bench())
    for deaths in range(3):
        assert bench.cleaner.uncleanable == {}, deaths
        bench.scheduler.run_for(11_000)
        bench.runner.run(fail=CleanerDied("killed"))
    assert list(bench.cleaner.uncleanable) == [(LOG_DIR, PARTITION)]


def test_after_the_stop_nothing_is_taken_in() -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    bench.cleaner.stop()
    bench.runner.run()
    bench.scheduler.run_for(5_000)
    assert bench.runner.stopped and bench.runner.waiting == []
    assert bench.log.segments.base_offsets == [0, 1, 2, 3]


def test_it_does_nothing_where_it_is_turned_off() -> None:
    bench = dirty(Bench())
    off = LogCleaner(bench.ports, bench, CleanerSettings(log_cleaner_enable=False), bench.runner)
    bench.cleaner.stop()
    off.start()
    bench.scheduler.run_for(60_000)
    assert bench.runner.waiting == []


def test_other_settings_count_from_the_next_round_on() -> None:
    bench = dirty(Bench())
    bench.cleaner.update_settings(
        CleanerSettings(
            log_cleaner_threads=2,
            log_cleaner_dedupe_buffer_size=5_000_000,
            log_cleaner_io_max_bytes_per_second=100.0,
        )
    )
    bench.cleaner.look()
    job = bench.runner.waiting[0][0]
    assert (job.dedupe_bytes, job.io_bytes_per_second) == (2_500_000, 50.0)


def test_other_settings_end_the_round_that_is_under_way_and_the_wait_before_the_next() -> None:
    bench = dirty(Bench())
    bench.cleaner.look()
    bench.cleaner.update_settings(CleanerSettings(log_cleaner_backoff_ms=50))
    bench.runner.run()
    bench.scheduler.run_for(0)
    assert bench.log.segments.base_offsets == [0, 1, 2, 3]
    bench.scheduler.run_for(60)
    assert len(bench.runner.waiting) == 1
    bench.cleaner.update_settings(CleanerSettings(log_cleaner_backoff_ms=50))
    bench.runner.run()
    bench.scheduler.run_for(0)
    assert bench.log.segments.base_offsets != [0, 1, 2, 3]


def test_after_an_unclean_start_it_has_the_log_fsynced_first() -> None:
    bench = dirty(Bench())
    bench.disk.kill()
    bench.log = open_log(config=bench.log.config, ports=bench.ports, clean=False)
    bench.log.update_high_watermark(bench.log.log_end_offset)
    bench.logs = [bench.log]
    assert bench.log.recovery_point == 0
    bench.cleaner.look()
    assert bench.log.recovery_point == 3
    assert len(bench.runner.waiting) == 1


def test_many_logs_are_looked_at_in_slices() -> None:
    bench = dirty(Bench())
    bench.logs = [bench.log] * 600
    bench.cleaner.look()
    assert bench.runner.waiting == []
    bench.scheduler.run_for(0)
    # Two to take truncations into account, twelve to look at compacted logs, fifty a slice.
    assert bench.sliced.slices == 13
    assert len(bench.runner.waiting) == 1


def test_a_log_that_is_cut_after_its_turn_is_looked_at_again() -> None:
    bench = dirty(Bench())
    bench.clean()
    bench.write((b"k", b"3"))
    bench.roll()
    bench.logs = [bench.log] * 600
    bench.cleaner.look()
    bench.log.truncate_to(1)
    for number in range(3):
        bench.write((b"l", b"%d" % number))
    bench.roll()
    bench.scheduler.run_for(0)
    assert [job.first_dirty_offset for job, _ in bench.runner.waiting] == [1]

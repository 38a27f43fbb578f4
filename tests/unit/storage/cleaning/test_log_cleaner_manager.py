"""What is cleanable, what is due, and how far each log is clean."""

from __future__ import annotations

from ground.sliced_work import in_one_go
from ground.topic_partition import TopicPartition
from storage.cleaning.log_cleaner_manager import LogCleanerManager, LogToClean
from tests.unit.storage.cleaning_fixture import Bench
from tests.unit.storage.harness import LOG_DIR, NOW_MS, PARTITION

CHECKPOINT = f"{LOG_DIR}/cleaner-offset-checkpoint"


def opened(bench: Bench) -> LogCleanerManager:
    manager = LogCleanerManager(bench.ports)
    manager.open([LOG_DIR], bench.logs)
    return manager


def look(bench: Bench, manager: LogCleanerManager) -> LogToClean:
    return manager.look_at(bench.log, bench.scheduler.wall_ms())


def filled(bench: Bench, segments: int = 3) -> Bench:
    """Segments that begin at 0, 1, …, and an empty active one."""
    for _ in range(segments):
        bench.write((b"k", b"v" * 100))
        bench.roll()
    return bench


def test_the_part_that_is_cleanable_is_a_share_of_all_that_may_be_touched() -> None:
    bench = filled(Bench())
    size = bench.log.segments.first.size
    manager = opened(bench)
    found = look(bench, manager)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 3)
    assert (found.clean_bytes, found.cleanable_bytes, found.ratio) == (0, 3 * size, 1.0)
    manager.set_clean_offset(bench.log, 2)
    found = look(bench, manager)
    assert (found.clean_bytes, found.cleanable_bytes) == (2 * size, size)
    bench.change(min_cleanable_dirty_ratio=0.34)
    assert not found.is_due
    bench.change(min_cleanable_dirty_ratio=0.33)
    assert found.is_due
    manager.set_clean_offset(bench.log, 3)
    assert look(bench, manager).ratio == 0.0


def test_nothing_beyond_the_watermark_the_last_fsync_or_the_minimal_lag() -> None:
    bench = filled(Bench())
    manager = opened(bench)
    bench.log.update_high_watermark(2)
    assert look(bench, manager).first_uncleanable_offset == 2
    bench.log.update_high_watermark(3)
    bench.log.flusher.recovery_point = 1
    assert look(bench, manager).first_uncleanable_offset == 1
    bench.log.flusher.recovery_point = 3
    bench.change(min_compaction_lag_ms=bench.scheduler.wall_ms() - NOW_MS + 1)
    assert look(bench, manager).cleanable_bytes == 0
    bench.scheduler.run_for(10)
    assert look(bench, manager).first_uncleanable_offset == 3


def test_an_open_transaction_holds_the_segment_that_it_begins_in() -> None:
    bench = Bench()
    bench.write((b"k", b"v"))
    bench.roll()
    bench.write((b"k", b"v"))
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    bench.write((b"k", b"v"), is_transactional=True, **fields)
    bench.roll()
    assert look(bench, opened(bench)).first_uncleanable_offset == 1


def test_a_record_that_waits_too_long_makes_it_due() -> None:
    bench = filled(Bench())
    bench.change(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=10_000)
    manager = opened(bench)
    manager.set_clean_offset(bench.log, 2)
    bench.scheduler.run_for(9_000)
    assert not look(bench, manager).is_due
    bench.scheduler.run_for(2_000)
    assert look(bench, manager).is_due
    manager.set_clean_offset(bench.log, 3)
    assert not look(bench, manager).is_due, "there is nothing to clean"


def test_offsets_survive_and_only_where_they_can_be_true() -> None:
    bench = filled(Bench())
    opened(bench).set_clean_offset(bench.log, 2)
    assert bench.disk.read(CHECKPOINT).decode() == f"0\n1\n{PARTITION.topic} 0 2\n"
    assert opened(bench).first_dirty_offset(bench.log) == 2
    manager = opened(bench)
    bench.log.log_start_offset = 3
    assert manager.first_dirty_offset(bench.log) == 3
    bench.log.log_start_offset, bench.log.log_end_offset = 0, 1
    assert manager.first_dirty_offset(bench.log) == 0


def test_a_truncation_makes_dirty_what_came_after_it() -> None:
    bench = filled(Bench())
    manager = opened(bench)
    manager.set_clean_offset(bench.log, 3)
    bench.log.truncate_to(1)
    bench.write((b"x", b"1"), (b"y", b"1"), (b"z", b"1"))
    in_one_go(manager.settle(bench.logs))
    assert manager.first_dirty_offset(bench.log) == 1
    assert opened(bench).first_dirty_offset(bench.log) == 1


def test_a_log_that_is_gone_leaves_nothing_to_its_successor() -> None:
    bench = filled(Bench())
    manager = opened(bench)
    manager.set_clean_offset(bench.log, 2)
    bench.log.topic_id = b"another topic id"
    in_one_go(manager.settle(bench.logs))
    assert manager.first_dirty_offset(bench.log) == 0
    manager.set_clean_offset(bench.log, 2)
    in_one_go(manager.settle([]))
    assert bench.disk.read(CHECKPOINT) == b"0\n0\n"


def test_a_log_of_another_directory_is_not_known() -> None:
    bench = filled(Bench())
    manager = opened(bench)
    manager.set_clean_offset(bench.log, 2)
    bench.log.log_dir = "/other"
    assert manager.first_dirty_offset(bench.log) == 0
    assert bench.log.partition == TopicPartition("topic", 0)

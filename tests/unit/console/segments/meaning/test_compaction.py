"""How far compaction has come."""

from __future__ import annotations

from console.segments.meaning.compaction import Cleanable, cleanable
from console.segments.meaning.forecast import AgedSegment
from storage.log_config import LogConfig

LOG = [
    AgedSegment(0, 100, 40, 1_000),
    AgedSegment(100, 200, 60, 2_000),
    AgedSegment(200, 300, 100, 3_000),
    AgedSegment(300, 350, 30, 4_000, is_last=True),
]
FIRSTS = [500, 1_500, 2_500, 3_500]
COMPACT = ("compact",)


def of(
    config: LogConfig | None = None,
    *,
    checkpoint: int | None = 200,
    start: int = 0,
    watermark: int | None = 350,
) -> Cleanable:
    config = config or LogConfig(cleanup_policy=COMPACT)
    found = cleanable(LOG, FIRSTS, config, checkpoint, start, watermark, 10_000)
    assert found is not None
    return found


def test_clean_dirty_and_what_is_not_touched() -> None:
    found = of()
    assert (found.first_dirty, found.first_uncleanable, found.was_cleaned) == (200, 300, True)
    assert (found.clean_bytes, found.dirty_bytes, found.later_bytes) == (100, 100, 30)
    assert found.ratio == 0.5
    assert not found.is_due(LogConfig()), "it has to be more than the half"
    assert found.is_due(LogConfig(min_cleanable_dirty_ratio=0.49))


def test_a_log_that_was_never_cleaned_is_dirty_from_its_start() -> None:
    for checkpoint in (None, 5_000):
        found = of(checkpoint=checkpoint, start=0)
        assert (found.first_dirty, found.was_cleaned) == (0, False)
        assert found.ratio == 1.0 and found.dirty_bytes == 200


def test_a_cleaned_log_has_nothing_dirty() -> None:
    found = of(checkpoint=300)
    assert found.dirty_bytes == 0 and found.ratio == 0 and not found.is_due(LogConfig())


def test_what_is_young_or_not_replicated_is_not_touched() -> None:
    young = of(LogConfig(cleanup_policy=COMPACT, min_compaction_lag_ms=7_500), checkpoint=100)
    assert young.first_uncleanable == 200 and young.dirty_bytes == 60
    behind = of(checkpoint=100, watermark=250)
    assert behind.first_uncleanable == 200


def test_a_record_that_waits_too_long_is_reason_enough() -> None:
    config = LogConfig(cleanup_policy=COMPACT, max_compaction_lag_ms=7_000)
    assert of(config).is_overdue and of(config).is_due(LogConfig(min_cleanable_dirty_ratio=0.9))
    assert not of(LogConfig(cleanup_policy=COMPACT, max_compaction_lag_ms=8_000)).is_overdue


def test_no_segments() -> None:
    assert cleanable([], [], LogConfig(), None, 0, None, 0) is None

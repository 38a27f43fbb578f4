"""What retention deletes, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.segments.meaning.forecast import AgedSegment, Fate, Why, fates
from storage.log_config import LogConfig

NOW = 1_000_000
LOG = [
    AgedSegment(0, 10, 100, 5_000),
    AgedSegment(10, 20, 100, 7_000),
    AgedSegment(20, 25, 50, 6_000, is_last=True),
]


def of(
    config: LogConfig,
    log: list[AgedSegment] = LOG,
    *,
    start: int = 0,
    watermark: int | None = None,
    now: int = NOW,
) -> list[Fate]:
    return fates(log, config, start, watermark, now)


def test_by_time_whole_segments_one_after_the_other_and_the_active_one_too() -> None:
    found = of(LogConfig(retention_ms=NOW))
    assert [one.why for one in found] == [Why.TIME] * 3
    assert [one.at_ms for one in found] == [1_005_001, 1_007_001, 1_007_001]
    assert [one.waits_for for one in found] == [None, None, 10], "an older one holds it back"
    assert not any(one.is_due for one in found)


@pytest.mark.parametrize(("now", "due"), [(1_005_000, 0), (1_005_001, 1), (1_007_001, 3)])
def test_what_is_due_agrees_with_when_it_was_said_to_be(now: int, due: int) -> None:
    found = of(LogConfig(retention_ms=NOW), now=now)
    assert [one.is_due for one in found] == [at < due for at in range(3)]


def test_by_size_the_oldest_goes_while_the_rest_fills_the_limit() -> None:
    found = of(LogConfig(retention_ms=-1, retention_bytes=150))
    assert [(one.why, one.is_due) for one in found] == [
        (Why.SIZE, True),
        (Why.SIZE, False),
        (Why.SIZE, False),
    ]
    assert [one.grows_bytes for one in found] == [None, 100, 150]


def test_without_limits_nothing_goes_and_a_compacted_topic_has_none() -> None:
    for config in (LogConfig(retention_ms=-1), LogConfig(cleanup_policy=("compact",))):
        assert [one.why for one in of(config)] == [Why.NEVER] * 3
    both = of(LogConfig(cleanup_policy=("compact", "delete"), retention_ms=1))
    assert [one.is_due for one in both] == [True] * 3


def test_what_lies_before_the_log_start_goes_first() -> None:
    found = of(LogConfig(retention_ms=-1), start=10)
    assert [one.why for one in found] == [Why.LOG_START, Why.NEVER, Why.NEVER]


def test_nothing_goes_that_followers_may_lack() -> None:
    found = of(LogConfig(retention_ms=NOW), watermark=15, now=1_007_001)
    assert [one.why for one in found] == [Why.TIME, Why.HIGH_WATERMARK, Why.HIGH_WATERMARK]
    early = of(LogConfig(retention_ms=NOW), watermark=15)
    assert [one.why for one in early] == [Why.TIME] * 3, "they will have it by then"


def test_an_empty_active_segment_stays() -> None:
    log = [LOG[0], replace(LOG[2], base_offset=10, end_offset=10, size=0)]
    assert [one.why for one in of(LogConfig(retention_ms=1), log)] == [Why.TIME, Why.EMPTY]
    assert of(LogConfig(), []) == []

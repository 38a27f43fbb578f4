"""The latest batches of a segment: bounded, exact, and honest about what they no longer know."""

from __future__ import annotations

from storage.log.recent_batches import RECENT_BATCHES_HELD, RECENT_BATCHES_MAX, RecentBatches


def add(recent: RecentBatches, last_offset: int, position: int) -> None:
    recent.lasts.append(last_offset)
    recent.positions.append(position)
    if len(recent.lasts) > RECENT_BATCHES_HELD:
        recent.forget_oldest()


def filled(count: int, size: int = 10, per_batch: int = 3) -> RecentBatches:
    recent = RecentBatches(100)
    for number in range(count):
        add(recent, 100 + (number + 1) * per_batch - 1, number * size)
    return recent


def test_each_offset_leads_to_its_batch() -> None:
    recent = filled(4)
    found = [recent.locate(offset, 45) for offset in range(100, 113)]
    assert found == [(0, 10)] * 3 + [(10, 10)] * 3 + [(20, 10)] * 3 + [(30, 15)] * 3 + [None]


def test_a_gap_leads_to_the_batch_after_it() -> None:
    recent = RecentBatches(0)
    add(recent, 4, 0)
    add(recent, 20, 50)
    assert recent.locate(5, 80) == (50, 30)


def test_old_batches_are_forgotten_and_that_is_known() -> None:
    recent = filled(2 * RECENT_BATCHES_MAX)
    assert recent.from_offset == 100
    add(recent, 100 + 6 * RECENT_BATCHES_MAX + 2, 20 * RECENT_BATCHES_MAX)
    assert len(recent.lasts) == RECENT_BATCHES_MAX + 1
    assert recent.from_offset == 100 + 3 * RECENT_BATCHES_MAX
    first = recent.locate(recent.from_offset, 0)
    assert first == (10 * RECENT_BATCHES_MAX, 10)


def test_truncation() -> None:
    recent = filled(4)
    recent.truncate_to(106, 20)
    assert recent.locate(105, 20) == (10, 10)
    assert recent.locate(106, 20) is None
    recent.forget(106)
    recent.truncate_to(103, 10)
    assert (recent.from_offset, recent.lasts) == (103, [])
    assert recent.locate(103, 10) is None

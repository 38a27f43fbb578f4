from __future__ import annotations

from random import Random

import pytest

from broker.share.record_state import RecordState
from broker.share.state_batches import StateBatch, StateBatches

AVAILABLE, DONE, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def batch(first: int, last: int, state: RecordState = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)


@pytest.mark.parametrize(
    ("batches", "combined"),
    [
        ([batch(0, 4), batch(5, 9)], [batch(0, 9)]),
        ([batch(5, 9), batch(0, 3)], [batch(0, 3), batch(5, 9)]),
        ([batch(0, 9), batch(3, 4, count=2)], [batch(0, 2), batch(3, 4, count=2), batch(5, 9)]),
        ([batch(3, 4, count=2), batch(0, 9)], [batch(0, 2), batch(3, 4, count=2), batch(5, 9)]),
        ([batch(0, 9), batch(0, 9, DONE)], [batch(0, 9, DONE)]),
        ([batch(0, 9, count=2), batch(0, 9, DONE)], [batch(0, 9, count=2)]),
        (
            [batch(0, 4, DONE), batch(10, 14, DONE), batch(2, 12, ARCHIVED)],
            [batch(0, 1, DONE), batch(2, 12, ARCHIVED), batch(13, 14, DONE)],
        ),
    ],
)
def test_the_later_state_of_a_record_counts(
    batches: list[StateBatch], combined: list[StateBatch]
) -> None:
    assert list(StateBatches(batches)) == combined


def test_records_before_the_start_are_dropped() -> None:
    batches = StateBatches([batch(0, 4), batch(6, 9, DONE)])
    batches.drop_before(7)
    assert list(batches) == [batch(7, 9, DONE)]
    batches.drop_before(10)
    assert len(batches) == 0


@pytest.mark.parametrize("seed", range(20))
def test_any_batches_give_what_their_records_give(seed: int) -> None:
    random = Random(seed)
    batches = StateBatches()
    by_offset: dict[int, tuple[int, RecordState]] = {}
    for _ in range(60):
        first = random.randrange(80)
        added = batch(
            first,
            first + random.randrange(12),
            random.choice(list(RecordState)),
            random.randrange(4),
        )
        batches.add(added)
        for offset in range(added.first, added.last + 1):
            latest = (added.deliveries, added.state)
            by_offset[offset] = max(latest, by_offset.get(offset, latest))
    parts = list(batches)
    assert {
        offset: (part.deliveries, part.state)
        for part in parts
        for offset in range(part.first, part.last + 1)
    } == by_offset
    for before, after in zip(parts, parts[1:], strict=False):
        assert before.last < after.first
        assert before.last + 1 < after.first or before[2:] != after[2:], "neighbours are alike"

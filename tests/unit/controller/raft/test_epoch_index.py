"""`controller.raft.epoch_index`: where epochs begin and end, and where two logs part."""

from __future__ import annotations

import pytest

from controller.raft.epoch_index import EpochIndex


def index() -> EpochIndex:
    """Epoch 1: 0-4, epoch 3: 5-9, epoch 4: 10-11."""
    return EpochIndex(0, 12, [(1, 0), (3, 5), (4, 10)])


def test_append_and_truncate() -> None:
    log = EpochIndex()
    assert (log.last_epoch, log.end_offset) == (0, 0)
    log.append(1, 0, 3)
    log.append(1, 3, 4)
    log.append(2, 4, 6)
    assert (log.last_epoch, log.end_offset) == (2, 6)
    log.truncate(4)
    assert (log.last_epoch, log.end_offset) == (1, 4)
    log.truncate(9)
    assert log.end_offset == 4


def test_appends_follow_each_other() -> None:
    with pytest.raises(AssertionError, match="does not follow"):
        index().append(4, 13, 14)
    with pytest.raises(AssertionError, match="epoch 2 after 4"):
        index().append(2, 12, 13)


@pytest.mark.parametrize(
    ("epoch", "end"),
    [(0, (0, 0)), (1, (1, 5)), (2, (1, 5)), (3, (3, 10)), (4, (4, 12)), (9, (4, 12))],
)
def test_ends_of_epochs(epoch: int, end: tuple[int, int]) -> None:
    assert index().end_offset_for(epoch) == end


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [
        (0, 0, None),
        (12, 4, None),
        (7, 3, None),
        (11, 3, (3, 10)),
        (13, 4, (4, 12)),
        (8, 2, (1, 5)),
        (12, 5, (4, 12)),
    ],
)
def test_divergence(offset: int, last_epoch: int, diverging: tuple[int, int] | None) -> None:
    assert index().diverging(offset, last_epoch) == diverging


@pytest.mark.parametrize(
    ("answer", "cut"), [((3, 7), 7), ((3, 11), 10), ((2, 9), 5), ((4, 11), 11)]
)
def test_where_to_cut(answer: tuple[int, int], cut: int) -> None:
    assert index().truncation_for(answer) == cut


def test_up_to_date() -> None:
    """Raft §5.4.1: the later epoch wins, then the longer log."""
    assert index().is_up_to_date(4, 12)
    assert index().is_up_to_date(5, 1)
    assert not index().is_up_to_date(4, 11)
    assert not index().is_up_to_date(3, 99)


def test_snapshots() -> None:
    log = EpochIndex(10, 12, [(4, 10)], (10, 3))
    assert log.needs_snapshot(9, 3)
    assert not log.needs_snapshot(11, 4)
    log.snapshot_taken((12, 4), 11)
    assert (log.snapshot, log.start_offset) == ((12, 4), 11)
    assert EpochIndex(10, 10, [], (10, 3)).last_epoch == 3
    assert not index().needs_snapshot(0, 0)

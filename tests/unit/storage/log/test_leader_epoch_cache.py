"""Leader epochs of a log. The cases of endOffsetFor are those of KIP-101 and KIP-279."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.fetch_data import EpochEndOffset
from storage.log.leader_epoch_cache import LeaderEpochCache

UNDEFINED = EpochEndOffset(-1, -1)


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/log")
    epochs = LeaderEpochCache(filesystem, "/log")
    for epoch, start in entries:
        epochs.assign(epoch, start)
    return epochs


def reloaded(epochs: LeaderEpochCache) -> LeaderEpochCache:
    again = LeaderEpochCache(epochs._filesystem, epochs.directory)
    again.load()
    return again


def test_new_epochs_are_written_by_the_flush_of_their_first_batch() -> None:
    epochs = cache((0, 0), (2, 10), (5, 20))
    assert not epochs.on_disk
    assert epochs.take_unsynced(0) == []
    assert epochs.take_unsynced(1) == [epochs.path]
    assert epochs.take_unsynced(30) == []
    epochs.assign(6, 30)
    assert epochs.take_unsynced(30) == []
    epochs.assign(7, 30)  # the epoch before it wrote nothing
    assert reloaded(epochs).latest == 7
    assert epochs.take_unsynced(40) == [epochs.path]


def test_what_is_cut_without_a_write_is_written_once_there_is_a_batch() -> None:
    epochs = cache((0, 0), (2, 10))
    epochs.take_unsynced(11)
    epochs.truncate_from_end(10, durably=False)
    assert (epochs.latest, reloaded(epochs).latest) == (0, 2)
    assert epochs.take_unsynced(10) == []
    assert epochs.take_unsynced(12) == [epochs.path]
    assert reloaded(epochs).latest == 0


def test_every_cut_is_on_disk() -> None:
    epochs = cache((0, 0), (2, 10), (5, 20))
    epochs.take_unsynced(21)
    assert epochs._filesystem.read(epochs.path) == b"0\n3\n0 0\n2 10\n5 20\n"
    assert reloaded(epochs).entries == epochs.entries == [(0, 0), (2, 10), (5, 20)]
    epochs.truncate_from_end(15)
    assert reloaded(epochs).entries == [(0, 0), (2, 10)]
    epochs.truncate_from_start(5)
    assert reloaded(epochs).entries == [(0, 5), (2, 10)]
    epochs.clear()
    assert reloaded(epochs).entries == []


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (-1, UNDEFINED),
        (-2, EpochEndOffset(-2, 10)),  # as an Apache Kafka answers
        (1, EpochEndOffset(1, 10)),
        (2, EpochEndOffset(2, 20)),
        (3, EpochEndOffset(2, 20)),
        (4, EpochEndOffset(4, 30)),
        (7, EpochEndOffset(7, 99)),
        (8, UNDEFINED),
    ],
)
def test_where_an_epoch_ended(epoch: int, expected: EpochEndOffset) -> None:
    assert cache((2, 10), (4, 20), (7, 30)).end_offset_for(epoch, 99) == expected


def test_without_epochs_nothing_is_defined() -> None:
    assert cache().end_offset_for(0, 5) == UNDEFINED
    assert cache().latest == -1
    assert cache().epoch_for(3) == -1


def test_the_epoch_of_an_offset() -> None:
    epochs = cache((2, 10), (4, 20))
    assert [epochs.epoch_for(offset) for offset in (9, 10, 19, 20, 50)] == [-1, 2, 2, 4, 4]


def test_an_empty_epoch_is_replaced_by_the_next_at_the_same_offset() -> None:
    assert cache((1, 0), (2, 10), (3, 10)).entries == [(1, 0), (3, 10)]


def test_an_entry_replaces_those_it_contradicts() -> None:
    assert cache((1, 0), (5, 10), (3, 8)).entries == [(1, 0), (3, 8)]
    assert cache((1, 0), (5, 10), (6, 4)).entries == [(1, 0), (6, 4)]
    assert cache((1, 0), (5, 10), (5, 12)).entries == [(1, 0), (5, 10)]
    assert cache((1, 0), (5, 10), (5, 7)).entries == [(1, 0), (5, 7)]


def test_an_undefined_epoch_is_not_noted() -> None:
    assert cache((-1, 0)).entries == []


def test_truncation_at_the_log_end_drops_an_epoch_without_batches() -> None:
    epochs = cache((1, 0), (2, 10))
    epochs.truncate_from_end(10)
    assert (epochs.entries, epochs.latest) == ([(1, 0)], 1)
    epochs.truncate_from_end(0)
    assert (epochs.entries, epochs.latest) == ([], -1)


def test_truncation_from_the_start_keeps_the_epoch_that_holds_it() -> None:
    epochs = cache((1, 0), (2, 10), (3, 20))
    epochs.truncate_from_start(20)
    assert epochs.entries == [(3, 20)]
    epochs.truncate_from_start(5)
    assert epochs.entries == [(3, 20)]


def test_a_scan_notes_only_rising_epochs_and_writes_once() -> None:
    epochs = cache()
    for epoch, start in ((-1, 0), (1, 0), (1, 5), (3, 9), (2, 12)):
        epochs.note(epoch, start)
    assert epochs.entries == [(1, 0), (3, 9)]
    assert not epochs._filesystem.exists(epochs.path)
    epochs.write()
    assert reloaded(epochs).entries == [(1, 0), (3, 9)]


@pytest.mark.parametrize(
    "data", [b"", b"0\n", b"0\n2\n1 0\n", b"1\n1\n1 0\n", b"0\n1\nx y\n", b"0\n2\n3 0\n2 5\n"]
)
def test_a_damaged_file_is_not_trusted(data: bytes) -> None:
    epochs = cache((1, 0))
    epochs._filesystem.replace_atomically(epochs.path, data)
    assert not epochs.load()
    assert epochs.entries == []


def test_a_missing_file_is_told() -> None:
    assert not cache().load()

"""The transaction index of a segment: written, read back, cut; damage is told."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from log_format.segment_names import TXN_INDEX_SUFFIX
from log_format.transaction_index import AbortedTxn
from protocol.record_batch import CorruptBatch
from tests.unit.storage.segment_fixture import fill, reopened, segment_in

ABORTED = [AbortedTxn(7, 0, 9, 10), AbortedTxn(8, 4, 19, 20)]


def test_what_was_aborted_is_read_back_from_the_file() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [30])
    assert segment.aborted == []
    for one in ABORTED:
        segment.add_aborted(one)
    assert segment.aborted == ABORTED
    assert reopened(segment, filesystem, active=False).aborted == ABORTED


def test_written_anew_and_removed() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    segment.set_aborted(ABORTED)
    assert segment.aborted == ABORTED
    path = segment.path(TXN_INDEX_SUFFIX)
    assert filesystem.exists(path)
    segment.set_aborted([])
    assert not filesystem.exists(path)
    assert segment.aborted == []


def test_a_truncation_forgets_what_lies_behind_it() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1] * 30)
    segment.set_aborted(list(ABORTED))
    segment.truncate_to(15)
    assert segment.aborted == ABORTED[:1]
    segment.truncate_to(5)
    assert segment.aborted == []


def test_damage_is_told() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [30])
    filesystem.replace_atomically(segment.path(TXN_INDEX_SUFFIX), b"odd")
    with pytest.raises(CorruptBatch):
        _ = segment.aborted
    with pytest.raises(OSError, match="damaged"):
        segment.add_aborted(ABORTED[0])

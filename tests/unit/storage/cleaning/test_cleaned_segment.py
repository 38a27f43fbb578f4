"""The segment that compaction writes: durable, indexed as a log indexes its own."""

from __future__ import annotations

from ground.memory_filesystem import MemoryFilesystem
from log_format.transaction_index import AbortedTxn, encode_transactions
from protocol.record_batch import read_header
from protocol.records import Record
from storage.cleaning.cleaned_segment import CleanedSegment
from storage.log.indexes import OffsetIndex, TimeIndex
from tests.batches import build_batch

FOLDER = "/log"


def new(disk: MemoryFilesystem, base_offset: int = 5) -> CleanedSegment:
    disk.make_dirs(FOLDER)
    return CleanedSegment(disk, FOLDER, base_offset, 1_000, 100, 200)


def test_batches_and_entries_lie_in_files_that_are_synced() -> None:
    disk = MemoryFilesystem()
    cleaned = new(disk)
    data = b""
    for number in range(10):
        batch = build_batch([Record(-1, 1_000 - number, b"k", b"v" * 20)], base_offset=7 + number)
        cleaned.note(read_header(batch), 1_000 - number, len(batch))
        cleaned.write(batch)
        data += batch
    group = cleaned.finish((5, 9), [AbortedTxn(1, 7, 8, 7)])
    assert (group.sources, group.size) == ((5, 9), len(data))
    assert (group.max_timestamp, group.offset_of_max_timestamp) == (1_000, 7)
    assert group.files == (".index", ".timeindex", ".txnindex", ".log")
    disk.sync_dir(FOLDER)
    disk.kill()
    path = f"{FOLDER}/{5:020d}"
    assert disk.read(f"{path}.log.cleaned") == data
    assert disk.read(f"{path}.txnindex.cleaned") == encode_transactions([AbortedTxn(1, 7, 8, 7)])
    index = OffsetIndex(disk, 5, 1_000)
    index.open(f"{path}.index.cleaned")
    size = len(data) // 10
    assert index.last("") == (15, 8 * size)
    times = TimeIndex(disk, 5, 1_000)
    times.open(f"{path}.timeindex.cleaned")
    assert times.last("") == (1_000, 7)


def test_what_an_older_cleaning_left_is_not_written_to() -> None:
    disk = MemoryFilesystem()
    disk.make_dirs(FOLDER)
    path = f"{FOLDER}/{5:020d}.log.cleaned"
    other = disk.open(path, create=True)
    other.append(b"of another one")
    group = new(disk).finish((5,), [])
    other.append(b", which still writes")
    assert disk.read(path) == b""
    assert (group.size, group.files) == (0, (".index", ".timeindex", ".log"))

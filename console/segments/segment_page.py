"""The contents of a segment: pages of batches, records, bytes with fields, indexes and look-ups.

Each request lists the folder first, so a segment that retention or compaction has removed is
reported in one line. Owns nothing; a file is open for one request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from client.records.decoders import decode_by, decoder_of
from console.segments.answers import (
    AbortedTransaction,
    BatchesPage,
    BatchPlace,
    DamagedSnapshot,
    IndexPage,
    LookUpShown,
    ProbeShown,
    Snapshot,
    SnapshotProducer,
)
from console.segments.disk import NoSuchFolder
from console.segments.files.batch_pages import page_from, place_before
from console.segments.files.header_walk import Batch, batch_around
from console.segments.files.index_entries import IndexFile
from console.segments.files.lookups import Probe, find_offset, find_time
from console.segments.files.partition_files import SegmentFiles, partition_files
from console.segments.meaning.answers import BatchOpened, BatchShown, BytesNamed
from console.segments.meaning.batch_contents import (
    OpenBatch,
    batch_shown,
    header_bytes,
    open_batch,
    record_bytes,
    records_page,
)
from console.segments.segment_facts import SegmentReader
from log_format.damage import LogError
from log_format.files import Files, Read
from log_format.segment_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    offset_name,
    segment_path,
)
from log_format.transaction_index import decode_transactions
from protocol.compression import Codec
from protocol.record_batch import CorruptBatch
from storage.dump_log import batch_entry
from storage.log.producer_snapshot import decode_snapshot

PAGE_MAX = 200
SMALL_FILE_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """An open segment: its files, and its offset index; `read` reads its `.log` of `size` bytes."""

    files: SegmentFiles
    read: Read
    size: int
    offsets: IndexFile


@contextmanager
def opened(files: Files, reader: SegmentReader, folder: str, base_offset: int) -> Iterator[Source]:
    """Open the segment of `folder` with this base offset. Raises NoSuchFolder if it is gone."""
    try:
        segment = partition_files(files, folder).segment(base_offset)
        if segment is None:
            raise NoSuchFolder(gone(base_offset))
        with (
            files.opened(segment.path) as file,
            reader.index(segment, INDEX_SUFFIX) as offsets,
        ):
            yield Source(segment, file.read, segment.stamps[LOG_SUFFIX].size, offsets)
    except LogError as error:
        raise NoSuchFolder(f"{gone(base_offset)} ({error})") from error


def gone(base_offset: int) -> str:
    """Return the line for a segment that is gone."""
    return f"segment {offset_name(base_offset)} is gone: retention or compaction removed it"


# --- batches --------------------------------------------------------------------------------------


def batches_page(source: Source, place: int, limit: int) -> BatchesPage:
    """Return a page of batches from the one around byte `place` on; -1 stands for the last page.

    Damage is in the answer.
    """
    limit = min(limit, PAGE_MAX)
    try:
        if place < 0:
            place = place_before(source.read, source.size, source.offsets, source.size, limit)
        page = page_from(source.read, source.size, source.offsets, place, limit)
        at = page.batches[0][0].position if page.batches else place
        before = place_before(source.read, source.size, source.offsets, at, limit) if at else None
    except CorruptBatch as error:
        return BatchesPage([], at=place, next=None, previous=None, damage=str(error))
    return BatchesPage(
        batches=[_batch(batch, is_right) for batch, is_right in page.batches],
        at=at,
        next=page.following,
        previous=before,
        damage=page.damage,
        size=source.size,
    )


def _batch(batch: Batch, is_right: bool | None) -> BatchShown:
    return batch_shown(batch_entry(batch.header, batch.position, is_valid=is_right))


def batch_at(source: Source, place: int) -> OpenBatch:
    """Open the batch around byte `place`. Raises NoSuchFolder if there is none, CorruptBatch."""
    start = source.offsets.floor_position(place)
    batch = batch_around(source.read, source.size, start, place)
    if batch is None:
        raise NoSuchFolder(f"the segment has no batch at byte {place}: it ends before")
    return open_batch(source.read, batch)


def batch_opened(source: Source, place: int, first: int, limit: int) -> BatchOpened:
    """Return the batch around byte `place` with a page of its records.

    Raises NoSuchFolder, CorruptBatch.
    """
    batch = batch_at(source, place)
    folder, name = source.files.folder.rpartition("/")[2], f"{source.files.base_offset:020d}.log"
    decode = decode_by(decoder_of(folder, name))
    page = records_page(batch, first, limit, decode)
    return BatchOpened(
        batch=_batch(batch.batch, batch.crc_is_right),
        packed=batch.header.size_in_bytes,
        codec=Codec(batch.header.compression).name.lower(),
        first=page.first,
        count=page.count,
        records=page.records,
        damage=page.damage,
        unpacked=page.unpacked,
    )


def bytes_named(source: Source, place: int, record: int, begin: int) -> BytesNamed:
    """Return the bytes and fields of a batch's header, or of its record number `record`.

    -1 stands for the header; `begin` is the first byte of a record. Raises NoSuchFolder,
    CorruptBatch.
    """
    batch = batch_at(source, place)
    return header_bytes(batch) if record < 0 else record_bytes(batch, record, begin)


# --- indexes --------------------------------------------------------------------------------------


def index_page(
    reader: SegmentReader, source: Source, suffix: str, first: int, limit: int
) -> IndexPage:
    """Return the entries from number `first` on of the `.index` or `.timeindex`."""
    with reader.index(source.files, suffix) as index:
        first = min(max(first, 0), len(index))
        return IndexPage(
            entries=list(index[first : first + min(limit, PAGE_MAX)]),
            first=first,
            count=len(index),
            room=index.room,
            entryBytes=index.entry_bytes,
        )


def look_up(
    reader: SegmentReader, source: Source, offset: int | None, time_ms: int | None
) -> LookUpShown:
    """Return the steps of the look-up of an offset, or of a time in ms. Raises CorruptBatch."""
    if time_ms is not None:
        with reader.index(source.files, TIME_INDEX_SUFFIX) as times:
            steps = find_time(source.read, source.size, source.offsets, times, time_ms)
    else:
        assert offset is not None
        steps = find_offset(source.read, source.size, source.offsets, offset)
    return LookUpShown(
        ofTime=None if steps.of_time is None else _probe(steps.of_time),
        ofOffset=_probe(steps.of_offset),
        start=steps.start,
        passed=[_place(batch) for batch in steps.passed],
        passedCount=steps.passed_count,
        passedBytes=steps.passed_bytes,
        batch=None if steps.batch is None else _place(steps.batch),
        exact=steps.is_exact,
        offset=offset,
        time=time_ms,
    )


def _probe(probe: Probe) -> ProbeShown:
    return ProbeShown(
        key=probe.key,
        entry=probe.entry,
        around=list(probe.around),
        entries=probe.entries,
        compared=probe.compared,
    )


def _place(batch: Batch) -> BatchPlace:
    header = batch.header
    return BatchPlace(
        position=batch.position,
        size=header.size_in_bytes,
        baseOffset=header.base_offset,
        lastOffset=header.last_offset,
        maxTimestamp=header.max_timestamp,
    )


# --- small files ----------------------------------------------------------------------------------


def aborted(files: Files, source: Source) -> list[AbortedTransaction] | None:
    """Return the first PAGE_MAX aborted transactions of the `.txnindex`, None if it is damaged."""
    stamp = source.files.stamps.get(TXN_INDEX_SUFFIX)
    if stamp is None or not stamp.size:
        return []
    data = _small(files, source.files.path_of(TXN_INDEX_SUFFIX), stamp.size)
    transactions = decode_transactions(data)
    if transactions is None:
        return None
    return [
        AbortedTransaction(
            producerId=transaction.producer_id,
            firstOffset=transaction.first_offset,
            lastOffset=transaction.last_offset,
            lastStableOffset=transaction.last_stable_offset,
        )
        for transaction in transactions[:PAGE_MAX]
    ]


def snapshot(files: Files, folder: str, offset: int) -> Snapshot | DamagedSnapshot:
    """Return the first PAGE_MAX producers of the producer snapshot at `offset`.

    Raises NoSuchFolder if there is no such snapshot.
    """
    path = segment_path(folder, offset, SNAPSHOT_SUFFIX)
    try:
        stamp = files.stamp(path)
        if stamp is None:
            raise NoSuchFolder(f"the folder has no snapshot {offset_name(offset)} any more")
        producers = decode_snapshot(_small(files, path, stamp.size))
    except LogError as error:
        raise NoSuchFolder(str(error)) from error
    if producers is None:
        return DamagedSnapshot("this is not a producer snapshot of version 1 with a valid checksum")
    rows = [
        SnapshotProducer(
            producerId=producer.producer_id,
            producerEpoch=producer.producer_epoch,
            coordinatorEpoch=producer.coordinator_epoch,
            currentTxnFirstOffset=producer.current_txn_first_offset,
            lastTimestamp=producer.last_timestamp,
            lastSequence=producer.last_sequence,
            lastOffset=producer.last_offset,
        )
        for producer in producers[:PAGE_MAX]
    ]
    return Snapshot(rows, len(producers))


def _small(files: Files, path: str, size: int) -> bytes:
    """Return a file's content. Raises NoSuchFolder if it exceeds SMALL_FILE_BYTES_MAX."""
    if size > SMALL_FILE_BYTES_MAX:
        raise NoSuchFolder(
            f"{path.rpartition('/')[2]} has {size} bytes: print it with ottla dump-log"
        )
    return files.content(path) or b""

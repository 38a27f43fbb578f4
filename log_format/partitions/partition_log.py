"""One partition's folder: its segments, the start and the end of its log, its last stable offset.

Owns what is known before a record is read: from the names, the indexes and the producer snapshots,
and from the headers of the last segment. Only that segment may be torn: a process that died may
leave an incomplete batch, or a batch with a wrong checksum, at its end; the log ends before it.
Damage before whole batches is an error, and so is a folder in the middle of a compaction. If an
index is missing or damaged, it is rebuilt from the headers. `notes` has a line for each such
finding.

Never writes. Callers must not read a folder that a broker is writing: they copy it, or stop the
broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from log_format.batch_headers import Headers, Ints, column, last_offsets
from log_format.checkpoints import PARTITION_METADATA, topic_id_text
from log_format.damage import DamagedLog, LogError, OldFormat
from log_format.files import Files
from log_format.partitions.transactions import TransactionReplay, open_in_snapshot
from log_format.records.arrow_batches import ArrowDecoder, Piece
from log_format.records.segment_pieces import Crc, pieces, sound_batch_in
from log_format.segment_index import SegmentIndex, index_of, read_index
from log_format.segment_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)
from log_format.transaction_index import AbortedTxn, decode_transactions

_TAIL_SEARCH_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Segment:
    """A segment, of which the bytes up to `end` are read, with offsets below `next_offset`."""

    path: str
    base_offset: int
    end: int
    next_offset: int
    index: SegmentIndex | None = None
    aborted: list[AbortedTxn] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Range:
    """The batches of one segment from byte `start` to `end`, with offsets of `least` or more."""

    path: str
    start: int
    end: int
    least: int


class PartitionLog:
    """The log of one partition, as its folder has it."""

    def __init__(
        self,
        files: Files,
        folder: str,
        topic: str,
        partition: int,
        crc: Crc | None,
        *,
        log_start: int | None = None,
        clean: bool = False,
        stop_at_damage: bool = False,
    ) -> None:
        """Find the log's segments, transactions, start, end and last stable offset.

        `log_start` is that of the data folder's checkpoint. `clean`: the broker was shut down
        cleanly, so that the last segment need not be read. `stop_at_damage` ends the log before
        the first damage, wherever that is; then all segments are read. Raises LogError without a
        segment, in the middle of a compaction, or at damage that is not at the log's very end.
        """
        self.topic, self.partition, self.folder = topic, partition, folder
        self._files, self._crc = files, crc
        self._stop_at_damage = stop_at_damage
        self.notes: list[str] = []
        names = files.names(folder)
        self.segments = self._segments(names)
        metadata = files.content(f"{folder}/{PARTITION_METADATA}")
        self.topic_id = topic_id_text(metadata) if metadata is not None else None
        for segment in self.segments[:-1]:
            self._read_index(segment)
        at_shutdown = self._transactions_at_shutdown() if clean and not stop_at_damage else None
        self.transactions = at_shutdown or self._replayed(names)
        self.log_start = max(self.segments[0].base_offset, log_start or 0)
        self.end = max(self.segments[-1].next_offset, self.log_start)
        self.stable_end = max(self.transactions.stable_end(self.end), self.log_start)

    @property
    def size(self) -> int:
        """The number of bytes of all segments."""
        return sum(segment.end for segment in self.segments)

    @property
    def aborted(self) -> list[AbortedTxn]:
        """The aborted transactions, in the order of their markers."""
        return [transaction for segment in self.segments for transaction in segment.aborted]

    def offset_of_time(self, time_ms: int) -> int | None:
        """Return the offset of the first record, from the log's start on, with a timestamp of
        `time_ms` or later; None: there is none.

        Follows Kafka's `UnifiedLog.fetchOffsetByTimestamp`. Raises LogError.
        """
        for segment in self.segments:
            if segment.next_offset <= self.log_start or not segment.end:
                continue
            index = segment.index
            assert index is not None
            largest = index.largest_time()
            if (largest is None or largest < time_ms) and not self._is_later(segment, time_ms):
                continue
            entry = index.before_time(time_ms)
            start = index.start_of(max(entry or 0, self.log_start))
            offset = self._first_of_time(segment, start, time_ms)
            if offset is not None:
                return offset
        return None

    def ranges(self, start: int, end: int, step_bytes: int) -> Iterator[list[Range]]:
        """Yield the ranges of bytes in the segments that have all batches with offsets from `start`
        to before `end`, in parts of about `step_bytes`. Neighbouring batches may be included."""
        part: list[Range] = []
        filled = 0
        for segment in self.segments:
            index = segment.index
            if segment.next_offset <= start or segment.base_offset >= end or not segment.end:
                continue
            assert index is not None
            first = index.start_of(start) if start > segment.base_offset else 0
            last = index.end_of(end, segment.end) if end < segment.next_offset else segment.end
            borders = [first, *index.cuts(first, last, step_bytes), last]
            for at, next_at in zip(borders, borders[1:], strict=False):
                if part and filled + next_at - at > step_bytes:
                    yield part
                    part, filled = [], 0
                part.append(Range(segment.path, at, next_at, segment.base_offset))
                filled += next_at - at
        if part:
            yield part

    def _segments(self, names: list[str]) -> list[Segment]:
        """Return the segments in the order of their base offsets, without their indexes.

        Raises LogError if there are none, or if a compaction was cut short.
        """
        swaps = [name for name in names if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
        if swaps:
            raise LogError(
                f"{self.folder} was left in the middle of a compaction ({swaps[0]}): let a broker "
                "start on a copy of it once, and read that"
            )
        bases = sorted(
            base for name in names if (base := base_offset_of(name, LOG_SUFFIX)) is not None
        )
        if not bases:
            raise LogError(f"{self.folder} has no segment: no file such as {0:020d}{LOG_SUFFIX}")
        segments = []
        for base, following in zip(bases, [*bases[1:], 2**63 - 1], strict=True):
            path = segment_path(self.folder, base, LOG_SUFFIX)
            segments.append(Segment(path, base, self._files.size(path), following))
        return segments

    def _read_index(self, segment: Segment) -> None:
        """Set the segment's `index` and `aborted` from its index files. If a file is missing or
        damaged, append that to `notes` and leave the segment without index.

        With `stop_at_damage` no index is set, because all batches are read.
        """
        stem = segment.path.removesuffix(LOG_SUFFIX)
        index = read_index(
            segment.base_offset,
            segment.end,
            self._files.content(stem + INDEX_SUFFIX),
            self._files.content(stem + TIME_INDEX_SUFFIX),
        )
        transactions = self._files.content(stem + TXN_INDEX_SUFFIX)
        aborted = decode_transactions(transactions) if transactions else []
        if isinstance(index, str):
            self._note(segment, f"{index}: its batches were read instead")
        elif aborted is None:
            self._note(segment, ".txnindex is damaged: its batches were read instead")
        elif not self._stop_at_damage:
            segment.index, segment.aborted = index, aborted

    def _transactions_at_shutdown(self) -> TransactionReplay | None:
        """Return the transactions from the files of a clean shutdown: the last segment's indexes,
        and the producer snapshot at the log's end. None: one of them is missing or damaged.

        Find the log's end after the index's last entry, and set the last segment's `next_offset`.
        """
        last = self.segments[-1]
        self._read_index(last)
        if any(segment.index is None for segment in self.segments):
            return None
        assert last.index is not None
        end = last.base_offset
        try:
            for piece in self._pieces(last, last.index.start_of(last.next_offset)):
                end = int(last_offsets(piece.headers[-1:])[0]) + 1
        except DamagedLog:
            last.index = None
            return None
        data = self._files.content(segment_path(self.folder, end, SNAPSHOT_SUFFIX))
        ongoing = open_in_snapshot(data, self._crc) if data is not None else None
        if ongoing is None:
            last.index = None
            return None
        last.next_offset = end
        return TransactionReplay(ongoing)

    def _note(self, segment: Segment, text: str) -> None:
        """Append to `notes` a line with the partition, the segment and this text."""
        name = segment.path.rpartition("/")[2].removesuffix(LOG_SUFFIX)
        self.notes.append(f"{self.topic}-{self.partition}: segment {name}: {text}")

    def _replayed(self, names: list[str]) -> TransactionReplay:
        """Return the transactions of the log, replayed from the last producer snapshot before the
        first segment without an index to the log's end.

        Set the index of each segment read, and the aborted transactions of those without. Drop the
        segments after damage. Raises LogError if damage hides whole batches or other segments.
        """
        unindexed = [
            number for number, segment in enumerate(self.segments) if segment.index is None
        ]
        begin, replay = self._snapshot(names, self.segments[unindexed[0]].base_offset)
        for number, segment in enumerate(self.segments):
            if segment.next_offset <= begin:
                continue
            before = len(replay.aborted)
            if self._walk(segment, replay, number == len(self.segments) - 1):
                del self.segments[number + 1 :]
            if number in unindexed:
                segment.aborted = replay.aborted[before:]
            if segment is self.segments[-1]:
                break
        return replay

    def _snapshot(self, names: list[str], upto: int) -> tuple[int, TransactionReplay]:
        """Return the offset of the last valid producer snapshot at or before offset `upto`, and its
        open transactions; without a snapshot, the log's start and no transactions."""
        snapshots = sorted(
            base for name in names if (base := base_offset_of(name, SNAPSHOT_SUFFIX)) is not None
        )
        borders = [segment.base_offset for segment in self.segments]
        for offset in reversed([base for base in snapshots if base <= upto and base in borders]):
            data = self._files.content(segment_path(self.folder, offset, SNAPSHOT_SUFFIX))
            ongoing = open_in_snapshot(data, self._crc) if data is not None else None
            if ongoing is not None:
                return offset, TransactionReplay(ongoing)
        return self.segments[0].base_offset, TransactionReplay()

    def _walk(self, segment: Segment, replay: TransactionReplay, is_last: bool) -> bool:
        """Read a segment's batches: replay their transactions and rebuild its index. Return whether
        the log ends in this segment, which is last or damaged. Raises as `_end_at`."""
        headers: list[tuple[Headers, Ints]] = []
        ends = is_last
        next_offset = segment.base_offset
        with self._files.opened(segment.path) as file:
            try:
                for piece in pieces(
                    segment.path, file.read, 0, segment.end, self._crc, segment.base_offset
                ):
                    replay.replay(piece)
                    headers.append((piece.headers, piece.position + piece.positions))
                    next_offset = int(last_offsets(piece.headers[-1:])[0]) + 1
            except DamagedLog as damage:
                self._end_at(segment, damage, is_last)
                ends = True
        segment.index = index_of(headers)
        if ends:
            segment.next_offset = next_offset
        return ends

    def _end_at(self, segment: Segment, damage: DamagedLog, is_last: bool) -> None:
        """Set the segment's end to the damage, and append to `notes` how many bytes are lost.

        Zeros at the log's end are no damage. Raises LogError if whole batches or other segments
        follow, unless `stop_at_damage` is set, and always OldFormat for an older format.
        """
        if isinstance(damage, OldFormat):
            raise damage
        rest = segment.end - damage.position
        with self._files.opened(segment.path) as file:
            tail = file.read(min(rest, _TAIL_SEARCH_BYTES), damage.position)
        segment.end = damage.position
        if is_last and not tail.strip(b"\0"):
            return  # zeros that the broker has preallocated
        follows = sound_batch_in(tail[1:], self._crc, segment.base_offset)
        if is_last and follows is None:
            self._note(
                segment,
                f"its end is torn, the log ends before its last {rest} bytes ({damage.why})",
            )
            return
        if not self._stop_at_damage:
            reason = "other segments follow" if follows is None else "whole batches follow"
            raise LogError(
                f"{damage}; {reason}. What lies before it is read with the option damage=stop"
            )
        lost = rest + sum(
            later.end for later in self.segments if later.base_offset > segment.base_offset
        )
        self._note(segment, f"{damage.why}: {lost} bytes from there on are not read")

    def _is_later(self, segment: Segment, time_ms: int) -> bool:
        """Return whether the last batches of a segment have a timestamp of `time_ms` or later that
        its time index lacks, because it lost its last entries. If so, rebuild the index and append
        that to `notes`.

        False for the last segment.
        """
        if segment is self.segments[-1]:
            return False
        assert segment.index is not None
        start = segment.index.start_of(segment.next_offset)
        for piece in self._pieces(segment, start):
            if (column(piece.headers, "max_timestamp") >= time_ms).any():
                self._note(segment, ".timeindex ends too early: its batches were read instead")
                segment.index = index_of(
                    (every.headers, every.position + every.positions)
                    for every in self._pieces(segment, 0)
                )
                return True
        return False

    def _first_of_time(self, segment: Segment, start: int, time_ms: int) -> int | None:
        """Return the offset of the segment's first record at or after `time_ms`, None without one.

        Reads from position `start`.
        """
        decoder = ArrowDecoder(self.topic, self.partition)
        for piece in self._pieces(segment, start):
            late = column(piece.headers, "max_timestamp") >= time_ms
            for batch in np.flatnonzero(late).tolist():
                late_batch = piece.select(np.arange(len(late)) == batch)
                for rows in decoder.batches(late_batch, self.log_start, segment.next_offset):
                    times = rows.column("timestamp").to_numpy(zero_copy_only=False)
                    late_rows = np.flatnonzero(times.astype(np.int64) >= time_ms * 1000)
                    if len(late_rows):
                        return int(rows.column("offset")[int(late_rows[0])].as_py())
        return None

    def _pieces(self, segment: Segment, start: int) -> Iterator[Piece]:
        """Yield the segment's batches from byte `start` on, checked. Raises DamagedLog."""
        with self._files.opened(segment.path) as file:
            yield from pieces(segment.path, file.read, start, segment.end, self._crc)

"""The transactions of a log: the aborted transactions, and those that are open at its end.

Owns the replay of batches' headers (as Kafka's `ProducerStateManager` does it at a start) and the
snapshots from which a replay continues. A transaction begins with a producer's first transactional
batch and ends with its marker, a control record of type ABORT (0) or COMMIT (1). Never reads a
file.

Format of Kafka's `ProducerSnapshot` version 1: int16 version, uint32 CRC-32C over the rest, int32
count, then entries of 46 bytes; of these the producer's id and its open transaction matter here.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from log_format.batch_headers import (
    CONTROL,
    HEADER_BYTES,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    Ints,
    column,
    last_offsets,
)
from log_format.records.arrow_batches import Piece
from log_format.records.record_columns import BadRecords, find_records
from log_format.records.segment_pieces import Crc
from log_format.transaction_index import AbortedTxn

_SNAPSHOT = Struct(">hIi")
_SNAPSHOT_VERSION = 1
_ENTRY = np.dtype(
    [("producer_id", ">i8"), ("others", "V30"), ("first_offset", ">i8")],
)
_CRC_FROM = 6
_MARKER_KEY = Struct(">hh")
ABORT, COMMIT = 0, 1


def open_in_snapshot(data: bytes, crc: Crc | None) -> dict[int, int] | None:
    """Return the first offsets of the open transactions, by producer id; None: the snapshot is
    damaged or of another version. Without `crc`, the checksum is not compared."""
    if len(data) < _SNAPSHOT.size:
        return None
    version, checksum, count = _SNAPSHOT.unpack_from(data)
    body = memoryview(data)[_CRC_FROM:]
    if version != _SNAPSHOT_VERSION or (crc is not None and crc(body) != checksum):
        return None
    entries = data[_SNAPSHOT.size :]
    if count < 0 or len(entries) != count * _ENTRY.itemsize:
        return None
    return {
        int(entry["producer_id"]): int(entry["first_offset"])
        for entry in np.frombuffer(entries, dtype=_ENTRY)
        if entry["first_offset"] >= 0
    }


class TransactionReplay:
    """The transactions of a log, from a replay of its batches' headers in their order."""

    def __init__(self, ongoing: dict[int, int] | None = None) -> None:
        self.ongoing = dict(ongoing or {})
        """The first offsets of the open transactions, by producer."""
        self.aborted: list[AbortedTxn] = []

    def replay(self, piece: Piece) -> None:
        """Apply the batches of `piece`, which open, commit and abort transactions, to `ongoing` and
        `aborted`. Raises DamagedLog if a control record is malformed."""
        attributes = column(piece.headers, "attributes")
        batches = np.flatnonzero(attributes & (TRANSACTIONAL | CONTROL))
        if not len(batches):
            return
        producers = column(piece.headers, "producer_id")
        bases, lasts = column(piece.headers, "base_offset"), last_offsets(piece.headers)
        for batch in batches.tolist():
            producer = int(producers[batch])
            if not attributes[batch] & CONTROL:
                self.ongoing.setdefault(producer, int(bases[batch]))
                continue
            kind = marker_of(piece, batch)
            if kind not in (ABORT, COMMIT):
                continue
            first, last = self.ongoing.pop(producer, None), int(lasts[batch])
            if kind == ABORT and first is not None:
                stable = min(self.ongoing.values(), default=last + 1)
                self.aborted.append(AbortedTxn(producer, first, last, stable))

    def stable_end(self, end: int) -> int:
        """Return the last stable offset of a log with this end offset: the first offset of the
        oldest open transaction, else `end`."""
        return min(self.ongoing.values(), default=end)


def marker_of(piece: Piece, batch: int) -> int | None:
    """Return the type of a control batch's first record, such as ABORT; None: compaction has
    dropped the record.

    `batch` is the batch's index in `piece`. Raises DamagedLog.
    """
    at = int(piece.positions[batch])
    header = piece.headers[batch]
    if header["count"] == 0:
        return None
    end = at + LOG_OVERHEAD + int(header["length"])
    try:
        records = find_records(
            piece.data, _ints(at + HEADER_BYTES), _ints(end), _ints(int(header["count"]))
        )
        key = int(records.key_start[0])
        if records.key_length[0] < _MARKER_KEY.size:
            raise BadRecords(batch, "a control record's key is too short")
    except BadRecords as error:
        raise piece.damaged(batch, str(error)) from None
    return int(_MARKER_KEY.unpack_from(piece.data, key)[1])


class AbortedBatches:
    """The offsets of a partition's aborted transactions, by producer, which hide their batches."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        self._by_producer: dict[int, tuple[Ints, Ints]] = {}
        by_producer: dict[int, list[AbortedTxn]] = {}
        for aborted_txn in sorted(aborted, key=lambda txn: txn.first_offset):
            by_producer.setdefault(aborted_txn.producer_id, []).append(aborted_txn)
        for producer, transactions in by_producer.items():
            firsts = np.array([txn.first_offset for txn in transactions], dtype=np.int64)
            lasts = np.array([txn.last_offset for txn in transactions], dtype=np.int64)
            self._by_producer[producer] = firsts, lasts

    def visible(self, piece: Piece) -> Piece:
        """Return `piece` without control batches and without batches of aborted transactions."""
        attributes = column(piece.headers, "attributes")
        visible = (attributes & CONTROL) == 0
        if self._by_producer:
            producers, bases = column(piece.headers, "producer_id"), None
            transactional = visible & ((attributes & TRANSACTIONAL) != 0)
            for producer in np.unique(producers[transactional]).tolist():
                if producer not in self._by_producer:
                    continue
                firsts, lasts = self._by_producer[producer]
                bases = column(piece.headers, "base_offset") if bases is None else bases
                slot = np.searchsorted(firsts, bases, side="right") - 1
                within = (slot >= 0) & (bases <= lasts[np.maximum(slot, 0)])
                visible &= ~(transactional & (producers == producer) & within)
        return piece if visible.all() else piece.select(visible)


def _ints(value: int) -> Ints:
    """Return an array with `value` as its only item."""
    return np.array((value,), dtype=np.int64)

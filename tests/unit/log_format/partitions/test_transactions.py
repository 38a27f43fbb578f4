from __future__ import annotations

import pytest

from log_format.damage import DamagedLog
from log_format.partitions.transactions import (
    ABORT,
    COMMIT,
    AbortedBatches,
    TransactionReplay,
    marker_of,
    open_in_snapshot,
)
from log_format.records.segment_pieces import crc32c_function
from log_format.transaction_index import AbortedTxn
from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.records import Record
from storage.log.producer_snapshot import encode_snapshot
from storage.log.producer_state import BatchMetadata, ProducerStateEntry
from tests.batches import build_batch
from tests.unit.log_format.pieces import piece_of

CRC = crc32c_function()


def data(base: int, producer: int, *, transactional: bool = True) -> bytes:
    return bytes(
        build_batch(
            [Record(base, 0, None, b"v"), Record(base + 1, 0, None, b"w")],
            base_offset=base,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional,
        )
    )


def marker(base: int, producer: int, kind: ControlRecordType) -> bytes:
    return bytes(
        build_transaction_marker(
            kind,
            producer_id=producer,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=0,
            base_offset=base,
        )
    )


LOG = (
    data(0, 1)
    + data(2, 2)
    + data(4, 3, transactional=False)
    + marker(6, 1, ControlRecordType.ABORT)
    + data(7, 1)
    + marker(9, 2, ControlRecordType.COMMIT)
    + marker(10, 5, ControlRecordType.ABORT)
)


def test_what_headers_tell() -> None:
    replay = TransactionReplay()
    replay.replay(piece_of(LOG))
    assert replay.aborted == [AbortedTxn(1, 0, 6, 2)]
    assert replay.ongoing == {1: 7}
    assert replay.stable_end(11) == 7 and TransactionReplay().stable_end(11) == 11


def test_it_goes_on_from_what_was_open() -> None:
    replay = TransactionReplay({5: 3})
    replay.replay(piece_of(marker(10, 5, ControlRecordType.ABORT)))
    assert replay.aborted == [AbortedTxn(5, 3, 10, 11)] and replay.ongoing == {}


def test_kinds_of_markers() -> None:
    piece = piece_of(LOG)
    assert [marker_of(piece, batch) for batch in (3, 5)] == [ABORT, COMMIT]
    empty = piece_of(bytes(build_batch([], base_offset=5, last_offset=5, is_control=True)))
    assert marker_of(empty, 0) is None
    short = build_batch([Record(0, 0, b"\0", None)], is_control=True)
    with pytest.raises(DamagedLog, match="key is too short"):
        marker_of(piece_of(bytes(short)), 0)


def test_what_is_visible() -> None:
    piece = piece_of(LOG)
    everything = AbortedBatches([]).visible(piece)
    assert everything.headers["base_offset"].tolist() == [0, 2, 4, 7]
    committed = AbortedBatches([AbortedTxn(1, 0, 6, 2), AbortedTxn(3, 0, 6, 2)]).visible(piece)
    assert committed.headers["base_offset"].tolist() == [2, 4, 7], "3 writes outside transactions"
    both = AbortedBatches([AbortedTxn(1, 7, 20, 2), AbortedTxn(1, 0, 6, 2)]).visible(piece)
    assert both.headers["base_offset"].tolist() == [2, 4]


def test_snapshots_tell_what_was_open() -> None:
    entries = [
        ProducerStateEntry.of_snapshot(number, 0, BatchMetadata(0, 5, 0, 0), 0, 0, first)
        for number, first in ((1, -1), (2, 7), (3, 0))
    ]
    snapshot = encode_snapshot(entries)
    assert open_in_snapshot(snapshot, CRC) == {2: 7, 3: 0}
    assert open_in_snapshot(encode_snapshot([]), CRC) == {}
    for damaged in (b"", snapshot[:-1], snapshot[:-1] + b"x", b"\0\2" + snapshot[2:]):
        assert open_in_snapshot(damaged, CRC) is None

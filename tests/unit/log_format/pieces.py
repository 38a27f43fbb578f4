"""What the tests of this folder share: batches as they lie in a segment, and rows of Arrow."""

from __future__ import annotations

from typing import Any

from log_format.batch_headers import batch_positions, headers_at
from log_format.records.arrow_batches import ArrowDecoder, Piece
from protocol.records import Record, iterate_records


def piece_of(data: bytes, path: str = "t-0/00000000000000000000.log") -> Piece:
    """All batches of `data`, as the beginning of a segment."""
    positions, end = batch_positions(data)
    assert end == len(data)
    return Piece(path, 0, data, positions, headers_at(data, positions))


def rows_of(piece: Piece, start: int = 0, end: int = 2**62) -> list[dict[str, Any]]:
    """The rows of all batches."""
    return [
        row
        for batch in ArrowDecoder("a.topic-of", 3).batches(piece, start, end)
        for row in batch.to_pylist()
    ]


def expected(batch: bytes | bytearray, position: int = 0) -> list[tuple[Any, ...]]:
    """Offset, time in ms, key, value and headers of a batch's records, as the server reads them."""
    return [_plain(record) for record in iterate_records(batch, position)]


def record_of_row(row: dict[str, Any]) -> tuple[Any, ...]:
    """The same of a row."""
    headers = tuple((one["key"], one["value"]) for one in row["headers"] or ())
    time_ms = round(row["timestamp"].timestamp() * 1000)
    return row["offset"], time_ms, row["key"], row["value"], headers


def _plain(record: Record) -> tuple[Any, ...]:
    return record.offset, record.timestamp, record.key, record.value, record.headers

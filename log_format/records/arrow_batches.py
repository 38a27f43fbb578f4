"""The record batches of a partition as record batches of Arrow: the columns of Spark's Kafka
source.

Owns these columns: key and value as bytes, topic, partition, offset, timestamp (in microseconds),
timestamp type (0 CreateTime, 1 LogAppendTime, KIP-32) and headers, null for a record without
headers. A time outside the range of `record_times` is null, and its number is in a header. Arrow
copies keys and values once, out of their piece of the segment.

Never decides which batches a reader may see. The caller leaves out control batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from log_format.batch_headers import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    Headers,
    Ints,
    column,
)
from log_format.damage import DamagedLog
from log_format.records.record_columns import BadRecords, Records, find_headers, find_records
from log_format.records.record_times import FIRST_MS, LAST_MS, TIME_HEADER
from log_format.records.unpacking import BadCompression, unpack

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", HEADERS_TYPE),
    ]
)

UNPACKED_BYTES = 16 * 1024 * 1024
"""The bytes of records that are decoded together; a single batch may have more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole batches of a segment; `data` begins at byte `position` of the file `path`."""

    path: str
    position: int
    data: bytes
    positions: Ints
    """The position of each batch within `data`."""
    headers: Headers

    def select(self, wanted: npt.NDArray[np.bool_]) -> Piece:
        """Return the piece with the wanted batches only."""
        return Piece(
            self.path, self.position, self.data, self.positions[wanted], self.headers[wanted]
        )

    def damaged(self, batch: int, why: str) -> DamagedLog:
        """Return, without raising it, the error about the batch with this index."""
        offset = int(self.headers["base_offset"][batch])
        at = self.position + int(self.positions[batch])
        return DamagedLog(self.path, at, f"in the batch of offset {offset} {why}")


class ArrowDecoder:
    """The decoder of one partition's batches to columns."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic.encode()
        self._partition = partition

    def batches(self, piece: Piece, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of `piece` with offsets from `start` to before `end`, as rows of
        SCHEMA. Raises DamagedLog if records do not unpack or are malformed."""
        for batches, data, starts, ends in _unpacked(piece):
            try:
                records = find_records(data, starts, ends, column(batches.headers, "count"))
                rows = self._batch(batches, data, records, start, end)
            except BadRecords as error:
                raise batches.damaged(error.batch, str(error)) from None
            if rows.num_rows:
                yield rows

    def _batch(
        self, piece: Piece, data: bytes, records: Records, start: int, end: int
    ) -> pa.RecordBatch:
        """Return the records with offsets from `start` to before `end` as rows of SCHEMA.

        Raises BadRecords if a record lies outside its batch. A time that Arrow cannot hold becomes
        null.
        """
        headers, of = piece.headers, records.batch
        span = column(headers, "last_offset_delta")[of]
        outside = (records.offset_delta < 0) | (records.offset_delta > span)
        if outside.any():
            raise BadRecords(int(of[int(np.argmax(outside))]), "a record's offset is outside it")
        offset = column(headers, "base_offset")[of] + records.offset_delta
        log_time = (column(headers, "attributes") & LOG_APPEND_TIME)[of] != 0
        timestamp = np.where(
            log_time,
            column(headers, "max_timestamp")[of],
            column(headers, "base_timestamp")[of] + records.timestamp_delta,
        )
        rows = np.flatnonzero((offset >= start) & (offset < end))
        time_ms = timestamp[rows]
        beyond = (time_ms < FIRST_MS) | (time_ms > LAST_MS)
        parts = _parts(data, records)
        size = len(rows)
        columns = [
            parts.take(_indices(4 * rows, records.key_length[rows] < 0)),
            parts.take(_indices(4 * rows + 2, records.value_length[rows] < 0)),
            self._topics(size),
            pa.array(np.full(size, self._partition, dtype=np.int32)),
            pa.array(offset[rows]),
            pa.array(np.where(beyond, 0, time_ms) * 1000, pa.int64(), mask=beyond).cast(
                SCHEMA.field("timestamp").type
            ),
            pa.array(log_time[rows].astype(np.int32)),
            _with_times(_headers(data, records, rows), time_ms, beyond),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _topics(self, size: int) -> pa.Array:
        """Return the column `topic` of `size` rows, each with this topic's name."""
        offsets = np.arange(size + 1, dtype=np.int32) * len(self._topic)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._topic * size)]
        return pa.Array.from_buffers(pa.string(), size, buffers)


def _unpacked(piece: Piece) -> Iterator[tuple[Piece, bytes, Ints, Ints]]:
    """Yield batches with their unpacked records' bytes, and where each batch's records begin and
    end in these.

    Raises the piece's DamagedLog at a batch that does not unpack.
    """
    codecs = column(piece.headers, "attributes") & CODEC_MASK
    starts = piece.positions + HEADER_BYTES
    ends = piece.positions + LOG_OVERHEAD + column(piece.headers, "length")
    if not codecs.any():
        yield piece, piece.data, starts, ends
        return
    view = memoryview(piece.data)
    bodies: list[bytes | memoryview] = []
    first = filled = 0
    for number, (codec, at, end) in enumerate(
        zip(codecs.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ):
        body: bytes | memoryview = view[at:end]
        if codec and len(body):
            try:
                body = unpack(codec, view[at:end])
            except BadCompression as error:
                raise piece.damaged(number, str(error)) from None
        if bodies and filled + len(body) > UNPACKED_BYTES:
            yield _joined_bodies(piece, first, bodies)
            bodies, first, filled = [], number, 0
        bodies.append(body)
        filled += len(body)
    yield _joined_bodies(piece, first, bodies)


def _joined_bodies(
    piece: Piece, first: int, bodies: list[bytes | memoryview]
) -> tuple[Piece, bytes, Ints, Ints]:
    """Return the piece of the batches from index `first` on that have these bodies, the joined
    bodies, and each body's start and end."""
    wanted = np.zeros(len(piece.positions), dtype=np.bool_)
    wanted[first : first + len(bodies)] = True
    ends = np.cumsum(np.array([len(body) for body in bodies], dtype=np.int64))
    return piece.select(wanted), b"".join(bodies), np.concatenate(([0], ends[:-1])), ends


def _parts(data: bytes, records: Records) -> pa.Array:
    """Return an array, without a copy, of four items for each record: its key, the bytes before its
    value, the value, and the bytes up to the next key."""
    count = len(records.batch)
    borders = np.zeros(4 * count + 1, dtype=np.int32)
    borders[0:-1:4] = records.key_start
    borders[1::4] = records.key_start + np.maximum(records.key_length, 0)
    borders[2::4] = records.value_start
    borders[3::4] = records.value_start + np.maximum(records.value_length, 0)
    borders[-1] = borders[-2] if count else 0
    return _binaries(data, borders)


def _binaries(data: bytes, borders: npt.NDArray[np.int32]) -> pa.Array:
    """Return an array, without a copy, of the slices of `data` between successive borders."""
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(borders) - 1, buffers)


def _indices(places: Ints, null: npt.NDArray[np.bool_]) -> pa.Array:
    """Return `places` as an Arrow array, with null wherever `null` is true."""
    return pa.array(places, mask=null) if null.any() else pa.array(places)


def _headers(data: bytes, records: Records, rows: Ints) -> pa.Array:
    """Return the headers column of these rows; null for a record without headers."""
    counts = records.headers[rows]
    if not counts.any():
        return pa.nulls(len(rows), HEADERS_TYPE)
    fields = find_headers(data, records)
    wanted = np.zeros(len(records.batch), dtype=np.bool_)
    wanted[rows] = True
    selected = wanted[fields.record]
    keys = _slices(data, fields.key_start[selected], fields.key_length[selected])
    values = _slices(data, fields.value_start[selected], fields.value_length[selected])
    items = pa.StructArray.from_arrays([_texts(keys), values], fields=list(HEADERS_TYPE.value_type))
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    valid = np.packbits(counts > 0, bitorder="little").tobytes()
    return pa.Array.from_buffers(
        HEADERS_TYPE, len(rows), [pa.py_buffer(valid), pa.py_buffer(ends)], children=[items]
    )


def _with_times(headers: pa.Array, time_ms: Ints, beyond: npt.NDArray[np.bool_]) -> pa.Array:
    """Return the headers column. Each row of `beyond`, whose time the timestamp column cannot have,
    gets an additional last header with that time in ms."""
    if not beyond.any():
        return headers
    rows = headers.to_pylist()
    for row in np.flatnonzero(beyond).tolist():
        time_header = {"key": TIME_HEADER, "value": str(time_ms[row]).encode()}
        rows[row] = [*(rows[row] or ()), time_header]
    return pa.array(rows, HEADERS_TYPE)


def _slices(data: bytes, starts: Ints, lengths: Ints) -> pa.Array:
    """Return the slices of `data` with these starts, which rise, and lengths; null for a length
    below 0."""
    borders = np.zeros(2 * len(starts) + 1, dtype=np.int32)
    borders[0:-1:2] = starts
    borders[1::2] = starts + np.maximum(lengths, 0)
    borders[-1] = borders[-2] if len(starts) else 0
    places = 2 * np.arange(len(starts), dtype=np.int64)
    return _binaries(data, borders).take(_indices(places, lengths < 0))


def _texts(keys: pa.Array) -> pa.Array:
    """Return header keys as text. Bytes that are not UTF-8 become the replacement character, as in
    Java."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())

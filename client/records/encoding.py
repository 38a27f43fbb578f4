"""Fast encoding of many lines as the records of a batch, the common case of `ottla produce`.

The parts of records are columns, which slices and tables fill without a Python loop. All records of
a batch have one timestamp and the same headers. Records that differ in those go through
`protocol.records.RecordBatchBuilder`. Never chooses a partition (`partitioning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from client.core.producing import Producer
from protocol.compression import compress
from protocol.record_batch import (
    CURRENT_MAGIC,
    NO_PARTITION_LEADER_EPOCH,
    RecordBatchHeader,
    batch_of,
)
from protocol.records import write_varint

NO_HEADERS = b"\0"
_NULL = b"\1"
_START = b"\0\0"
"""The attributes of a record, and a timestamp delta of 0."""
_FIXED = len(_START)
_ONE_BYTE_MAX = 64
RECORDS_MAX = 8192
"""The most records of a batch: their offset deltas are varints of at most two bytes."""


def varint(value: int) -> bytes:
    """Return a number as a varint of Kafka's records (zigzag)."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


@cache
def _offsets() -> list[bytes]:
    """Return the encoded offset deltas from 0 to RECORDS_MAX - 1."""
    return [varint(delta) for delta in range(RECORDS_MAX)]


def headers_of(pairs: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Return headers as they are encoded after a record's value."""
    out = bytearray(varint(len(pairs)))
    for key, value in pairs:
        name = key.encode("utf-8", "surrogateescape")
        out += varint(len(name)) + name
        out += _NULL if value is None else varint(len(value)) + value
    return bytes(out)


def records_of(
    values: Sequence[bytes], keys: Sequence[bytes] | None = None, headers: bytes = NO_HEADERS
) -> bytes:
    """Return the uncompressed body of a batch of at most RECORDS_MAX values.

    `keys` None: all keys are null.
    """
    assert len(values) <= RECORDS_MAX
    pieces = []
    for low, high in ((0, _ONE_BYTE_MAX), (_ONE_BYTE_MAX, RECORDS_MAX)):
        part = values[low:high]
        if part:
            part_keys = None if keys is None else keys[low:high]
            pieces.append(
                _encoded_records(part, part_keys, _offsets()[low : low + len(part)], headers)
            )
    return b"".join(pieces)


def _encoded_records(
    values: Sequence[bytes], keys: Sequence[bytes] | None, offsets: list[bytes], headers: bytes
) -> bytes:
    """Return records with offset deltas of equal size and the same headers as bytes, encoded column
    by column."""
    if keys is None:
        return _encoded_without_keys(values, offsets, headers)
    count = len(values)
    value_lengths, key_lengths = list(map(len, values)), list(map(len, keys))
    value_length_bytes = {length: varint(length) for length in dict.fromkeys(value_lengths)}
    key_length_bytes = {length: varint(length) for length in dict.fromkeys(key_lengths)}
    rest = _FIXED + len(offsets[0]) + len(headers)
    value_sizes = {
        length: length + len(encoded) + rest for length, encoded in value_length_bytes.items()
    }
    key_sizes = {length: length + len(encoded) for length, encoded in key_length_bytes.items()}
    sizes = [
        key_sizes[key] + value_sizes[value]
        for key, value in zip(key_lengths, value_lengths, strict=True)
    ]
    heads = {size: varint(size) + _START for size in dict.fromkeys(sizes)}
    pieces: list[bytes] = [headers] * (7 * count)
    pieces[0::7] = map(heads.__getitem__, sizes)
    pieces[1::7] = offsets
    pieces[2::7] = map(key_length_bytes.__getitem__, key_lengths)
    pieces[3::7] = keys
    pieces[4::7] = map(value_length_bytes.__getitem__, value_lengths)
    pieces[5::7] = values
    return b"".join(pieces)


def _encoded_without_keys(values: Sequence[bytes], offsets: list[bytes], headers: bytes) -> bytes:
    """Return records with null keys as bytes, encoded column by column."""
    lengths = list(map(len, values))
    rest = _FIXED + len(offsets[0]) + len(_NULL) + len(headers)
    heads, middles = {}, {}
    for length in dict.fromkeys(lengths):
        length_bytes = varint(length)
        heads[length] = varint(rest + len(length_bytes) + length) + _START
        middles[length] = _NULL + length_bytes
    pieces: list[bytes] = [headers] * (5 * len(values))
    pieces[0::5] = map(heads.__getitem__, lengths)
    pieces[1::5] = offsets
    pieces[2::5] = map(middles.__getitem__, lengths)
    pieces[3::5] = values
    return b"".join(pieces)


def build_batch(
    body: bytes, count: int, timestamp_ms: int, codec: int, producer: Producer
) -> bytearray:
    """Return a batch of the `count` records in `body`, compressed by `codec` (0: none)."""
    header = RecordBatchHeader(
        0,
        0,
        NO_PARTITION_LEADER_EPOCH,
        CURRENT_MAGIC,
        0,
        codec,
        count - 1,
        timestamp_ms,
        timestamp_ms,
        *producer,
        count,
    )
    return batch_of(header, compress(codec, body) if codec else body)

"""Lines made into the records of a batch, many at once: what `ottla produce` sends most.

Each record's parts lie in columns, which slices and tables fill without a loop of Python's. All
records of a batch have one time and the same headers. Records that differ in those go through
`protocol.records.RecordBatchBuilder`. Never: decides which partition they go to (`partitioning`).
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
"""Attributes, and no time since the batch's."""
_FIXED = len(_START)
_ONE_BYTE_MAX = 64
RECORDS_MAX = 8192
"""So many offsets are numbers of up to two bytes, and so many records a batch has at most."""


def varint(value: int) -> bytes:
    """A number as records have it."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


@cache
def _offsets() -> list[bytes]:
    """The offset deltas of a batch's records."""
    return [varint(one) for one in range(RECORDS_MAX)]


def headers_of(pairs: Sequence[tuple[str, bytes | None]]) -> bytes:
    """Headers as they lie behind a record's value."""
    out = bytearray(varint(len(pairs)))
    for key, value in pairs:
        name = key.encode("utf-8", "surrogateescape")
        out += varint(len(name)) + name
        out += _NULL if value is None else varint(len(value)) + value
    return bytes(out)


def records_of(
    values: Sequence[bytes], keys: Sequence[bytes] | None = None, headers: bytes = NO_HEADERS
) -> bytes:
    """The unpacked body of a batch of `values`, at most RECORDS_MAX; without `keys` all are
    null."""
    assert len(values) <= RECORDS_MAX
    pieces = []
    for low, high in ((0, _ONE_BYTE_MAX), (_ONE_BYTE_MAX, RECORDS_MAX)):
        part = values[low:high]
        if part:
            of_keys = None if keys is None else keys[low:high]
            pieces.append(_columns(part, of_keys, _offsets()[low : low + len(part)], headers))
    return b"".join(pieces)


def _columns(
    values: Sequence[bytes], keys: Sequence[bytes] | None, offsets: list[bytes], headers: bytes
) -> bytes:
    if keys is None:
        return _without_keys(values, offsets, headers)
    count = len(values)
    value_lengths, key_lengths = list(map(len, values)), list(map(len, keys))
    of_value = {one: varint(one) for one in dict.fromkeys(value_lengths)}
    of_key = {one: varint(one) for one in dict.fromkeys(key_lengths)}
    rest = _FIXED + len(offsets[0]) + len(headers)
    value_sizes = {one: one + len(found) + rest for one, found in of_value.items()}
    key_sizes = {one: one + len(found) for one, found in of_key.items()}
    sizes = [
        key_sizes[key] + value_sizes[value]
        for key, value in zip(key_lengths, value_lengths, strict=True)
    ]
    heads = {one: varint(one) + _START for one in dict.fromkeys(sizes)}
    pieces: list[bytes] = [headers] * (7 * count)
    pieces[0::7] = map(heads.__getitem__, sizes)
    pieces[1::7] = offsets
    pieces[2::7] = map(of_key.__getitem__, key_lengths)
    pieces[3::7] = keys
    pieces[4::7] = map(of_value.__getitem__, value_lengths)
    pieces[5::7] = values
    return b"".join(pieces)


def _without_keys(values: Sequence[bytes], offsets: list[bytes], headers: bytes) -> bytes:
    lengths = list(map(len, values))
    rest = _FIXED + len(offsets[0]) + len(_NULL) + len(headers)
    heads, middles = {}, {}
    for one in dict.fromkeys(lengths):
        length = varint(one)
        heads[one] = varint(rest + len(length) + one) + _START
        middles[one] = _NULL + length
    pieces: list[bytes] = [headers] * (5 * len(values))
    pieces[0::5] = map(heads.__getitem__, lengths)
    pieces[1::5] = offsets
    pieces[2::5] = map(middles.__getitem__, lengths)
    pieces[3::5] = values
    return b"".join(pieces)


def build_batch(
    body: bytes, count: int, timestamp_ms: int, codec: int, producer: Producer
) -> bytearray:
    """A batch of the `count` records of `body`, packed by `codec`."""
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

"""Batches as a reader has them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence

from client.records.reading import Batch
from protocol.record_batch import read_header
from protocol.records import Headers, RecordBatchBuilder

Pair = tuple[bytes | None, bytes | None]


def packed(
    records: Sequence[Pair | bytes | None],
    base_offset: int = 0,
    *,
    headers: Headers = (),
    codec: int = 0,
    **of_builder: int,
) -> bytes:
    """Values, or keys with values, as a batch; one ms apart."""
    builder = RecordBatchBuilder(base_offset=base_offset, compression=codec, **of_builder)  # type: ignore[arg-type]
    for number, one in enumerate(records):
        key, value = one if isinstance(one, tuple) else (None, one)
        builder.append(key, value, 1000 + number, headers)
    return bytes(builder.build())


def batch_of(data: bytes, first: int = 0, stop: int = 1 << 40, topic: str = "t") -> Batch:
    """The one batch of `data`, of whose records those from `first` up to `stop` are wanted."""
    return Batch(topic, 0, read_header(data), memoryview(data), 0, first, stop)

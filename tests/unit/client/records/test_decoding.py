"""Values are the same as whole records have them, whatever shape the records are of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.records.decoding import values_of
from protocol.record_batch import HEADER_SIZE, CorruptBatch
from protocol.records import RecordBatchBuilder
from tests.unit.client.records.batches import packed

DATA = st.one_of(st.none(), st.binary(max_size=200), st.just(b"x" * 9000))
RECORD = st.tuples(
    DATA, DATA, st.integers(0, 20_000), st.lists(st.tuples(st.just("h"), DATA), max_size=2)
)


@given(st.lists(RECORD, min_size=1, max_size=30), st.integers(1, 40))
def test_any_records(
    records: list[tuple[bytes | None, bytes | None, int, list]], times: int
) -> None:
    """Each record so many times: those that are alike go by slices."""
    builder = RecordBatchBuilder()
    values, keys = [], []
    for key, value, time, headers in records:
        for _ in range(times):
            builder.append(key, value, 5000 + time, headers)
            values.append(value)
            keys.append(key)
    body = bytes(builder.build())[HEADER_SIZE:]
    assert values_of(body, len(values)) == values
    found: list[bytes | None] = []
    assert values_of(body, len(values), found) == values
    assert found == keys


def test_many_lines_of_one_length() -> None:
    """Over the counts at which an offset, and a time, takes a byte more."""
    lines = [b"%06d" % one for one in range(20_000)]
    assert values_of(packed(lines)[HEADER_SIZE:], len(lines)) == lines


def test_what_is_cut_off_or_goes_on() -> None:
    body = packed([b"value"] * 20)[HEADER_SIZE:]
    for wrong in (body[:-3], body + b"\0", b""):
        with pytest.raises(CorruptBatch):
            values_of(wrong, 20)
    with pytest.raises(CorruptBatch):
        values_of(body, 19)
    assert values_of(b"", 0) == []

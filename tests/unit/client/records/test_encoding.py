"""The same bytes as the builder that makes every other batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.records.encoding import (
    RECORDS_MAX,
    Producer,
    build_batch,
    headers_of,
    records_of,
)
from protocol.records import RecordBatchBuilder

VALUES = st.lists(st.one_of(st.binary(max_size=80), st.just(b"y" * 9000)), min_size=1, max_size=90)
HEADERS = st.lists(
    st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=5))), max_size=2
)


@given(VALUES, st.booleans(), HEADERS, st.integers(0, 4))
def test_the_same_batch(
    values: list[bytes], keyed: bool, headers: list[tuple[str, bytes | None]], codec: int
) -> None:
    keys = [value[:7] for value in reversed(values)] if keyed else None
    builder = RecordBatchBuilder(
        compression=codec, producer_id=7, producer_epoch=1, base_sequence=42
    )
    for number, value in enumerate(values):
        builder.append(keys[number] if keys else None, value, 1234, headers)
    body = records_of(values, keys, headers_of(headers))
    assert build_batch(body, len(values), 1234, codec, Producer(7, 1, 42)) == builder.build()


def test_as_many_as_a_batch_has() -> None:
    values = [b"%d" % one for one in range(RECORDS_MAX)]
    builder = RecordBatchBuilder(producer_id=7, producer_epoch=0, base_sequence=0)
    for value in values:
        builder.append(None, value, 5)
    batch = build_batch(records_of(values), RECORDS_MAX, 5, 0, Producer(7, 0, 0))
    assert batch == builder.build()
    with pytest.raises(AssertionError):
        records_of([*values, b""])

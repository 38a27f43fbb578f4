"""Both ways to build a batch give the same bytes."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.plain_batch import build_plain_batch
from protocol.records import Record, iterate_records
from tests.batches import build_batch

_DATA = st.none() | st.binary(max_size=200)


@given(st.lists(st.tuples(_DATA, _DATA), min_size=1, max_size=70), st.integers(0, 2**62))
@example([(b"k" * 63, b"v" * 64)], 0)
@example([(b"k" * 8191, b"v" * 8192)], 1)
@example([(b"", b"v" * 1_048_576)], 1)
@example([(b"k", None)], 1_700_000_000_000)
def test_it_is_the_batch_that_the_builder_makes(
    records: list[tuple[bytes | None, bytes | None]], timestamp: int
) -> None:
    batch = build_plain_batch(records, timestamp)
    assert batch == build_batch([Record(-1, timestamp, *record) for record in records])
    read = list(iterate_records(memoryview(batch), 0))
    assert [(one.key, one.value) for one in read] == records

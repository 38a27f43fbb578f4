"""What a consumer makes of the batches of a Fetch: records, positions, and who was aborted.

Control batches are records to nobody, but take an offset. Under read_committed the broker sends the
batches of aborted transactions, too, and a list that says which: a consumer leaves out what a
listed producer has written from the first offset of its transaction to the marker that ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from protocol.messages.fetch import AbortedTransaction
from protocol.record_batch import RecordBatchHeader, iterate_batches
from protocol.records import iterate_records

ABORT = 0
"""The type of a control record that ends a transaction so; 1 commits."""

Data = bytes | memoryview | None
Records = list[tuple[int, bytes]]


def _batches(data: Data) -> Iterator[tuple[memoryview, int, RecordBatchHeader]]:
    if data:
        view = memoryview(data)
        for position, header in iterate_batches(view, allow_partial_tail=True):
            yield view, position, header


def _records(view: memoryview, position: int) -> Records:
    return [(record.offset, record.value or b"") for record in iterate_records(view, position)]


def records_of(data: Data) -> Records:
    """(offset, value) of every record in whole batches; of no marker."""
    return [
        one
        for view, position, header in _batches(data)
        if not header.is_control
        for one in _records(view, position)
    ]


def bounds_of(data: Data) -> tuple[int, int] | None:
    """The first offset of the first batch, and the one after the last; None where there is none.

    Offsets within a simulated partition have no gaps: ValueError where they have.
    """
    first, end = -1, -1
    for _, _, header in _batches(data):
        if first < 0:
            first = header.base_offset
        elif header.base_offset != end:
            raise ValueError(f"after offset {end - 1} comes {header.base_offset}")
        end = header.next_offset
    return None if first < 0 else (first, end)


def committed_of(data: Data, aborted: Iterable[AbortedTransaction] | None) -> Records:
    """The records that a read_committed consumer gives to its user."""
    coming = sorted(aborted or (), key=lambda one: one.first_offset, reverse=True)
    left_out: dict[int, None] = {}
    found: Records = []
    for view, position, header in _batches(data):
        while coming and coming[-1].first_offset <= header.last_offset:
            left_out[coming.pop().producer_id] = None
        if header.is_control:
            if _marker_type(view, position) == ABORT:
                left_out.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in left_out):
            found += _records(view, position)
    return found


def _marker_type(view: memoryview, position: int) -> int:
    """Of a control batch's record: its key is a version and a type, int16 each."""
    key = next(iterate_records(view, position)).key
    assert key is not None
    return int.from_bytes(bytes(key[2:4]), "big")

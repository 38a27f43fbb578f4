"""What a consumer sees of fetched bytes: the records, without markers and what was aborted.

Never does I/O. As consumers do it (KIP-98): an aborted transaction's records are those of its
producer between its first offset and the producer's next marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from protocol.control_records import ControlRecordType, read_transaction_marker
from protocol.primitives import Records
from protocol.record_batch import iterate_batches
from protocol.records import Record, iterate_records


class Aborted(Protocol):
    """An aborted transaction, as a Fetch tells of it."""

    producer_id: int
    first_offset: int


def bytes_of(records: Records | None) -> bytes | bytearray | memoryview:
    """Fetched records, wherever they lie; a null is nothing."""
    if records is None:
        return b""
    if isinstance(records, bytes | bytearray | memoryview):
        return records
    return records.read()


def visible_records(
    data: bytes | bytearray | memoryview, aborted: Sequence[Aborted] | None, start: int
) -> tuple[list[Record], int]:
    """The records from offset `start` on, and the offset to go on from. A batch that is cut off at
    the end is left for the next time."""
    records: list[Record] = []
    position = start
    waiting = sorted(aborted or (), key=lambda one: one.first_offset)
    dropping: dict[int, None] = {}
    for at, batch in iterate_batches(data, allow_partial_tail=True):
        while waiting and waiting[0].first_offset <= batch.last_offset:
            dropping[waiting.pop(0).producer_id] = None
        if batch.is_control:
            marker = read_transaction_marker(data, at)
            if marker is not None and marker.type is ControlRecordType.ABORT:
                dropping.pop(batch.producer_id, None)
        elif not (batch.is_transactional and batch.producer_id in dropping):
            records += (one for one in iterate_records(data, at) if one.offset >= start)
        position = max(position, batch.next_offset)
    return records, position

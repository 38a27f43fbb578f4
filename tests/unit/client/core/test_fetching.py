"""What a consumer sees of a log with transactions."""

from __future__ import annotations

from types import SimpleNamespace

from client.core.fetching import visible_records
from protocol.control_records import ControlRecordType, control_record_key
from protocol.records import Record
from tests.batches import build_batch


def data(offset: int, value: bytes, producer: int) -> bytes:
    return bytes(
        build_batch(
            [Record(-1, 1, None, value)],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
    )


def marker(offset: int, kind: ControlRecordType, producer: int) -> bytes:
    return bytes(
        build_batch(
            [Record(-1, 1, control_record_key(kind), bytes(6))],
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
        )
    )


LOG = b"".join(
    [
        data(0, b"one's, aborted", 1),
        data(1, b"two's", 2),
        marker(2, ControlRecordType.ABORT, 1),
        data(3, b"one's again", 1),
        marker(4, ControlRecordType.COMMIT, 2),
        marker(5, ControlRecordType.COMMIT, 1),
    ]
)


def test_markers_and_what_was_aborted_are_not_seen() -> None:
    aborted = [SimpleNamespace(producer_id=1, first_offset=0)]
    records, position = visible_records(LOG, aborted, 0)
    assert [one.value for one in records] == [b"two's", b"one's again"]
    assert position == 6


def test_without_the_word_of_aborts_all_records_are() -> None:
    records, _ = visible_records(LOG, None, 0)
    assert [one.offset for one in records] == [0, 1, 3]


def test_what_lies_before_the_start_is_not_told_and_a_torn_end_is_left() -> None:
    batch = build_batch([Record(-1, 1, None, b"%d" % one) for one in range(3)])
    records, position = visible_records(bytes(batch) + LOG[:70], None, 2)
    assert [one.value for one in records] == [b"2"]
    assert position == 3

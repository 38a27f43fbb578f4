"""The newest of many metadata records: which are shown, and that no others are decoded."""

from __future__ import annotations

from typing import Any

import pytest

from console.quorum import metadata_shown
from console.quorum.metadata_shown import RECORDS_MAX, Batch, newest_of
from protocol.messages.metadata_records import NoOpRecord, TopicRecord
from protocol.record_batch import iterate_batches
from tests.unit.console.quorum.quorum_samples import batch, leader_batch


def batches_of(*pieces: bytes, first: int = 0) -> list[Batch]:
    data = b"".join(pieces)
    return [Batch(data, position, header, first) for position, header in iterate_batches(data)]


def topics(offset: int, count: int) -> bytes:
    return batch(offset, *[TopicRecord(f"t{offset + one}", bytes(16)) for one in range(count)])


def test_only_what_is_shown_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    decode = metadata_shown._decode

    def counted(record: Any) -> Any:
        decoded.append(record.offset)
        return decode(record)

    monkeypatch.setattr(metadata_shown, "_decode", counted)
    pieces = [topics(1000 * number, 900) for number in range(5)]
    noops = [batch(number, NoOpRecord()) for number in range(4900, 4950)]
    found = newest_of(batches_of(*pieces, *noops), with_noops=False)
    assert [one.offset for one in found] == list(range(4900 - RECORDS_MAX, 4900))
    assert len(decoded) == RECORDS_MAX
    found = newest_of(batches_of(*pieces, *noops), with_noops=True)
    assert [one.type for one in found[-51:]] == ["TOPIC_RECORD", *["NO_OP_RECORD"] * 50]


def test_records_before_the_first_are_left_out() -> None:
    found = newest_of(batches_of(leader_batch(0, 1, 1), topics(1, 4), first=3), with_noops=True)
    assert [one.offset for one in found] == [3, 4]


def test_a_damaged_batch_has_no_records() -> None:
    damaged = bytearray(topics(1, 1))
    damaged[61] = 0x7E  # the length of its record
    found = newest_of(batches_of(topics(0, 1), bytes(damaged), topics(2, 1)), with_noops=True)
    assert [one.offset for one in found] == [0, 2]

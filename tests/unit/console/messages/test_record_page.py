"""The page of a record has its batch and its neighbours, or says why the offset has no record."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.offsets import READ_COMMITTED, READ_UNCOMMITTED
from client.place_offsets import Span
from client.records import reading
from console.messages.record_page import (
    Place,
    RecordAtOffset,
    RecordBatchShown,
    batch_shown,
    missing,
    record_at,
)
from console.messages.shown import BytesShown, record_shown
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from protocol.record_batch import read_header
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, topic_of

HELD = Span(3, 10)
PRODUCER = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 40}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "wait_for_answers", lambda clients, _: clients)


def fetched(request: Any) -> FetchResponse:
    """Records 3, 4 and 6 of a compacted log, and 7 to 9 of an aborted transaction."""
    batches = packed([b"3", b"4"], 3) + packed([b"6"], 6)
    batches += packed([b"7", b"8", b"9"], 7, is_transactional=True, **PRODUCER)
    aborted = [AbortedTransaction(7, 7)] if request.isolation_level else None
    data = PartitionData(0, 0, 10, 10, aborted_transactions=aborted, records=memoryview(batches))
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


def at(offset: int, level: int = READ_COMMITTED) -> RecordAtOffset:
    cluster = ScriptedCluster([topic_of("t")], {}, {1: ScriptedNode([fetched] * 40)})
    return record_at(cluster, Place("t", 0, offset, level), HELD, HELD, record_shown)


def test_a_record_with_its_batch_and_its_neighbours() -> None:
    found = at(4)
    assert found.record is not None and found.batch is not None
    assert found.record.value == BytesShown(1, "4")
    assert (found.batch.base_offset, found.batch.last_offset, found.batch.records) == (3, 4, 2)
    assert (found.previous, found.next, found.missing) == (3, 6, None)
    assert (at(3).previous, at(6).next) == (None, None)


def test_an_offset_that_compaction_removed_has_neighbours() -> None:
    found = at(5)
    assert (found.record, found.batch, found.hidden) == (None, None, False)
    assert (found.previous, found.next) == (4, 6)
    assert found.missing == (
        "Offset 5 of t-0 has no record: compaction removed it, or a transaction marker has this "
        "offset."
    )


def test_a_record_of_an_aborted_transaction_is_shown_if_asked_for() -> None:
    found = at(8)
    assert (found.record, found.hidden, found.previous, found.next) == (None, True, 6, None)
    assert found.missing == "Offset 8 of t-0 belongs to an aborted transaction."
    assert (at(8, READ_UNCOMMITTED).previous, at(8, READ_UNCOMMITTED).next) == (7, 9)


@pytest.mark.parametrize(
    ("offset", "held", "hidden", "reason"),
    [
        (2, HELD, False, "was deleted: the partition begins at offset 3."),
        (10, HELD, False, "is not written yet: the partition ends at offset 10."),
        (1000, Span(3, 5), False, "is not written yet: the partition ends at offset 10."),
        (7, Span(3, 5), True, "is not before the first open transaction, so read_committed waits"),
    ],
)
def test_why_an_offset_has_no_record(offset: int, held: Span, hidden: bool, reason: str) -> None:
    place = Place("t", 0, offset, READ_COMMITTED)
    said = missing(place, held, HELD, is_hidden=hidden)
    assert said.startswith(f"Offset {offset:,} of t-0 {reason}")


def test_an_offset_beyond_the_log_has_the_nearest_record() -> None:
    assert (at(1).previous, at(1).next) == (None, 3)
    assert (at(50).previous, at(50).next) == (6, None)


def test_the_facts_of_a_batch() -> None:
    header = read_header(packed([b"a", b"b"], 20, is_transactional=True, codec=1, **PRODUCER))
    assert batch_shown(header, 21) == RecordBatchShown(
        base_offset=20,
        last_offset=21,
        records=2,
        size=header.size_in_bytes,
        codec="gzip",
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
        record_sequence=41,
        transactional=True,
        leader_epoch=header.partition_leader_epoch,
        timestamp_type="CreateTime",
        max_timestamp=1001,
    )
    plain = batch_shown(read_header(packed([b"a"])), 0)
    assert (plain.producer_id, plain.base_sequence, plain.record_sequence) == (None, None, None)
    assert (plain.codec, plain.transactional) == ("none", False)

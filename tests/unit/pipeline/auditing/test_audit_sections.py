"""What a report says of a topic, a table and the reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from pipeline.auditing import audit_sections
from pipeline.auditing.records_view import Bucket, PartitionCounts, RecordsView
from pipeline.tables.progress import Gap
from pipeline.topics import Offsets

VIEW = RecordsView(
    partitions=[PartitionCounts(0, 6, 5, 10, 15)],
    checksum=1,
    hash_sum=1,
    ids=4,
    repeated=1,
    lags_ms=(500, 2_000, 61_000),
    width_ms=60_000,
    buckets=[Bucket(0, 6, 500, 2_000), Bucket(60_000, 0, None, None)],
)


def test_a_topic_with_a_gap_and_a_record_twice() -> None:
    section = audit_sections.of_records("topic t", VIEW, {0: Offsets(10, 16), 1: Offsets(0, 2)})
    assert section.lines == [
        "6 records",
        "4 different ids, repeated by 1 record",
        "from event to record: p50 0.5 s, p95 2.0 s, greatest 61 s",
    ]
    (table,) = section.tables
    assert table.head == [
        *("partition", "start", "end", "records", "first", "last", "gaps", "twice")
    ]
    assert table.rows == [
        ["0", "10", "16", "6", "10", "15", "1", "1"],
        ["1", "0", "2", "0", "", "", "2", "0"],
    ]
    assert [plot.title for plot in section.plots] == [
        "Records a second, by their timestamps",
        "From event to record: p50 and p95",
        "Records by partition",
    ]


def test_a_table_has_no_offsets_of_a_topic() -> None:
    (table,) = audit_sections.of_records("table x", VIEW, None).tables
    assert table.head == ["partition", "records", "first", "last", "gaps", "twice"]
    assert table.rows == [["0", "6", "10", "15", "1", "1"]]


def test_no_plot_stands_there_twice() -> None:
    again = audit_sections.of_records("table x", VIEW, None, VIEW)
    assert again.plots == [] and again.lines[-1] == "Its plots are those above."
    # Near percentiles of the same records, which were read in another order.
    near = replace(VIEW, buckets=[Bucket(0, 6, 501, 1_999), Bucket(60_000, 0, None, None)])
    assert audit_sections.of_records("table x", near, None, VIEW).plots == []
    others = {"buckets": [Bucket(0, 5, 500, 2_000)]}, {"hash_sum": 2}, {"width_ms": 1_000}
    for other in others:
        shown = audit_sections.of_records("table x", replace(VIEW, **other), None, VIEW)
        assert len(shown.plots) == 3


def test_reasons_in_order() -> None:
    section = audit_sections.of_reasons("dead", {"b": 1_000, "a": 2})
    assert section.title == "topic dead: 1,002 refused records"
    assert section.tables[0].rows == [["a", "2"], ["b", "1,000"]]


def test_gaps_and_where_topic_and_table_are_compared() -> None:
    gap = Gap(0, 15, 18, "2026-12-01T12:00:00Z")
    line = (
        "offsets 15 to 17 of t-0 were skipped at 2026-12-01T12:00:00Z: the topic had deleted them "
        "before they were loaded"
    )
    assert audit_sections.of_gaps("t", [gap]) == [line]
    many = audit_sections.of_gaps("t", [gap] * 25)
    assert (len(many), many[-1]) == (21, "and 5 more gaps")
    assert audit_sections.of_starts("t", {}) == []
    assert audit_sections.of_starts("t", {1: 2000, 0: 7}) == [
        "compared with the topic where both have records: t-0 from 7, t-1 from 2,000"
    ]

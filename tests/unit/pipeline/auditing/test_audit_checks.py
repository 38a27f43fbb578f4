"""Each check holds where it should, and does not where one number is off."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from pipeline.auditing import audit_checks
from pipeline.auditing.expected import Expected
from pipeline.auditing.records_view import PARTS, Content, PartitionCounts, RecordsView
from pipeline.tables.progress import Gap
from pipeline.topics import Offsets

VIEW = RecordsView(
    partitions=[PartitionCounts(0, 5, 5, 10, 14), PartitionCounts(1, 2, 2, 0, 1)],
    checksum=99,
    hash_sum=44,
    ids=6,
    repeated=1,
    lags_ms=None,
    width_ms=1000,
    buckets=[],
)
OFFSETS = {0: Offsets(10, 15), 1: Offsets(0, 2)}
TWICE = replace(VIEW, partitions=[PartitionCounts(0, 6, 5, 10, 14), VIEW.partitions[1]])


def test_a_record_at_every_offset() -> None:
    assert audit_checks.topic_is_whole("t", VIEW, OFFSETS).holds
    more = audit_checks.topic_is_whole("t", VIEW, {**OFFSETS, 1: Offsets(0, 3)})
    assert (more.holds, more.detail) == (False, "partition 1 has 2 records for 3 offsets")
    assert not audit_checks.topic_is_whole("t", VIEW, {**OFFSETS, 2: Offsets(0, 1)}).holds


def test_every_offset_loaded_once() -> None:
    ranges = {0: (10, 15), 1: (0, 2)}
    assert audit_checks.table_is_whole(VIEW, ranges, []).holds
    assert "partition 0 has 1 rows twice" in (audit_checks.table_is_whole(TWICE, ranges, []).detail)
    assert not audit_checks.table_is_whole(VIEW, {**ranges, 1: (0, 3)}, []).holds
    assert not audit_checks.table_is_whole(VIEW, {0: (10, 15)}, []).holds
    assert not audit_checks.table_is_whole(VIEW, ranges, ["a hole"]).holds


def test_offsets_that_a_commit_names_as_deleted_are_not_lost() -> None:
    gap = Gap(0, 15, 18, "2026-12-01T12:00:00Z")
    ranges = {0: (10, 18), 1: (0, 2)}
    check = audit_checks.table_is_whole(VIEW, ranges, [], skipped=[gap])
    note = "3 offsets were skipped that the topic had deleted (--skip-lost)"
    assert (check.holds, check.note) == (True, note) and check.detail.endswith(note)
    assert not audit_checks.table_is_whole(VIEW, ranges, []).holds
    another = [gap._replace(partition=1)]
    assert not audit_checks.table_is_whole(VIEW, ranges, [], skipped=another).holds
    assert not audit_checks.table_is_whole(VIEW, {**ranges, 0: (10, 15)}, [], skipped=[gap]).holds


def test_the_same_records() -> None:
    def same(right: Content, *parts: str) -> audit_checks.Check:
        return audit_checks.same_records("n", VIEW.content, right, parts or PARTS)

    assert same(VIEW.content).holds
    other = same(Content(7, 43))
    assert (other.holds, other.detail) == (
        False,
        "7 and 7 records, another sum of offsets, timestamps, headers, keys and values",
    )
    assert not same(TWICE.content).holds
    assert same(VIEW.content, "headers").detail == "7 and 7 records, the same sum of headers"
    assert same(VIEW.content, "headers", "key").detail.endswith("sum of headers and keys")


def test_the_same_topic() -> None:
    assert audit_checks.same_topic("t", "A", "A").holds
    another = audit_checks.same_topic("t", "A", "B")
    assert not another.holds and "its id is B, the table was loaded from A" in another.detail


def test_a_compacted_topic_may_have_gaps_but_no_offset_twice() -> None:
    assert audit_checks.compacted_is_sound("t", VIEW, {**OFFSETS, 1: Offsets(0, 30)}).holds
    assert not audit_checks.compacted_is_sound("t", TWICE, OFFSETS).holds
    for there in (Offsets(0, 1), Offsets(1, 2)):
        assert not audit_checks.compacted_is_sound("t", VIEW, {**OFFSETS, 1: there}).holds
    ranges = {0: (10, 15), 1: (0, 30)}
    assert audit_checks.table_is_whole(VIEW, ranges, [], compacted=True).holds
    assert not audit_checks.table_is_whole(VIEW, ranges, []).holds
    assert not audit_checks.table_is_whole(TWICE, ranges, [], compacted=True).holds
    assert not audit_checks.table_is_whole(VIEW, {0: (11, 15), 1: (0, 2)}, [], True).holds


def test_against_the_seed() -> None:
    expected = Expected(records=7, checksum=99, repeated=1)
    expected.refused["x"] = 2
    assert audit_checks.as_generated("t", VIEW, expected).holds
    assert audit_checks.repeated_as_generated("t", VIEW, expected).holds
    assert audit_checks.refused_as_generated("t", {"x": 2}, expected).holds
    wrong = audit_checks.refused_as_generated("t", {"x": 2, "y": 1}, expected)
    assert (wrong.holds, wrong.detail) == (False, "1 instead of 0: y")
    expected.repeated = 0
    expected.records = 8
    assert not audit_checks.as_generated("t", VIEW, expected).holds
    assert not audit_checks.repeated_as_generated("t", VIEW, expected).holds


def test_sums_differ_where_a_row_is_missing_extra_or_other() -> None:
    row = {("cell", "C1", 0): (1, 1, 0, 60, 0)}
    assert audit_checks.sums_as_generated("s", row, row).holds
    assert audit_checks.same_sums("s", row, row).holds
    for other in ({}, {**row, ("cell", "C2", 0): (1, 1, 0, 60, 0)}, {("cell", "C1", 0): (2,) * 5}):
        assert not audit_checks.same_sums("s", row, other).holds
        assert not audit_checks.sums_as_generated("s", other, row).holds


def test_row_for_row() -> None:
    assert audit_checks.same_rows("r", 0, 0, 5).detail == "5 rows equal"
    assert not audit_checks.same_rows("r", 1, 0, 5).holds
    assert not audit_checks.same_rows("r", 0, 1, 5).holds


def test_reasons_are_counted() -> None:
    assert audit_checks.reasons([b"a", b"b", b"a"]) == {"a": 2, "b": 1}

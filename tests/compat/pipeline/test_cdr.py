"""Which call detail records are good, and why others are not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.compat.pipeline.small_frames import GOOD, NOON, ON_SPARK, events, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_a_good_record_keeps_its_fields(spark: SparkSession) -> None:
    (row,) = events(spark, {}).selectExpr("*", "unix_millis(event_time) AS ms").collect()
    assert (row.event_id, row.kind, row.cell, row.duration_s, row.dropped, row.bytes) == (
        ("e0", "call", "C1", 60, False, 0)
    )
    assert row.ms == int((NOON - timedelta(seconds=2)).timestamp() * 1000)


def test_each_reason(spark: SparkSession) -> None:
    from pipeline import cdr, reasons

    late = (NOON - timedelta(minutes=16)).isoformat()
    cases: list[tuple[Any, str | None]] = [
        (GOOD, None),
        ({**GOOD, "more": [1]}, None),
        (None, reasons.NO_VALUE),
        (b"{half", reasons.NOT_JSON),
        (b"\xff\xfe", reasons.NOT_JSON),
        (b"", reasons.NOT_JSON),
        ({}, reasons.NO_EVENT_ID),
        ({**GOOD, "event_id": ""}, reasons.NO_EVENT_ID),
        ({**GOOD, "kind": None}, reasons.UNKNOWN_KIND),
        ({**GOOD, "event_time": None}, reasons.BAD_TIME),
        ({**GOOD, "event_time": "soon"}, reasons.BAD_TIME),
        ({**GOOD, "subscriber": None}, reasons.NO_SUBSCRIBER),
        ({**GOOD, "cell": ""}, reasons.NO_CELL),
        ({**GOOD, "duration_s": -1}, reasons.BAD_DURATION),
        ({**GOOD, "duration_s": 1.5}, reasons.BAD_DURATION),
        ({**GOOD, "bytes": 10**18}, reasons.BAD_BYTES),
        ({**GOOD, "dropped": "maybe"}, reasons.BAD_DROPPED),
        ({**GOOD, "subscriber": "S2"}, reasons.WRONG_KEY),
        ({**GOOD, "event_time": "2026-03-02T13:00:01Z"}, reasons.FUTURE),
        ({**GOOD, "event_time": late}, reasons.TOO_LATE),
    ]
    checked = cdr.checked(records(spark, *(value for value, _ in cases)), "15 minutes")
    found = [row.reason for row in checked.orderBy("offset").collect()]
    assert found == [reason for _, reason in cases]


def test_a_record_may_have_any_time(spark: SparkSession) -> None:
    from pipeline import cdr, reasons

    frame = records(spark, GOOD, GOOD).selectExpr(
        "* EXCEPT (timestamp)",
        "timestamp_millis(IF(offset = 0, 1, -1) * 9223372036854775) AS timestamp",
    )
    found = cdr.checked(frame, "15 minutes").orderBy("offset").select("reason").collect()
    assert [row.reason for row in found] == [reasons.TOO_LATE, reasons.FUTURE]


def test_the_json_is_parsed_once_a_record(spark: SparkSession) -> None:
    """Spark would push the filter on the reason below it, and parse at each of its places."""
    plan = events(spark, {})._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("from_json") == 1


def test_a_dead_letter_says_where_it_was_and_why(spark: SparkSession) -> None:
    from pipeline import cdr

    (row,) = cdr.dead_letters(records(spark, GOOD, b"{"), "15 minutes").collect()
    assert (bytes(row.key), bytes(row.value)) == (b"t-0-1", b"{")
    headers = {one.key: bytes(one.value) for one in row.headers}
    assert headers == {"reason": b"not JSON", "source": b"t-0-1", "key": b"S1"}

"""The transformations of the jobs on small frames, in one SparkSession and without a broker."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.java_tools import spark_jars

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
RECORD = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
GOOD = {
    "event_id": "e1",
    "kind": "call",
    "event_time": "2026-03-02T11:59:58.000Z",
    "subscriber": "S1",
    "cell": "C1",
    "duration_s": 60,
    "dropped": False,
    "bytes": 0,
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """The session as the jobs make it."""
    from pipeline.command import parser_for
    from pipeline.session import make_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTTLA_SPARK_JARS", ",".join(spark_jars()))
        small = ["--conf", "spark.driver.memory=512m", "--conf", "spark.sql.shuffle.partitions=1"]
        options = parser_for("load").parse_args(["load", "--master", "local[1]", *small])
        with make_session("frames", options) as session:
            yield session
    gc.collect()


def records(spark: SparkSession, *values: Any, key: bytes | None = b"S1") -> DataFrame:
    rows = [
        (
            key,
            value if isinstance(value, bytes | None) else json.dumps(value).encode(),
            "t",
            0,
            n,
            NOON,
            None,
        )
        for n, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, RECORD)


def events(spark: SparkSession, *changes: dict[str, Any]) -> DataFrame:
    from pipeline import cdr

    values = [{**GOOD, "event_id": f"e{n}", **change} for n, change in enumerate(changes)]
    return cdr.events(records(spark, *values), "15 minutes")


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


def test_sums_per_cell_and_per_subscriber(spark: SparkSession) -> None:
    from pipeline import aggregates
    from pipeline.audit import sums_of

    rows = events(
        spark,
        {},
        {"dropped": True, "duration_s": 5},
        {"kind": "data", "duration_s": 0, "bytes": 700, "cell": "C2"},
        {"event_time": "2026-03-02T12:00:00Z"},
    )
    hour = int(NOON.timestamp() * 1000)
    assert sums_of(aggregates.summed(rows, "1 hour", 0.5)) == {
        ("cell", "C1", hour - 3_600_000): (2, 2, 1, 65, 0),
        ("cell", "C2", hour - 3_600_000): (1, 0, 0, 0, 700),
        ("cell", "C1", hour): (1, 1, 0, 60, 0),
        ("subscriber", "S1", hour - 3_600_000): (3, 2, 1, 65, 700),
        ("subscriber", "S1", hour): (1, 1, 0, 60, 0),
    }


def test_an_alert_wants_enough_calls_and_too_many_drops(spark: SparkSession) -> None:
    from pipeline import aggregates

    many = [{"dropped": n < 6, "cell": "bad"} for n in range(20)]
    few = [{"dropped": True, "cell": "few"} for _ in range(19)]
    good = [{"dropped": n < 3, "cell": "good"} for n in range(20)]
    sums = aggregates.summed(events(spark, *many, *few, *good), "1 hour", 0.15)
    (row,) = aggregates.alerts(sums).collect()
    assert (row.id, row.since, row.calls, row.drops) == ("bad", "2026-03-02 11:00", 20, 6)


def test_rows_survive_the_compacted_topic(spark: SparkSession) -> None:
    from pipeline import aggregates

    rows = aggregates.summed(events(spark, {}, {"dropped": True}), "1 hour", 0.15)
    written = aggregates.as_records(rows)
    keys = sorted(row.key for row in written.collect())
    assert keys == ["cell|C1|2026-03-02T11:00:00Z", "subscriber|S1|2026-03-02T11:00:00Z"]
    again = aggregates.from_records(written)
    assert sorted(again.collect()) == sorted(rows.collect())


def test_the_table_of_sums_keeps_the_last_row_of_a_key(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline import aggregates
    from pipeline.audit import sums_of

    monkeypatch.setattr(aggregates, "WHOLE_EVERY", 3)
    table = aggregates.AggregateTable(spark, str(tmp_path / "sums"))
    assert table.read().count() == 0
    key = ("cell", "C1", int(NOON.timestamp() * 1000) - 3_600_000)
    for batch in range(8):
        rows = aggregates.summed(events(spark, *[{}] * (batch + 1)), "1 hour", 0.15)
        if batch == 1:
            rows = rows.where("of = 'cell'")
        table.write(rows, batch)
        if batch in (0, 3, 5):
            table.write(rows, batch)  # the same batch again, after a crash
        assert sums_of(table.read())[key][0] == batch + 1
        assert table.read().count() == 2
    # 6 is whole, and the folders before it are gone.
    assert table.batches() == [6, 7]


def test_half_a_batch_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline import aggregates

    table = aggregates.AggregateTable(spark, str(tmp_path / "sums"))
    table.write(aggregates.summed(events(spark, {}), "1 hour", 0.15), 0)
    (tmp_path / "sums" / "batch=1").mkdir()
    assert table.batches() == [0]


def loaded(spark: SparkSession, path: Path) -> Any:
    from pipeline.loaded_table import LoadedTable

    return LoadedTable(spark, str(path))


def test_a_load_that_was_killed_is_finished_or_forgotten(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.errors import PipelineError
    from pipeline.loaded_table import LoadedTable, layout

    path = tmp_path / "table"
    rows = layout(records(spark, GOOD, b"x", None))

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    # Before the commit: nothing of it counts.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LoadedTable, "commit", dies)
        loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    assert loaded(spark, path).ends("t", "id") == {}
    assert loaded(spark, path).finish_last() == 0
    assert not any(path.rglob("*.parquet"))
    # After it: the next run puts the files in place.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LoadedTable, "_place", dies)
        loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    assert loaded(spark, path).ends("t", "id") == {0: 3}
    assert loaded(spark, path).finish_last() == 1
    again = sorted(row.offset for row in loaded(spark, path).read().collect())
    assert again == [0, 1, 2]
    assert spark.read.parquet(str(path)).count() == 3, "any engine can read it"
    assert (path / "date=2026-03-02" / "hour=12" / "run-000001-00000.parquet").exists()
    with pytest.raises(PipelineError, match="holds topic t, not u"):
        loaded(spark, path).ends("u", "id")
    with pytest.raises(PipelineError, match="loaded from another cluster"):
        loaded(spark, path).ends("t", "other")


def test_rows_of_any_file_become_records(spark: SparkSession) -> None:
    from pipeline.errors import PipelineError
    from pipeline.replay import from_rows

    frame = spark.createDataFrame(
        [("b", 2, None, NOON), ("a", 1, 0.5, NOON)], "id STRING, n INT, x DOUBLE, at TIMESTAMP"
    )
    rows = from_rows(frame, ["id", "n"], "at", ["n"]).collect()
    assert [bytes(row.key) for row in rows] == [b"a|1", b"b|2"]
    assert json.loads(rows[1].value) == {
        "id": "b",
        "n": 2,
        "x": None,
        "at": "2026-03-02T12:00:00.000Z",
    }
    assert rows[0].timestamp_ms == int(NOON.timestamp() * 1000)
    with pytest.raises(PipelineError, match="no column nope in these files: they have id, n, x"):
        from_rows(frame, ["nope"], None, [])
    with pytest.raises(PipelineError, match="column x is of type double"):
        from_rows(frame, [], "x", [])


def test_the_view_of_records(spark: SparkSession) -> None:
    import zlib

    from pipeline.records_view import bucket_width, last_per_key, view

    values = [GOOD, {**GOOD, "event_id": "e2"}, GOOD, b"x"]
    frame = records(spark, *values)
    found = view(frame, "event_id", "event_time")
    assert (found.records, found.ids, found.repeated) == (4, 2, 1)
    assert found.lags_ms == (2000, 2000, 2000)
    written = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in values]
    assert found.checksum == sum(zlib.crc32(b"S1" + one) for one in written)
    assert [(one.records, one.lag_p50_ms) for one in found.buckets] == [(4, 2000)]
    doubled = view(frame.unionByName(frame), "event_id", "event_time")
    assert (doubled.partitions[0].records, doubled.partitions[0].offsets) == (8, 4)
    (last,) = last_per_key(frame).collect()
    assert (last.offset, bytes(last.value)) == (3, b"x")
    assert bucket_width(0, 3_600_000) == 61_000


def test_files_are_put_in_place_whole_and_once(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.files import Files

    files = Files(spark, str(tmp_path / "f"))
    files.write_json("a/b.json", {"x": [1, "ü"]})
    assert files.read_json("a/b.json") == {"x": [1, "ü"]}
    assert files.names("a") == ["b.json"] and files.files_below("") == ["a/b.json"]
    with pytest.raises(FileExistsError):
        files.write_json("a/b.json", {})
    files.move("a/b.json", "c/d.json")
    assert files.exists("c/d.json") and not files.exists("a/b.json")
    files.delete("c")
    files.delete("not there")
    assert files.names("c") == []


def test_executors_use_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable

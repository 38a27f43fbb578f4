"""A topic whose values change while it becomes a table, through the whole command.

One format of one test in `make test`, all of them in `make test-long`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, records
from tests.unit.pipeline.columns.avro.fake_registry import fake_registry, record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.sources import TopicState

pytestmark = ON_SPARK


class Topic:
    """One partition, whose values are here, and the command that makes a table of it."""

    def __init__(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, form: str, path: Path
    ) -> None:
        self._spark, self._form, self.path = spark, form, path
        self.values: list[Any] = []
        self.ids = ["A"]
        """What the topic's id is at each look; the last one stays."""
        monkeypatch.setattr("pipeline.sources.check", lambda _: None)
        monkeypatch.setattr("pipeline.sources.source_of", lambda *_: self)
        monkeypatch.setattr("pipeline.spark.session.check", lambda _: None)
        monkeypatch.setattr("pipeline.spark.session.make_session", lambda *_: spark)
        monkeypatch.setattr(spark, "stop", lambda: None)

    def state(self) -> TopicState:
        from pipeline.sources import TopicState
        from pipeline.topics import Offsets

        return TopicState("c", self.topic_id(), {0: Offsets(0, len(self.values))})

    def topic_id(self) -> str:
        return self.ids.pop(0) if len(self.ids) > 1 else self.ids[0]

    def batch(
        self, starts: Mapping[int, int], ends: Mapping[int, int], any_time: bool
    ) -> DataFrame:
        frame = records(self._spark, *self.values)
        return frame.where(f"offset >= {starts[0]} AND offset < {ends[0]}")

    def fill(self, *words: str) -> tuple[int, list[str]]:
        """The command's exit code, and what it said; not how long a slow machine took."""
        from pipeline.command import main

        given = ["table", "--topic", "t", "--to", self._form, "--table", str(self.path), *words]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = main(given)
        return code, [line for line in said.getvalue().splitlines() if ":   … " not in line]

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """As a reader without Java has them: deltalake, pyiceberg; of Parquet as Spark has them."""
        from tests.compat.table_kills.readers import ROWS

        if self._form == "parquet":
            return self.rows_of_spark(*columns)
        table = ROWS[self._form](self.path, ["partition", *columns])
        return sorted(tuple(row[name] for name in columns) for row in table.to_pylist())

    def rows_of_spark(self, *columns: str) -> list[tuple[Any, ...]]:
        from pipeline.tables.table import open_table

        frame = open_table(self._spark, self._form, str(self.path)).read().select(*columns)
        return sorted(tuple(row.asDict(recursive=True).values()) for row in frame.collect())

    def letters(self) -> list[tuple[int, str]]:
        """Offsets and reasons."""
        from pipeline.tables.table import open_table

        path = f"{self.path}-dead-letters"
        frame = open_table(self._spark, self._form, path).read().select("offset", "reason")
        return sorted((row.offset, row.reason) for row in frame.collect())

    def reached(self) -> tuple[int, Mapping[int, int]]:
        """The last run, and up to where the table holds the topic."""
        from pipeline.tables.table import open_table

        progress = open_table(self._spark, self._form, str(self.path)).progress()
        assert progress is not None
        return progress.run, progress.ends


def formats(always: str = "") -> pytest.MarkDecorator:
    """Run a test with each format; with those other than `always` it is long."""
    return pytest.mark.parametrize(
        "form",
        [
            pytest.param(form, marks=() if form == always else pytest.mark.long)
            for form in ("delta", "iceberg", "parquet")
        ],
    )


def check_made_again(topic: Topic, *words: str) -> None:
    """Of a topic that is deleted and made again nothing comes into the table of the old one."""
    before = topic.reached()
    topic.values += [topic.values[-1], topic.values[0]]
    for ids, again in ((["B"], "since table"), (["A", "B"], "while it was read")):
        topic.ids = ids
        code, said = topic.fill(*words)
        (sentence,) = refusals(said)
        assert code == 2 and f"topic t was deleted and made again {again}" in sentence
        assert "name another --table to begin again" in sentence
        assert topic.reached() == before
    topic.ids = ["A"]
    del topic.values[-2:]


def refusals(said: list[str]) -> list[str]:
    """Without what the job says of its way there."""
    return [line for line in said if not line.startswith("table: ")]


@formats("delta")
def test_a_column_that_comes_midway_and_a_type_that_changes(
    spark: SparkSession,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topic = Topic(spark, monkeypatch, form, tmp_path / "t")
    as_json = ("--value-format", "json")
    topic.values += [{"id": 1, "s": {"a": 1}}, {"id": 2}]
    assert topic.fill(*as_json, "--dry-run") == (
        0,
        ["table: 2 offsets of t are new; nothing was written"],
    )
    assert capsys.readouterr().out.splitlines()[-2:] == ["id BIGINT", "s STRUCT<a: BIGINT>"]
    assert not topic.path.exists()
    assert topic.fill(*as_json)[0] == 0

    topic.values += [{"id": 3, "name": "x"}, {"id": "four"}, {"id": 5, "s": {"b": [True]}}, None]
    code, said = topic.fill(*as_json)
    assert code == 0 and ": 2 rows, 2 dead letters into" in said[-1], said
    wanted = [
        (0, 1, {"a": 1, "b": None}, None),
        (1, 2, None, None),
        (2, 3, None, "x"),
        (4, 5, {"a": None, "b": [True]}, None),
    ]
    columns = ("offset", "id", "s", "name")
    if form != "parquet":  # which keeps what it says of older files: a STRUCT has its new field
        assert topic.rows(*columns) == wanted
    misfits = [(3, "field id is STRING, not BIGINT: four"), (5, "there is no value (a tombstone)")]
    assert topic.letters() == misfits

    topic.values += [{"id": 7}]
    before = topic.reached()
    code, said = topic.fill(*as_json, "--schema", "id STRING")
    assert (code, refusals(said)) == (
        2,
        [
            "ottla-pipeline: column id is BIGINT in the table and would be STRING: write into "
            "another table, or keep BIGINT in the schema"
        ],
    )
    assert (topic.reached(), topic.letters()) == (before, misfits) and before == (2, {0: 6})
    code, _ = topic.fill(*as_json, "--schema", "id INT, name STRING, more DOUBLE")
    assert code == 0
    assert topic.rows("offset", "id", "name", "more")[-2:] == [
        (4, 5, None, None),
        (6, 7, None, None),
    ]
    check_made_again(topic, *as_json)
    assert topic.letters() == misfits


@formats("parquet")
def test_dead_letters_above_a_limit_end_the_job_and_are_committed(
    spark: SparkSession, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = Topic(spark, monkeypatch, form, tmp_path / "t")
    words = ("--value-format", "json", "--schema", "id BIGINT", "--max-dead-letters", "1")
    topic.values += [{"id": 1}, {"id": "two"}]
    code, said = topic.fill(*words)
    assert code == 0 and ": 1 row, 1 dead letter into" in said[-1], said
    topic.values += [{"id": "three"}, {"id": "four"}, {"id": 5}, {"id": "six"}]
    code, said = topic.fill(*words, "--batch-max", "3", "--every", "0.001")
    (sentence,) = refusals(said)
    assert code == 3 and "2 dead letters since the job began, more than --max-dea" in sentence
    assert topic.reached() == (2, {0: 5}), "rows and letters of that run are committed, no more"
    assert topic.fill(*words)[0] == 0
    assert topic.rows("offset", "id") == [(0, 1), (4, 5)]
    assert [offset for offset, _ in topic.letters()] == [1, 2, 3, 5]


@formats()
def test_a_registry_whose_latest_schema_gains_a_field_and_then_changes_a_type(
    spark: SparkSession,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = Topic(spark, monkeypatch, form, tmp_path / "t")

    def framed(number: int, body: bytes) -> bytes:
        return b"\0" + number.to_bytes(4, "big") + body

    with fake_registry() as served:
        avro = ("--value-format", "avro", "--registry", served.url)
        served.register("t-value", 1, record(("id", "int")))
        topic.values += [framed(1, b"\x02"), framed(1, b"\x04")]
        assert topic.fill(*avro)[0] == 0
        assert topic.rows("offset", "id") == [(0, 1), (1, 2)]

        served.register("t-value", 2, record(("id", "int"), ("b", ["null", "string"], None)))
        topic.values += [framed(1, b"\x06"), framed(2, b"\x08\x02\x02x"), framed(9, b"\x00")]
        assert topic.fill(*avro)[0] == 0
        wanted = [(0, 1, None), (1, 2, None), (2, 3, None), (3, 4, "x")]
        assert topic.rows("offset", "id", "b") == wanted
        assert topic.letters() == [(4, "the registry knows no schema of id 9")]

        check_made_again(topic, *avro)
        topic.values += [framed(3, b"\x80\x80\x80\x80\x20"), framed(1, b"\x0a")]
        served.register("t-value", 3, record(("id", "long")))
        code, said = topic.fill(*avro)
        if form != "parquet":
            wanted += [(5, 2**32, None), (6, 5, None)]
            assert code == 0
            assert any("column id is BIGINT from now on (INT before)" in line for line in said)
            served.register("t-value", 4, record(("id", "string")))
            topic.values += [framed(4, b"\x02x")]
            code, said = topic.fill(*avro)
        (sentence,) = refusals(said)
        assert code == 2 and "column id is " in sentence and "write into another" in sentence
        assert topic.rows_of_spark("offset", "id", "b") == wanted
        assert topic.reached()[1] == {0: 5 if form == "parquet" else 7}


def test_a_topic_that_is_made_again_between_two_batches_and_while_bytes_are_committed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = Topic(spark, monkeypatch, "iceberg", tmp_path / "t")
    topic.values += [b"old 0", b"old 1"]
    # Before the batch, before its commit, behind it; then the next batch's.
    topic.ids = ["A", "A", "A", "B"]
    code, said = topic.fill("--every", "0.001")
    assert code == 2 and "made again since table" in refusals(said)[0]
    assert topic.reached() == (1, {0: 2})
    check_made_again(topic)
    # Bytes that are kept as they are have been read by the commit alone.
    topic.values += [b"new"]
    topic.ids = ["A", "A", "B"]
    code, said = topic.fill()
    assert code == 2 and "made again while it was read" in refusals(said)[0]


def test_avro_by_the_schema_of_a_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = Topic(spark, monkeypatch, "parquet", tmp_path / "t")
    file = tmp_path / "o.avsc"
    file.write_text(record(("id", "int"), ("b", "string")))
    topic.values += [b"\x02\x02x", b"\x04\x02y", b"\x02"]
    assert topic.fill("--value-format", "avro", "--schema", str(file))[0] == 0
    assert topic.rows("offset", "id", "b") == [(0, 1, "x"), (1, 2, "y")]
    assert topic.letters() == [(2, "the value cannot be read by the schema")]


def test_a_rare_field_inside_an_object_that_was_new_is_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look at a batch cannot see it: the object itself was not yet known."""
    topic = Topic(spark, monkeypatch, "parquet", tmp_path / "t")
    topic.values += [{"id": 0}]
    assert topic.fill("--value-format", "json")[0] == 0
    often = [{"id": n, "s": {"a": n}} for n in range(1, 1_500)]
    topic.values += [*often[:1_200], {"id": 1, "s": {"rare": "x", "a": 1}}, *often[1_200:]]
    topic.values += [{"s": {"A": 1}}]
    assert topic.fill("--value-format", "json")[0] == 0
    rows = topic.rows("offset", "s")
    assert len(rows) == 1_501
    assert [row for row in rows if row[1] and row[1]["rare"]] == [(1_201, {"a": 1, "rare": "x"})]
    assert topic.letters() == [(1_501, "field s.A differs from a column in case alone")]
    assert rows[0] == (0, None)

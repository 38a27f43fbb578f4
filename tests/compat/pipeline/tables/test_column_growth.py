"""Columns follow the rows: types grow before the commit that needs it, names stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, records
from tests.compat.pipeline.tables.table_life import NOTHING, after
from tests.compat.table_kills.readers import ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.tables.column_changes import Growth
from pipeline.tables.progress import KEY
from pipeline.tables.sql_table import SqlTable
from pipeline.tables.table import Table, open_table

pytestmark = ON_SPARK

BEFORE = {
    "n": ("SMALLINT", -32768),
    "i": ("INT", 2**31 - 1),
    "f": ("FLOAT", 0.5),
    "d": ("DECIMAL(5,2)", "-999.99"),
    "s": ("STRUCT<`x`: INT, y: STRING>", "(-2147483648, 'y')"),
    "l": ("ARRAY<STRUCT<x: INT>>", "array(named_struct('x', 7))"),
    "m": ("MAP<STRING, FLOAT>", "map('k', 0.25F)"),
    "a": ("ARRAY<ARRAY<INT>>", "array(array(1))"),
}
AFTER = {
    "n": ("INT", -32769),
    "i": ("BIGINT", 2**31),
    "f": ("DOUBLE", 0.1),
    "d": ("DECIMAL(20,2)", "123456789012345678.99"),
    "s": ("STRUCT<`x`: BIGINT, y: STRING>", "(2147483648, 'z')"),
    "l": ("ARRAY<STRUCT<x: BIGINT>>", "array(named_struct('x', 2147483648))"),
    "m": ("MAP<STRING, DOUBLE>", "map('k', 0.1D)"),
    "a": ("ARRAY<ARRAY<BIGINT>>", "array(array(2147483648))"),
}
ONLY_DELTA = {"w": ("INT", 1), "p": ("DECIMAL(5,2)", "1.50")}
ONLY_DELTA_AFTER = {"w": ("DOUBLE", 0.5), "p": ("DECIMAL(9,4)", "1.2345")}


def row_of(spark: SparkSession, offset: int, columns: dict[str, tuple[str, Any]]) -> DataFrame:
    values = [f"CAST({value} AS {kind}) AS `{name}`" for name, (kind, value) in columns.items()]
    return records(spark, b"").selectExpr(
        "* EXCEPT (value, offset)", f"{offset}L AS offset", *values
    )


def made(spark: SparkSession, table: Table, columns: dict[str, tuple[str, Any]]) -> None:
    """A table with one row of these columns."""
    rows = row_of(spark, 0, columns)
    table.create(rows.schema, {KEY: NOTHING.text()})
    assert table.append(rows, NOTHING.following({0: 0}, {0: 1})) == 1


def append(spark: SparkSession, table: Table, columns: dict[str, tuple[str, Any]]) -> None:
    progress = table.progress()
    assert progress is not None
    end = progress.ends[0]
    assert table.append(row_of(spark, end, columns), after(table, {0: end}, {0: end + 1})) == 1


def as_spark_has_them(frame: DataFrame, columns: dict[str, tuple[str, Any]]) -> list[Any]:
    rows = frame.orderBy("offset").select(*columns).collect()
    return [row.asDict(recursive=True) for row in rows]


def stopped_after_the_first(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    """The job dies behind the first type that has grown."""

    def dies(growth: Growth) -> None:
        raise SystemExit

    monkeypatch.setattr(table, "_say_of_growth", dies)


@pytest.mark.parametrize("form", ["iceberg", "delta"])
def test_types_grow_and_a_job_that_was_killed_between_goes_on(
    spark: SparkSession, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    path = tmp_path / "t"
    narrow, wide = dict(BEFORE), dict(AFTER)
    if form == "delta":
        narrow, wide = narrow | ONLY_DELTA, wide | ONLY_DELTA_AFTER
    table = open_table(spark, form, str(path))
    made(spark, table, narrow)
    stopped_after_the_first(monkeypatch, table)
    with pytest.raises(SystemExit):
        append(spark, table, wide)
    (first,) = as_spark_has_them(table.read(), narrow)

    table = open_table(spark, form, str(path), said.append)
    append(spark, table, wide)
    append(spark, table, narrow)
    there = table.read().schema
    wanted = row_of(spark, 0, wide).schema
    assert [there[name].dataType for name in wide] == [wanted[name].dataType for name in wide]
    old, new, narrower = as_spark_has_them(table.read(), wide)
    (expected,) = as_spark_has_them(row_of(spark, 0, wide), wide)
    assert new == expected and old["i"] == 2**31 - 1 and old["n"] == -32768
    assert old["s"] == first["s"] and old["l"] == [{"x": 7}] and old["m"] == {"k": 0.25}
    assert narrower == old
    sentences = [f"{path}: column l.element.x is BIGINT from now on (INT before)"]
    assert any(sentence.startswith(sentences[0]) for sentence in said), said
    assert len(said) == len(wide) - 1 - (form == "iceberg"), "SMALLINT is INT to Iceberg"
    check_readers(form, path, [old, new, old])
    table.merge(1_000_000, True)
    assert as_spark_has_them(table.read(), wide) == [old, new, old]
    check_readers(form, path, [old, new, old])


def check_readers(form: str, path: Path, rows: list[Any]) -> None:
    """PyIceberg reads what Spark reads; deltalake refuses Delta's type widening."""
    names = list(rows[0])
    if form == "delta":
        with pytest.raises(Exception, match=r"(?i)type ?widening"):
            ROWS[form](path, names)
        return
    found = ROWS[form](path, ["offset", *names])
    lists = [
        {**row, "m": dict(row["m"])} for row in found.sort_by("offset").select(names).to_pylist()
    ]
    assert lists == rows


@pytest.mark.parametrize("form", ["iceberg", "delta"])
def test_a_column_that_was_renamed_by_hand_is_not_made_again(
    spark: SparkSession, form: str, tmp_path: Path
) -> None:
    columns = {"id": ("INT", 1), "a b": ("INT", 2), "s": ("STRUCT<x: INT>", "named_struct('x', 1)")}
    table = open_table(spark, form, str(tmp_path / "t"))
    made(spark, table, columns)
    assert isinstance(table, SqlTable)
    written = table.read().schema

    def change(words: str) -> None:
        table._sql(f"ALTER TABLE {table._name} {words}")

    for old, new in (("id", "number"), ("s.x", "s.z")):
        change(f"RENAME COLUMN {old} TO {new.rpartition('.')[2]}")
        words = f"column {old} of .* was renamed by hand, perhaps to {new}: rename the column back"
        with pytest.raises(PipelineError, match=words):
            append(spark, table, columns)
        again = open_table(spark, form, str(tmp_path / "t"))
        with pytest.raises(PipelineError, match=words):
            again.expect(written)
        change(f"RENAME COLUMN {new} TO {old.rpartition('.')[2]}")
    change("ADD COLUMN mine INT")
    again.expect(written)
    append(spark, again, columns | {"more": ("INT", 3)})
    change("DROP COLUMN id")
    append(spark, again, columns | {"more": ("INT", 3)})
    rows = again.read().orderBy("offset").select("id", "mine", "more").collect()
    assert [tuple(row) for row in rows] == [(None, None, None), (None, None, 3), (1, None, 3)]


def test_a_name_that_switches_on_the_mapping_of_columns_is_said_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    said: list[str] = []
    for path, first in (
        ("at once", {"s": ("STRUCT<`a b`: INT>", "named_struct('x', 1)")}),
        ("later", {}),
    ):
        table = open_table(spark, "delta", str(tmp_path / path), said.append)
        made(spark, table, {"id": ("INT", 5), **first})
        append(
            spark, table, {"id": ("INT", 6), "s": ("STRUCT<`a b`: INT>", "named_struct('x', 1)")}
        )
        append(
            spark, table, {"id": ("INT", 7), "s": ("STRUCT<`a b`: INT>", "named_struct('x', 1)")}
        )
        (sentence,) = said
        assert sentence.startswith(f"{tmp_path / path}: the name 'a b' switches on Delta's column")
        assert [row.id for row in table.read().orderBy("offset").collect()] == [5, 6, 7]
        said.clear()
    found = ROWS["delta"](tmp_path / "at once", ["offset", "id"]).to_pylist()
    assert {row["id"] for row in found} == {None}, "what the sentence says of deltalake"


def test_a_delta_table_has_odd_names_and_types_that_grow_in_either_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    for path, change in (("grows first", {}), ("is mapped first", {"a b": ("INT", 1)})):
        said: list[str] = []
        table = open_table(spark, "delta", str(tmp_path / path), said.append)
        made(spark, table, {"id": ("INT", 5), **change})
        append(spark, table, {"id": ("BIGINT", 2**40), **change})
        append(spark, table, {"id": ("BIGINT", 7), "a b": ("BIGINT", 2**40)})
        rows = table.read().orderBy("offset").select("id", "a b").collect()
        assert [row.id for row in rows] == [5, 2**40, 7] and rows[2]["a b"] == 2**40
        assert sum("column mapping" in sentence for sentence in said) == 1

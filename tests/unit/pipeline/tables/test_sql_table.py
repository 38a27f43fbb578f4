"""What tables of Delta and Iceberg share, by the statements that Spark is given.

The tests of each format run it on Spark.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import LongType, StructField, StructType

from pipeline.errors import PipelineError
from pipeline.tables import sql_table
from pipeline.tables.sql_table import SqlTable


class Spark:
    """Notes statements; `fails` is raised by them."""

    def __init__(self, rows: list[Any], fails: Exception | None = None) -> None:
        self.statements: list[str] = []
        self._rows = rows
        self._fails = fails

    def sql(self, statement: str) -> Any:
        self.statements.append(statement)
        if self._fails is not None:
            raise self._fails
        return SimpleNamespace(collect=lambda: self._rows)


def table(spark: Spark) -> SqlTable:
    return SqlTable(spark, "/t", "file:///t", "form.`/t`", print)  # type: ignore[arg-type]


def test_who_makes_it_second_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_table, "refuse_files", lambda _spark, _path: None)
    schema = StructType([StructField("n", LongType())])
    spark = Spark([])
    table(spark)._create(schema, "form", {"a": "b"}, ("CONFLICT",))
    assert spark.statements == [
        "CREATE TABLE IF NOT EXISTS form.`/t` (`n` bigint) USING form TBLPROPERTIES ('a' = 'b')"
    ]
    with pytest.raises(PipelineError, match="another job has written run 0 of /t meanwhile"):
        table(Spark([], RuntimeError("a CONFLICT")))._create(schema, "form", {}, ("CONFLICT",))
    with pytest.raises(RuntimeError, match="disk full"):
        table(Spark([], RuntimeError("disk full")))._create(schema, "form", {}, ("CONFLICT",))

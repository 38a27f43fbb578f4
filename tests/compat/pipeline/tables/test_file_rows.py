"""Lines of files that are no row are told apart from rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import on_spark
from tests.compat.pipeline.tables.table_life import other_file_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@on_spark
@pytest.mark.parametrize(
    ("form", "text", "columns", "good", "bad"),
    [
        ("json", '{"a":1}\n{half\n{"a":2}\n7\n', ["a"], [(1,), (2,)], ["{half", "7"]),
        ("json", '{"a":1}\n', ["a"], [(1,)], []),
        ("csv", "a,b\n1,x\n2,y,z\n3\n4,w\n", ["a", "b"], [(1, "x"), (4, "w")], ["2,y,z", "3"]),
        ("csv", "a,b\n1,x\n", ["a", "b"], [(1, "x")], []),
    ],
)
def test_rows_and_misfits(
    spark: SparkSession,
    tmp_path: Path,
    form: str,
    text: str,
    columns: list[str],
    good: list[tuple[object, ...]],
    bad: list[str],
) -> None:
    from pipeline.jobs.replay import from_rows
    from pipeline.tables.file_rows import MISFIT, read_rows

    file = tmp_path / "rows [1] {a,b}"
    file.write_text(text)
    with other_file_system(spark):
        found = read_rows(spark, str(file), form)
    assert found.frame.columns == [*columns, MISFIT] and found.has_misfits is bool(bad)
    rows = found.frame.collect()
    assert [tuple(row)[:-1] for row in rows if row[-1] is None] == good
    assert [row[-1] for row in rows if row[-1] is not None] == bad
    # As they are sent: the broken line as it is, no column of it in the values of the others.
    records = from_rows(found.frame, ["a"], None, []).collect()
    assert [row.misfit for row in records if row.misfit is not None] == bad
    values = [bytes(row.value).decode() for row in records if row.misfit is None]
    assert not any(MISFIT in value or "_corrupt" in value for value in values)

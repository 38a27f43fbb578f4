"""The readers of a table that docs/pipeline.md shows, on tables that the jobs' code wrote."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import GOOD, ON_SPARK, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK

PAGE = Path(__file__).resolve().parents[4] / "docs" / "pipeline.md"
SECTION = re.compile(r"^### Readers of a table\n(.*?)^###? ", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CALLS = 7


def fill(spark: SparkSession, folder: Path) -> None:
    """Write the tables that the page names, each with as many rows."""
    from pyspark.sql import functions as F

    from pipeline.tables.loaded_table import LoadedTable, layout
    from pipeline.tables.progress import KEY, Progress
    from pipeline.tables.table import open_table

    loaded = records(spark, *[GOOD] * CALLS)
    rows = loaded.drop("value").withColumn("cell", F.lit("C1"))
    for form, name in (("delta", "cdr"), ("iceberg", "cdr-iceberg")):
        table = open_table(spark, form, str(folder / name))
        nothing = Progress("cdr", "id", 0, {}, {})
        table.create(rows.schema, {KEY: nothing.text()})
        table.append(rows, nothing.following({0: 0}, {0: CALLS}))
    events = LoadedTable(spark, str(folder / "events"))
    events.write(layout(loaded), "cdr", "id", {0: 0}, {0: CALLS})
    events.finish_last()


def test_each_reader_of_the_page_sees_the_rows(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    section = SECTION.search(PAGE.read_text())
    assert section is not None
    blocks = BLOCK.findall(section[1])
    fill(spark, tmp_path / "pipeline-data")
    monkeypatch.chdir(tmp_path)
    # Else polars warns that it plans scans of Iceberg by PyIceberg, which the page wants.
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    for block in blocks:
        capsys.readouterr()
        exec(block, {"spark": spark})
        shown = capsys.readouterr().out
        queries = len(re.findall(r"^print|show\(\)$", block, re.MULTILINE))
        counts = len(re.findall(rf"\b{CALLS}\b", shown))
        listings = shown.count("C1") // CALLS
        assert queries and counts + listings == queries, (block, shown)
    assert len(blocks) == 5

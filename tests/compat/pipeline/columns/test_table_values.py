"""Random JSON of each type in tables of Delta and Iceberg: no reader has another value, or a null
without a dead letter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, json_columns, records, split
from tests.unit.pipeline.columns.json.json_reference import REFUSED, TYPES, meant, random_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.tables.table import Table

pytestmark = ON_SPARK

SEED, TEXTS = 61, 300
Rows = list[dict[str, Any]]


def same(value: Any, wanted: Any) -> bool:
    """Return whether both are equal, and 0 of one sign; times are of UTC."""
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        value = value.replace(tzinfo=wanted.tzinfo) if value.utcoffset().total_seconds() == 0 else 0
    return bool(value == wanted and str(value) == str(wanted))


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_every_reader_has_each_value(spark: SparkSession, form: str, tmp_path: Path) -> None:
    columns = {f"c{n}": kind for n, kind in enumerate(TYPES)}
    cases = [
        (name, kind, raw)
        for name, kind in columns.items()
        for raw in random_texts(kind, TEXTS, SEED)
    ]
    values = [f'{{"{name}":{raw}}}'.encode() for name, _, raw in cases]
    schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    rows, misfits = split(json_columns(schema), records(spark, *values))
    reasons = {row["offset"]: row["reason"] for row in misfits.toArrow().to_pylist()}
    table = written(spark, form, str(tmp_path / "t"), rows)
    for reader in (by_spark(table), by_others(form, tmp_path / "t")):
        became = {row["offset"]: row for row in reader(["offset", *columns])}
        assert len(became) + len(reasons) == len(cases)
        wrong = []
        for offset, (name, kind, raw) in enumerate(cases):
            wanted = meant(raw, kind)
            if wanted is REFUSED:
                if not reasons.get(offset, "").startswith(f"field {name} is "):
                    wrong.append((raw, kind, reasons.get(offset), became.get(offset)))
            elif offset in reasons or not same(became[offset][name], wanted):
                wrong.append((raw, kind, reasons.get(offset), became.get(offset, {}).get(name)))
        assert wrong == []
    fitting = len(cases) - len(reasons)
    assert fitting > len(cases) // 4 < len(reasons), "both sides are tried"


def written(spark: SparkSession, form: str, path: str, rows: Any) -> Table:
    """Return a table of the rows."""
    from pipeline.tables.progress import KEY, ROWS, Progress
    from pipeline.tables.table import open_table

    table = open_table(spark, form, path)
    progress = Progress("t", "c", 0, {}, {}, ROWS)
    table.create(rows.schema, {KEY: progress.text()})
    table.append(rows, progress.following({0: 0}, {0: len(TYPES) * TEXTS}))
    return table


def by_spark(table: Table) -> Callable[[list[str]], Rows]:
    """Return Spark as a reader."""
    return lambda names: table.read().select(*names).toArrow().to_pylist()


def by_others(form: str, path: Path) -> Callable[[list[str]], Rows]:
    """Return deltalake or PyIceberg as a reader."""
    from tests.compat.table_kills.readers import ROWS

    return lambda names: ROWS[form](path, names).to_pylist()

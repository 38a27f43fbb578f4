"""The first and the last date and time of a table, as every reader of it has them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, json_columns, records, split

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK

FIRST = (date(1, 1, 1), datetime(1, 1, 1, tzinfo=UTC), datetime(1, 1, 1))
LAST_TIME = datetime(9999, 12, 31, 23, 59, 59, 999_999)
LAST = (LAST_TIME.date(), LAST_TIME.replace(tzinfo=UTC), LAST_TIME)
BOUNDS = (
    b'{"d":"0001-01-01","t":"0001-01-01T00:00:00Z","n":"0001-01-01 00:00:00"}',
    b'{"d":"9999-12-31","t":"9999-12-31T23:59:59.999999Z","n":"9999-12-31 23:59:59.999999"}',
)
BEYOND = (
    b'{"t":-62135596801}',
    b'{"t":253402300800}',
    b'{"d":"0000-12-31"}',
    b'{"d":"10000-01-01"}',
)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_every_reader_has_the_bounds(spark: SparkSession, form: str, tmp_path: Path) -> None:
    from pipeline.tables.progress import KEY, ROWS, Progress
    from pipeline.tables.table import open_table

    frame = records(spark, *BOUNDS, *BEYOND)
    rows, misfits = split(json_columns("d DATE, t TIMESTAMP, n TIMESTAMP_NTZ"), frame)
    assert misfits.count() == len(BEYOND)
    path = tmp_path / "t"
    table = open_table(spark, form, str(path))
    progress = Progress("t", "c", 0, {}, {}, ROWS)
    table.create(rows.schema, {KEY: progress.text()})
    table.append(rows, progress.following({0: 0}, {0: len(BOUNDS) + len(BEYOND)}))
    arrow = by_arrow(form, path)
    found = [(row["d"], row["t"], row["n"]) for row in arrow.to_pylist()]
    assert sorted(found, key=lambda row: row[0]) == [FIRST, LAST]
    assert by_pandas(arrow) == [FIRST, LAST]
    assert by_duckdb(arrow) == [tuple(map(str, FIRST)), tuple(map(str, LAST))]
    again = table.read().select("d", "t", "n").orderBy("d").toArrow().to_pylist()
    assert [tuple(row.values()) for row in again] == [FIRST, LAST]


def by_arrow(form: str, path: Path) -> pyarrow.Table:
    """By deltalake, by PyIceberg, or by Arrow itself."""
    import pyarrow.dataset

    from tests.compat.table_kills.readers import ROWS

    names = ["d", "t", "n"]
    if form in ROWS:
        return ROWS[form](path, names)
    files = [str(file) for file in path.rglob("*.parquet")]
    return pyarrow.dataset.dataset(files, format="parquet").to_table(columns=names)


def by_pandas(arrow: pyarrow.Table) -> list[tuple[Any, ...]]:
    """Return the rows as pandas has them, with its timestamps in µs."""
    frame = arrow.to_pandas().sort_values("d")
    return [
        (row.d, row.t.to_pydatetime(), row.n.to_pydatetime()) for row in frame.itertuples(False)
    ]


def by_duckdb(arrow: pyarrow.Table) -> list[tuple[str, ...]]:
    """Return the rows as DuckDB has them, as texts in Python's form."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        asked = "SELECT d, t, n FROM arrow ORDER BY d"
        found = connection.sql(asked).fetchall()
    return [(str(d), str(t.astimezone(UTC)), str(n)) for d, t, n in found]

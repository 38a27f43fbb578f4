"""A table as engines without Java read it: deltalake, pyiceberg, and DuckDB behind both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

Cell = tuple[int, int, bytes]
"""Partition, offset, value."""
_COLUMNS = ("partition", "offset", "value")


def delta_rows(path: Path, columns: Sequence[str] = _COLUMNS) -> pyarrow.Table:
    """By delta-rs."""
    from deltalake import DeltaTable

    return DeltaTable(path).to_pyarrow_dataset().to_table(columns=list(columns))


def iceberg_rows(path: Path, columns: Sequence[str] = _COLUMNS) -> pyarrow.Table:
    """By PyIceberg, from the newest metadata file: the hint may be older, or away, where a commit
    was cut off. Source: Iceberg's `HadoopTableOperations.refresh`."""
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(str(max(_versions(path), key=_version)))
    return table.scan(selected_fields=tuple(columns)).to_arrow()


def has_table(path: Path) -> bool:
    """Whether a table of either format lies there."""
    return any((path / "_delta_log").glob("*.json")) or any(_versions(path))


def _versions(path: Path) -> Iterator[Path]:
    return (path / "metadata").glob("v*.metadata.json")


def _version(metadata: Path) -> int:
    return int(metadata.name.partition(".")[0].removeprefix("v"))


ROWS: dict[str, Callable[..., pyarrow.Table]] = {"delta": delta_rows, "iceberg": iceberg_rows}


def cells(rows: pyarrow.Table) -> list[Cell]:
    """Rows as tuples; text as its bytes."""
    columns = (rows.column(name).to_pylist() for name in _COLUMNS)
    return [
        (partition, offset, value.encode() if isinstance(value, str) else value)
        for partition, offset, value in zip(*columns, strict=True)
    ]


def by_duckdb(rows: pyarrow.Table) -> tuple[int, int, int]:
    """Rows, different places, and the sum of offsets, as DuckDB counts them."""
    import duckdb

    asked = (
        'SELECT count(*), count(DISTINCT (partition, "offset")), coalesce(sum("offset"), 0) '
        "FROM rows"
    )
    (found,) = duckdb.sql(asked).fetchall()
    return int(found[0]), int(found[1]), int(found[2])

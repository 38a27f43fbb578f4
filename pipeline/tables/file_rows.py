"""Rows of files of Parquet, JSON or CSV, and the lines in them that are no rows.

Spark cuts a line of CSV that has too many fields, and returns a broken line of JSON as a row with
an extra column. Here each such line is text in the column `MISFIT`, and its other columns do not
count. Owns no file.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from pipeline.errors import PipelineError
from pipeline.options import as_spark_has_it, exactly, is_local, local

FORMATS = ("parquet", "json", "csv")
MISFIT = "_ottla_misfit"
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz")


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of files. The frame has a column `MISFIT`: the text of a line that is no row, else
    null."""

    frame: DataFrame
    has_misfits: bool


def read_rows(spark: SparkSession, path: str, form: str) -> FileRows:
    """Return all rows of a file, a folder or a pattern. Raises PipelineError if no row is in the
    format `form`."""
    there = as_spark_has_it(exactly(path) if _is_there(path) else path)
    reader = spark.read.option("header", "true").option("columnNameOfCorruptRecord", MISFIT)
    inferred = reader.option("inferSchema", "true").format(form).load(there)
    without = FileRows(inferred.withColumn(MISFIT, F.lit(None).cast("string")), False)
    if form == "parquet":
        return without
    columns = [field for field in inferred.schema.fields if field.name != MISFIT]
    if not columns:
        raise PipelineError(f"no row of {path} is {form}: name another --format")
    # Only a reader whose schema has the column reports all lines that do not fit.
    wanted = StructType(columns).add(MISFIT, StringType())
    frame = (
        spark.read.schema(wanted)
        .option("header", "true")
        .option("columnNameOfCorruptRecord", MISFIT)
        .option("columnPruning", "false")
        .format(form)
        .load(there)
    )
    if form == "json":
        has_misfits = MISFIT in inferred.columns
    else:
        has_misfits = bool(frame.where(F.col(MISFIT).isNotNull()).take(1))
    return FileRows(frame, True) if has_misfits else without


def check_heads(path: str, wanted: list[str]) -> None:
    """Raise PipelineError if local files of CSV have other columns than the first of them, because
    Spark gives all files its columns, or if they lack a column of `wanted`."""
    first: list[str] = []
    for file in _files(path):
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            head = next(csv.reader(lines), [])
        if first and head != first and head:
            raise PipelineError(
                f"{file} has other columns in its first line than the files before it: replay them "
                "one by one"
            )
        first = first or head
    for name in wanted if first else ():
        if name not in first:
            raise PipelineError(
                f"there is no column {name} in these files: they have {', '.join(first)}"
            )


def _is_there(path: str) -> bool:
    """Return whether a local path exists as it is, so that it is no pattern."""
    return is_local(path) and local(path).exists()


def _files(path: str) -> list[Path]:
    there = _is_there(path)
    if not is_local(path) or ("{" in path and not there):
        return []
    files = []
    for entry in [local(path)] if there else sorted(map(Path, glob(str(local(path))))):
        below = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
        files += [file for file in below if file.is_file() and file.name[0] not in "._"]
    return [file for file in files if file.suffix not in _PACKED]

"""Rows of files of Parquet, JSON or CSV, and what in them is no row.

Spark cuts a line of CSV that has too many fields, and gives a broken line of JSON as a row with a
column of its own. Here each such line is text in the column `MISFIT`, and its row is nobody's. Owns
no file.
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
    """The frame has a column `MISFIT`: the line where it is no row, else null."""

    frame: DataFrame
    has_misfits: bool


def read_rows(spark: SparkSession, path: str, form: str) -> FileRows:
    """All rows of a file, a folder or a pattern. PipelineError where none is in this format."""
    there = as_spark_has_it(exactly(path) if _is_there(path) else path)
    reader = spark.read.option("header", "true").option("columnNameOfCorruptRecord", MISFIT)
    inferred = reader.option("inferSchema", "true").format(form).load(there)
    without = FileRows(inferred.withColumn(MISFIT, F.lit(None).cast("string")), False)
    if form == "parquet":
        return without
    columns = [field for field in inferred.schema.fields if field.name != MISFIT]
    if not columns:
        raise PipelineError(f"no row of {path} is {form}: name another --format")
    # Only what is read with a schema that names the column tells all lines that do not fit it.
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
        found = MISFIT in inferred.columns
    else:
        found = bool(frame.where(F.col(MISFIT).isNotNull()).take(1))
    return FileRows(frame, True) if found else without


def check_heads(path: str, wanted: list[str]) -> None:
    """PipelineError where files of CSV on this machine have other columns than the first of them,
    which Spark gives to all, or not those that are wanted."""
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
    """Whether a path of this machine is one as it stands, and no pattern."""
    return is_local(path) and local(path).exists()


def _files(path: str) -> list[Path]:
    there = _is_there(path)
    if not is_local(path) or ("{" in path and not there):
        return []
    found = []
    for one in [local(path)] if there else sorted(map(Path, glob(str(local(path))))):
        below = sorted(one.rglob("*")) if one.is_dir() else [one]
        found += [file for file in below if file.is_file() and file.name[0] not in "._"]
    return [file for file in found if file.suffix not in _PACKED]

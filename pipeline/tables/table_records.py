"""Rows of a table that the job `table` filled, as the records that they were: for the way back.

A value that was kept as bytes or text comes back as it was. One that became columns comes back as
JSON of them, with the names that its fields had, and as no value where all of them are null; a key
that became a column of another type as JSON, too. Functions of DataFrames alone.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType

_OWN = ("topic", "partition", "offset", "timestamp", "key", "headers")
_ADDED = ("date", "hour")
"""Of plain Parquet: its folders."""
_RENAMED = "value_"
_JSON = {"ignoreNullFields": "false"}


def records_of(rows: DataFrame, same_partitions: bool = False) -> DataFrame:
    """`key`, `value`, `headers`, `timestamp_ms`, `partition`, each partition in its order."""
    partition = F.col("partition") if same_partitions else F.lit(-1)
    ordered = rows.repartition("partition").sortWithinPartitions("partition", "offset")
    return ordered.select(
        bytes_of(rows, "key").alias("key"),
        value_of(rows).alias("value"),
        "headers",
        F.unix_millis("timestamp").alias("timestamp_ms"),
        partition.alias("partition"),
    )


def between(rows: DataFrame, start: str | None, end: str | None) -> DataFrame:
    """The records from one time to before another, by their timestamps."""
    if start is not None:
        rows = rows.where(F.col("timestamp") >= F.lit(start).cast("timestamp"))
    if end is not None:
        rows = rows.where(F.col("timestamp") < F.lit(end).cast("timestamp"))
    return rows


def value_of(rows: DataFrame) -> Column:
    """The bytes of a record's value."""
    typed = _typed(rows)
    if keeps_values(rows):
        return bytes_of(rows, "value")
    columns = [F.col(f"`{name}`") for name in typed]
    named = [column.alias(_field(name)) for column, name in zip(columns, typed, strict=True)]
    there = reduce(lambda left, right: left | right, (one.isNotNull() for one in columns))
    return F.when(there, F.to_json(F.struct(*named), _JSON).cast("binary"))


def keeps_values(rows: DataFrame) -> bool:
    """Whether values are there as they were: bytes or text."""
    kind = dict(rows.dtypes).get("value")
    return _typed(rows) == ["value"] and kind in ("binary", "string")


def _typed(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name not in (*_OWN, *_ADDED)]


def _field(column: str) -> str:
    """The name that a field had which has the name of one of the record's own columns."""
    field = column.removeprefix(_RENAMED)
    return field if field.lower() in (*_OWN, *_ADDED) else column


def bytes_of(rows: DataFrame, name: str) -> Column:
    """A column of bytes or text as bytes, another one as JSON."""
    kind: DataType = rows.schema[name].dataType
    if isinstance(kind, BinaryType | StringType):
        return F.col(name).cast("binary")
    return F.to_json(F.struct(F.col(name).alias(name)), _JSON).cast("binary")

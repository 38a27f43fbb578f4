"""The records of a table that the job `table` filled, which the job `replay` sends to a topic.

A value that was kept as bytes or text is the same again. A value that became columns becomes their
JSON, with the names of its fields, and no value if all of them are null; a key that became a column
of another type becomes JSON, too. `fields` maps each column to the name of its field; it is None if
values were kept as they were. A row of a table of dead letters has the record's bytes. Functions of
DataFrames alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from pipeline.record_times.bounded import own_headers, time_ms
from pipeline.tables.progress import DEAD_LETTERS, KEY, parsed
from pipeline.tables.table import quoted

_OWN = ("topic", "partition", "offset", "timestamp", "key", "headers")
_REASON = "reason"
"""The column that a table of dead letters has beside the record."""
AS_JSON = {
    "ignoreNullFields": "false",
    # Spark's own forms end with the milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
"""The options of `to_json` for texts that `table` reads as the same values."""


def records_of(
    rows: DataFrame, same_partitions: bool = False, fields: Mapping[str, str] | None = None
) -> DataFrame:
    """Return records with `key`, `value`, `headers`, `timestamp_ms` and `partition` (-1 without
    `same_partitions`), each partition in the order of its offsets."""
    partition = F.col("partition") if same_partitions else F.lit(-1)
    ordered = rows.repartition("partition").sortWithinPartitions("partition", "offset")
    return ordered.select(
        bytes_of(rows, "key").alias("key"),
        value_of(rows, fields).alias("value"),
        own_headers().alias("headers"),
        time_ms().alias("timestamp_ms"),
        partition.alias("partition"),
    )


def kept_records(
    rows: DataFrame, properties: Mapping[str, str], fields: Mapping[str, str] | None
) -> tuple[DataFrame, Mapping[str, str] | None]:
    """Return the rows and the `fields` of a table with these properties, as `records_of` takes
    both. A dead letter is the original record, without its reason."""
    progress = parsed(properties.get(KEY))
    if progress is None or progress.of != DEAD_LETTERS:
        return rows, fields
    return rows.drop(_REASON), None


def between(rows: DataFrame, start: str | None, end: str | None) -> DataFrame:
    """Return the rows with a timestamp from `start` to before `end`, both times as text in UTC or
    None."""
    at = F.col("timestamp")
    for text, is_in in ((start, Column.__ge__), (end, Column.__lt__)):
        if text is not None:
            bound = F.lit(text).cast("timestamp")
            # A time that the column cannot hold is a number in the headers.
            kept = at.isNull() & is_in(time_ms(), F.unix_millis(bound))
            rows = rows.where(is_in(at, bound) | kept)
    return rows


def value_of(rows: DataFrame, fields: Mapping[str, str] | None) -> Column:
    """Return the column with the bytes of a record's value."""
    if keeps_values(rows, fields):
        return bytes_of(rows, "value")
    names = {column: _field(column, fields or {}) for column in _typed(rows)}
    named = [F.col(quoted(column)).alias(field) for column, field in names.items()]
    there = reduce(
        lambda left, right: left | right, (F.col(quoted(column)).isNotNull() for column in names)
    )
    return F.when(there, F.to_json(F.struct(*named), AS_JSON).cast("binary"))


def _field(column: str, fields: Mapping[str, str]) -> str:
    # Plain Parquet has folders `date` and `hour`, so a column of that name has another name there.
    return fields.get(column, fields.get(column.removeprefix("value_"), column))


def keeps_values(rows: DataFrame, fields: Mapping[str, str] | None) -> bool:
    """Return whether values were kept as they were, as bytes or text."""
    return fields is None and _typed(rows) == ["value"] and keeps_bytes(rows, "value")


def keeps_bytes(rows: DataFrame, name: str) -> bool:
    """Return whether a column is of bytes or text."""
    return isinstance(rows.schema[name].dataType, BinaryType | StringType)


def bytes_of(rows: DataFrame, name: str) -> Column:
    """Return a column of bytes or text as bytes, another column as JSON."""
    kind: DataType = rows.schema[name].dataType
    if keeps_bytes(rows, name):
        return F.col(name).cast("binary")
    whole = F.col(name) if isinstance(kind, StructType) else F.struct(F.col(name).alias(name))
    return F.to_json(whole, AS_JSON).cast("binary")


def _typed(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name not in _OWN]

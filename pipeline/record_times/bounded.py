"""The time of a record in a table: a TIMESTAMP of the years 1 to 9999, else null.

The time of a record is any number of 64 bits, such as nanoseconds. If readers of tables cannot read
this time, the column is null, and a header after the record's own headers keeps the number.
Functions of DataFrames alone. The bounds and the header's key are those of
`log_format.records.record_times`, which a job from `--py-files pipeline.zip` does not have.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

TIME_HEADER = "ottla.timestamp.ms"
"""The key of the header with the time, whose value is the number in decimal digits."""
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last time of the column, in ms since the epoch."""
_HEADERS = "array<struct<key: string, value: binary>>"


def bounded(records: DataFrame, time_ms: Column) -> DataFrame:
    """Return records with `timestamp` as a table has it. `time_ms` has their times in ms since the
    epoch."""
    beyond = ~time_ms.between(FIRST_MS, LAST_MS)
    kept = F.struct(
        F.lit(TIME_HEADER).alias("key"), time_ms.cast("string").cast("binary").alias("value")
    )
    there = F.coalesce("headers", F.array().cast(_HEADERS))
    return records.withColumns(
        {
            "timestamp": F.when(~beyond, F.timestamp_millis(time_ms)),
            "headers": F.when(beyond, F.array_append(there, kept)).otherwise(F.col("headers")),
        }
    )


def time_ms() -> Column:
    """Return the time in ms that `bounded` was given, for rows with the columns `timestamp` and
    `headers`."""
    kept = F.filter("headers", _is_kept)
    number = F.try_element_at(kept, F.lit(-1))["value"].cast("string").try_cast("bigint")
    return F.coalesce(F.unix_millis("timestamp"), number)


def own_headers() -> Column:
    """Return the record's own headers, without the header of the time."""
    own = F.filter("headers", lambda header: ~_is_kept(header))
    return F.when(F.col("timestamp").isNull(), own).otherwise(F.col("headers"))


def _is_kept(header: Column) -> Column:
    return header["key"] == TIME_HEADER

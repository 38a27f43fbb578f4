"""The checks of call detail records: which records are good, and why others are rejected.

Pure transformations of frames that have the columns of Spark's Kafka source. Never reads a topic.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline import reasons
from pipeline.columns.times import FIRST_DAY, LAST_DAY
from pipeline.generator import KINDS

# Each field is read as text first, so that a bad value gives a reason, not a null.
_TEXTS = (
    "event_id STRING, kind STRING, event_time STRING, subscriber STRING, cell STRING, "
    "duration_s STRING, dropped STRING, bytes STRING, _corrupt STRING"
)
_WHOLE_NUMBER = r"^\d{1,15}$"
_AHEAD_MAX = "1 hour"


def checked(records: DataFrame, lateness: str) -> DataFrame:
    """Add the columns `event` (a struct of the fields) and `reason` (null if the record is good).

    `lateness` is an interval such as `15 minutes`. An event is rejected if it is older than its
    record's timestamp by more.
    """
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_corrupt"}
    text = F.col("value").cast("string")
    # Exploded, so that the filter on `reason` is not pushed below it: Spark would write the parsing
    # of the JSON into each of the filter's twenty places, and do it twenty times a record.
    parsed = F.explode(F.array(F.from_json(text, _TEXTS, options)))
    read = records.withColumn("_read", parsed)
    time = F.try_to_timestamp(F.col("_read.event_time"))
    return (
        read.withColumn("_time", time)
        .withColumn("reason", _reason(lateness))
        .withColumn(
            "event",
            F.struct(
                F.col("_read.event_id"),
                F.col("_read.kind"),
                F.col("_time").alias("event_time"),
                F.col("_read.subscriber"),
                F.col("_read.cell"),
                _whole("duration_s"),
                (F.col("_read.dropped") == "true").alias("dropped"),
                _whole("bytes"),
            ),
        )
        .drop("_read", "_time")
    )


def events(records: DataFrame, lateness: str) -> DataFrame:
    """Return the fields of the good records, a column each."""
    good = checked(records, lateness).where("reason IS NULL")
    return good.select("event.*")


def dead_letters(records: DataFrame, lateness: str) -> DataFrame:
    """Return the bad records as records for a topic: `key`, `value`, `headers`.

    The key is the place from which the record was read, so that a second write adds no second key.
    The header `key` holds the record's own key; the record's own headers follow.
    """
    place = F.concat_ws("-", "topic", "partition", "offset")
    own = [
        F.struct(F.lit("reason").alias("key"), F.col("reason").cast("binary").alias("value")),
        F.struct(F.lit("source").alias("key"), place.cast("binary").alias("value")),
        F.struct(F.lit("key").alias("key"), F.col("key").alias("value")),
    ]
    there = F.coalesce(F.col("headers"), F.array().cast("array<struct<key:string,value:binary>>"))
    return (
        checked(records, lateness)
        .where("reason IS NOT NULL")
        .select(
            place.cast("binary").alias("key"),
            "value",
            F.concat(F.array(*own), there).alias("headers"),
        )
    )


def _reason(lateness: str) -> Column:
    """Return the first reason for which a record is bad; null if the record is good."""
    field = F.col("_read")
    # Bounded by Spark's range, because an interval is added, and a record may have any time.
    first_day, last_day = (
        F.lit(f"{day}T00:00:00Z").cast("timestamp") for day in (FIRST_DAY, LAST_DAY)
    )
    arrived = F.greatest(first_day, F.least(F.col("timestamp"), last_day))
    wrong = (
        (F.col("value").isNull(), reasons.NO_VALUE),
        (field.isNull() | field["_corrupt"].isNotNull(), reasons.NOT_JSON),
        (_missing("event_id"), reasons.NO_EVENT_ID),
        (~_among("kind", *KINDS), reasons.UNKNOWN_KIND),
        (F.col("_time").isNull(), reasons.BAD_TIME),
        (_missing("subscriber"), reasons.NO_SUBSCRIBER),
        (_missing("cell"), reasons.NO_CELL),
        (~_is_whole("duration_s"), reasons.BAD_DURATION),
        (~_is_whole("bytes"), reasons.BAD_BYTES),
        (~_among("dropped", "true", "false"), reasons.BAD_DROPPED),
        (~F.col("key").cast("string").eqNullSafe(field["subscriber"]), reasons.WRONG_KEY),
        (F.col("_time") > arrived + F.expr(f"INTERVAL {_AHEAD_MAX}"), reasons.FUTURE),
        (F.col("_time") < arrived - F.expr(f"INTERVAL {lateness}"), reasons.TOO_LATE),
    )
    first, *others = wrong
    first_reason = F.when(first[0], first[1])
    for condition, reason in others:
        first_reason = first_reason.when(condition, reason)
    return first_reason


def _missing(name: str) -> Column:
    return F.coalesce(F.col(f"_read.{name}"), F.lit("")) == ""


def _among(name: str, *values: str) -> Column:
    return F.coalesce(F.col(f"_read.{name}"), F.lit("")).isin(*values)


def _is_whole(name: str) -> Column:
    return F.coalesce(F.col(f"_read.{name}"), F.lit("")).rlike(_WHOLE_NUMBER)


def _whole(name: str) -> Column:
    return F.col(f"_read.{name}").try_cast("bigint").alias(name)

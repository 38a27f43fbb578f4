"""Frames of a few records, as Spark's Kafka source has them, and the marks of tests on Spark.

Owns one good call detail record and the noon of its day. Never starts a session.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.columns.columns import Columns

ON_SPARK = [
    pytest.mark.spark,
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


def on_spark(test: Callable[..., None]) -> Callable[..., None]:
    """The same for one test."""
    for mark in ON_SPARK:
        test = mark(test)
    return test


NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
RECORD = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
GOOD = {
    "event_id": "e1",
    "kind": "call",
    "event_time": "2026-03-02T11:59:58.000Z",
    "subscriber": "S1",
    "cell": "C1",
    "duration_s": 60,
    "dropped": False,
    "bytes": 0,
}


def records(spark: SparkSession, *values: Any, key: bytes | None = b"S1") -> DataFrame:
    """A record for each value, of partition 0 of the topic `t`; JSON of what is not bytes."""
    rows = [
        (
            key,
            value if isinstance(value, bytes | None) else json.dumps(value).encode(),
            "t",
            0,
            n,
            NOON,
            None,
        )
        for n, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, RECORD)


def far_folder(spark: SparkSession, folder: Path) -> str:
    """The address of a folder by which it is no local one: a mount of Hadoop's `viewfs`."""
    name = f"far{abs(hash(folder))}"
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./there", f"file://{folder}")
    return f"viewfs://{name}/there"


def json_columns(schema: str, new_fields: str = "ignore") -> Columns:
    """Values of JSON by a schema in DDL, and keys as they are."""
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    return Columns(Json(parse_schema("x", schema), new_fields), Raw("key"))


def checked(columns: Columns, frame: DataFrame) -> DataFrame:
    """As the job has it: read once, whatever is asked of it then."""
    return columns.checked(frame).persist()


def split(columns: Columns, frame: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Rows and misfits."""
    return columns.split(checked(columns, frame))


def events(spark: SparkSession, *changes: dict[str, Any]) -> DataFrame:
    """Good events `e0`, `e1` …, each with some fields changed."""
    from pipeline import cdr

    values = [{**GOOD, "event_id": f"e{n}", **change} for n, change in enumerate(changes)]
    return cdr.events(records(spark, *values), "15 minutes")

"""The job `replay`: rows of files back into a topic, with keys, headers and timestamps kept.

Of a table that `load` wrote, each row is the record that it was. Of others (Parquet, JSON, CSV)
a row becomes JSON, and options name the columns of key and timestamp. The executors send through
`pipeline.sender`, because Spark's own sink sets no timestamps. At least once: a task of Spark that
is tried again sends its rows again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import errors, sender
from pipeline.errors import PipelineError
from pipeline.sender import NO_TIMESTAMP, Sender
from pipeline.spark import connection
from pipeline.tables.loaded_table import LoadedTable
from pipeline.topics import KEPT_FOR_EVER, Cluster

FORMATS = ("table", "parquet", "json", "csv")
PARTITIONS = 6
_HEADERS = "array<struct<key:string,value:binary>>"
_KEY_SEPARATOR = "|"
_FLUSH_EVERY = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    connection.add_arguments(parser)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="of a topic that is new")
    parser.add_argument(
        "--same-partitions", action="store_true", help="of a table: each record where it was"
    )
    add_file_arguments(parser)


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Which files, and how a row becomes a record; `audit` has the same."""
    group = parser.add_argument_group("the files")
    group.add_argument("--files", metavar="PATH", help="a file, a folder, a pattern or a URI")
    group.add_argument("--format", choices=FORMATS, default="table", help="table: as load wrote it")
    group.add_argument("--key", metavar="COLUMN,…", help="its value is the key of the record")
    group.add_argument("--timestamp", metavar="COLUMN", help="a time, or ms since 1970")
    group.add_argument("--order", metavar="COLUMN,…", help="rows of one key are sent in this order")


def check(options: argparse.Namespace) -> None:
    """What can be known before Spark starts; PipelineError for what is missing."""
    if options.files is None:
        raise PipelineError("replay: name the files with --files")
    Cluster(connection.connection_of(options)).cluster_id()


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Replay once; the exit code."""
    target = connection.connection_of(options)
    rows = read_records(spark, options, options.same_partitions)
    Cluster(target).ensure(options.topic, options.partitions, KEPT_FOR_EVER)
    # What the executors run goes to them by value: they need confluent-kafka, not this package.
    for module in (errors, sender, sys.modules[__name__]):
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    began = time.monotonic()
    send = _SendRows(target.client(), options.topic, options.same_partitions)
    sent = sum(rows.rdd.mapPartitions(send).collect())
    spent = time.monotonic() - began
    _say(f"{sent:,} records into {options.topic} in {spent:.1f} s, {sent / spent:,.0f}/s")
    return 0


def read_records(
    spark: SparkSession, options: argparse.Namespace, same_partitions: bool = False
) -> DataFrame:
    """The files as records: `key`, `value`, `headers`, `timestamp_ms`, `partition`."""
    if options.format == "table":
        table = LoadedTable(spark, options.files)
        if not table.exists():
            raise PipelineError(
                f"{options.files} is no table that load wrote: say --format parquet, json or csv"
            )
        return from_table(table.read(), same_partitions)
    reader = spark.read.option("header", "true").option("inferSchema", "true")
    frame = reader.format(options.format).load(options.files)
    if frame.columns == ["_corrupt_record"]:
        raise PipelineError(f"no row of {options.files} is {options.format}: name another --format")
    return from_rows(frame, _names(options.key), options.timestamp, _names(options.order))


def from_table(rows: DataFrame, same_partitions: bool = False) -> DataFrame:
    """Rows of a loaded table as the records that they were, each partition in its order."""
    partition = F.col("partition") if same_partitions else F.lit(-1)
    ordered = rows.repartition("partition").sortWithinPartitions("partition", "offset")
    return ordered.select(
        "key",
        "value",
        "headers",
        F.unix_millis("timestamp").alias("timestamp_ms"),
        partition.alias("partition"),
    )


def from_rows(
    frame: DataFrame, key: list[str], timestamp: str | None, order: list[str]
) -> DataFrame:
    """Any rows as records: the value is the whole row as JSON, nulls too.

    PipelineError for a column that is not there, or a timestamp that is none.
    """
    wanted = [*key, *([timestamp] if timestamp else []), *order]
    for name in wanted:
        if name not in frame.columns:
            raise PipelineError(
                f"there is no column {name} in these files: they have {', '.join(frame.columns)}"
            )
    if order:
        # Rows of one key in one task, in their order.
        by_key = frame.repartition(*key) if key else frame.coalesce(1)
        frame = by_key.sortWithinPartitions(*order)
    joined = F.concat_ws(_KEY_SEPARATOR, *key).cast("binary") if key else F.lit(None)
    value = F.to_json(F.struct(*(f"`{name}`" for name in frame.columns)), _JSON)
    return frame.select(
        joined.cast("binary").alias("key"),
        value.cast("binary").alias("value"),
        F.lit(None).cast(_HEADERS).alias("headers"),
        _millis(frame, timestamp).alias("timestamp_ms"),
        F.lit(-1).alias("partition"),
    )


_JSON = {"ignoreNullFields": "false"}


def _millis(frame: DataFrame, name: str | None) -> Any:
    if name is None:
        return F.lit(None).cast("bigint")
    kind = dict(frame.dtypes)[name]
    if kind in ("bigint", "int"):
        return F.col(name).cast("bigint")
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return F.unix_millis(F.col(name).cast("timestamp"))
    if kind == "string":
        return F.unix_millis(F.try_to_timestamp(F.col(name)))
    raise PipelineError(f"column {name} is of type {kind}: no timestamp can be read from it")


def _names(text: str | None) -> list[str]:
    return [name for name in (text or "").split(",") if name]


class _SendRows:
    """What an executor does with one partition of rows; yields how many were acknowledged."""

    def __init__(self, settings: Mapping[str, str], topic: str, same_partitions: bool) -> None:
        self._settings = settings
        self._topic = topic
        self._same_partitions = same_partitions

    def __call__(self, rows: Iterable[Any]) -> Iterator[int]:
        producer = Sender(self._settings, self._topic)
        for count, row in enumerate(rows, 1):
            producer.send(
                None if row.key is None else bytes(row.key),
                None if row.value is None else bytes(row.value),
                NO_TIMESTAMP if row.timestamp_ms is None else row.timestamp_ms,
                [(one.key, one.value and bytes(one.value)) for one in row.headers or ()],
                row.partition if self._same_partitions else -1,
            )
            if count % _FLUSH_EVERY == 0:
                producer.flush()
        producer.flush()
        yield producer.acknowledged


def _say(text: str) -> None:
    print(f"replay: {text}", file=sys.stderr, flush=True)

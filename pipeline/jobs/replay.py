"""The job `replay`: sends rows of files to a topic, with keys, headers and timestamps kept.

A row of a table that `table` or `load` wrote, as of a version or a time, is sent as the record that
it was; so is a row of a table of dead letters. A row of other files (Parquet, JSON, CSV) becomes
JSON, and options name the columns of key and timestamp. A line that is no row goes to the dead
letters as it is. The executors send the rows (`pipeline.row_sending`) at least once: if Spark runs
a task again, the task sends its rows again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import errors, row_sending, sender
from pipeline.columns.columns import KEY as COLUMNS_KEPT
from pipeline.columns.columns import field_names
from pipeline.errors import PipelineError
from pipeline.jobs.table import needs_of
from pipeline.options import check_table, check_there, is_local, names, place, topic, whole, word
from pipeline.row_sending import COLUMNS, SENT, SendRows
from pipeline.spark import connection
from pipeline.spark.session import Needs
from pipeline.tables import file_rows
from pipeline.tables.file_rows import MISFIT
from pipeline.tables.table import form_of, no_versions, open_table, quoted
from pipeline.tables.table_records import AS_JSON, between, kept_records, records_of
from pipeline.topics import KEPT_FOR_EVER, Cluster

TABLES = ("table", "delta", "iceberg")
FORMATS = (*TABLES, *file_rows.FORMATS)
PARTITIONS = 6
EXIT_MISFITS = 1
_HEADERS = "array<struct<key:string,value:binary>>"
_KEY_SEPARATOR = "|"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
    connection.add_arguments(parser)
    parser.add_argument(
        "--topic",
        type=topic,
        required=True,
        metavar="TOPIC",
        help="Send the records to this topic.",
    )
    parser.add_argument(
        "--partitions",
        type=whole(1),
        default=PARTITIONS,
        metavar="N",
        help="Create the topic, if it is missing, with N partitions. [default: %(default)s]",
    )
    parser.add_argument(
        "--dead-letters",
        type=topic,
        metavar="TOPIC",
        help="Send lines that are no row to this topic. [default: TOPIC-dead-letters]",
    )
    parser.add_argument(
        "--same-partitions",
        action="store_true",
        help="Send each record of a table to the partition from which it was read.",
    )
    add_file_arguments(parser)
    group = parser.add_argument_group("of a table")
    add_version_arguments(group)
    group.add_argument(
        "--from-time", type=moment, metavar="TIME", help="Send only records from TIME on."
    )
    group.add_argument(
        "--to-time", type=moment, metavar="TIME", help="Send only records before TIME."
    )


def add_version_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of a table's version. The job `audit` has them too."""
    group.add_argument(
        "--as-of-version",
        type=whole(0),
        metavar="N",
        help="Read version N of a Delta table, or the snapshot N of an Iceberg table.",
    )
    group.add_argument(
        "--as-of-time", type=moment, metavar="TIME", help="Read the table as it was at TIME."
    )


def check_version(options: argparse.Namespace, form: str, path: str) -> None:
    """Check the options of `add_version_arguments`. Raises PipelineError if both are given, or if
    the format `form` keeps no versions."""
    if options.as_of_version is not None and options.as_of_time is not None:
        raise PipelineError("give --as-of-version or --as-of-time, not both")
    if is_as_of(options) and form == "parquet":
        if not is_local(path):
            raise PipelineError(f"{path}: say which format it has; plain Parquet keeps no versions")
        raise no_versions(path)


def is_as_of(options: argparse.Namespace) -> bool:
    """Return whether the options name a version or a time of the table."""
    return options.as_of_version is not None or options.as_of_time is not None


def version_of(options: argparse.Namespace) -> tuple[str | None, str | None]:
    """Return the version and the time that the options name, as `Table.read` takes them."""
    version = options.as_of_version
    return None if version is None else str(version), options.as_of_time


def needs(options: argparse.Namespace) -> Needs:
    """Return the jars, extensions and catalogs of the table's format."""
    return needs_of([table_form(options)] if options.format in TABLES else [], options)


def moment(text: str) -> str:
    """Return a time in ISO 8601 as a time in UTC that Spark and the tables' formats can read.

    A time without a zone is in UTC. Raises ArgumentTypeError if the text is no time.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time such as 2026-03-02T12:00:00"
        ) from error
    at = parsed.replace(tzinfo=parsed.tzinfo or UTC).astimezone(UTC)
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")


def table_form(options: argparse.Namespace) -> str:
    """Return the format of `--files`: as `--format` says, or else by the files, or else Parquet."""
    if options.format != "table":
        return str(options.format)
    return form_of(options.files) or "parquet"


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the files and of their records. The job `audit` has them too."""
    group = parser.add_argument_group("the files")
    add = group.add_argument
    add("--files", type=place, metavar="PATH", help="Read this file, folder, pattern or URI.")
    add(
        "--format",
        choices=FORMATS,
        default="table",
        help="Read files of this format; table: a table that the job table or load wrote. "
        "[default: %(default)s]",
    )
    add("--key", type=names, metavar="COLUMN,…", help="Take the key from these columns.")
    add("--timestamp", type=word, metavar="COLUMN", help="Take the time from this column.")
    add("--order", type=names, metavar="COLUMN,…", help="Sort rows by these columns.")


def check(options: argparse.Namespace) -> None:
    """Check what can be known before Spark starts. Raises PipelineError if an option does not fit,
    if files are missing, or if the cluster does not answer."""
    if options.files is None:
        raise PipelineError("replay: name the files with --files")
    check_files(options)
    if options.same_partitions and options.format not in TABLES:
        raise PipelineError("--same-partitions is of a table: other rows had no partition")
    _check_times(options)
    if dead_letters_of(options) == options.topic:
        raise PipelineError("replay: --topic and --dead-letters are two topics")
    target = connection.connection_of(options)
    target.client()  # raises if the executors cannot send with these settings
    Cluster(target).cluster_id()


def check_files(options: argparse.Namespace) -> None:
    """Check the options of `add_file_arguments`. Raises PipelineError if they do not fit, or if
    files are missing."""
    columns = [*_names(options.key), *_names(options.timestamp), *_names(options.order)]
    if options.format in TABLES and columns:
        raise PipelineError(
            "--key, --timestamp and --order are of --format parquet, json or csv: a row of a table "
            "is the record that it was"
        )
    check_there("--files", options.files)
    if options.format in TABLES:
        check_table("--files", options.files)
    if options.format == "csv":
        file_rows.check_heads(options.files, columns)


def dead_letters_of(options: argparse.Namespace) -> str:
    """Return the topic for lines that are no rows."""
    return options.dead_letters or f"{options.topic}-dead-letters"


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Replay once, and return the exit code: 1 if lines were no rows."""
    target, dead_letters = connection.connection_of(options), dead_letters_of(options)
    rows, has_misfits = _records_of(spark, options, options.same_partitions)
    cluster = Cluster(target)
    cluster.ensure(options.topic, options.partitions, KEPT_FOR_EVER)
    if has_misfits:
        cluster.ensure(dead_letters, options.partitions, KEPT_FOR_EVER)
    topic_id = cluster.topic_id(options.topic)
    # The executors get this code by value: they need confluent-kafka, not this package.
    for module in (errors, sender, row_sending):
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    began = time.monotonic()
    send = SendRows(
        target.client(), options.topic, dead_letters, options.same_partitions, options.files
    )
    done = rows.select(*COLUMNS).mapInArrow(send, SENT).collect()
    sent, refused = sum(part.sent for part in done), sum(part.refused for part in done)
    spent = time.monotonic() - began
    cluster.check_kept(options.topic, topic_id)
    _say(f"{sent:,} records into {options.topic} in {spent:.1f} s, {sent / spent:,.0f}/s")
    if not refused:
        return 0
    lines = "1 line is no row" if refused == 1 else f"{refused:,} lines are no rows"
    _say(f"{lines} of the others' form: in {dead_letters}, with the reason")
    return EXIT_MISFITS


def read_records(
    spark: SparkSession, options: argparse.Namespace, same_partitions: bool = False
) -> DataFrame:
    """Return the files as records: `key`, `value`, `headers`, `timestamp_ms`, `partition`."""
    return _records_of(spark, options, same_partitions)[0].where("misfit IS NULL").drop("misfit")


def _records_of(
    spark: SparkSession, options: argparse.Namespace, same_partitions: bool
) -> tuple[DataFrame, bool]:
    """Return the records with the column `misfit`, and whether there are misfits."""
    if options.format in TABLES:
        rows, fields = table_rows(spark, options)
        records = records_of(rows, same_partitions, fields)
        return records.withColumn("misfit", F.lit(None).cast("string")), False
    files = file_rows.read_rows(spark, options.files, options.format)
    key, order = _names(options.key), _names(options.order)
    return from_rows(files.frame, key, options.timestamp, order), files.has_misfits


def table_rows(
    spark: SparkSession, options: argparse.Namespace
) -> tuple[DataFrame, Mapping[str, str] | None]:
    """Return the rows of the version and the times that the options name, and the field of each
    column, as `records_of` takes both. An audit names no times.

    Raises PipelineError if there is no table.
    """
    form = table_form(options)
    table = open_table(spark, form, options.files)
    if not table.exists():
        raise PipelineError(
            f"{options.files} is no table that table or load wrote: say --format delta, iceberg, "
            "parquet, json or csv"
        )
    given, properties = vars(options), table.properties()
    rows = between(table.read(*version_of(options)), given.get("from_time"), given.get("to_time"))
    return kept_records(rows, properties, field_names(properties.get(COLUMNS_KEPT)))


def _check_times(options: argparse.Namespace) -> None:
    given = [options.as_of_version, options.as_of_time, options.from_time, options.to_time]
    if any(value is not None for value in given) and options.format not in TABLES:
        raise PipelineError("--as-of-version, --as-of-time, --from-time and --to-time: of a table")
    if options.format in TABLES:
        check_version(options, table_form(options), options.files)


def from_rows(
    frame: DataFrame, key: list[str], timestamp: str | None, order: list[str]
) -> DataFrame:
    """Return any rows as records. The value is the whole row as JSON, with nulls. A line that is no
    row is text in `misfit`.

    Raises PipelineError if a column is missing, or if no timestamp can be read from its type.
    """
    wanted = [*key, *([timestamp] if timestamp else []), *order]
    columns = [name for name in frame.columns if name != MISFIT]
    for name in wanted:
        if name not in columns:
            raise PipelineError(
                f"there is no column {name} in these files: they have {', '.join(columns)}"
            )
    misfit = F.col(MISFIT) if MISFIT in frame.columns else F.lit(None).cast("string")
    if order:
        # All rows of a key are in one task, sorted.
        by_key = frame.repartition(*map(quoted, key)) if key else frame.coalesce(1)
        frame = by_key.sortWithinPartitions(*map(quoted, order))
    joined = F.concat_ws(_KEY_SEPARATOR, *map(quoted, key)).cast("binary") if key else F.lit(None)
    value = F.to_json(F.struct(*map(quoted, columns)), AS_JSON)
    return frame.select(
        joined.cast("binary").alias("key"),
        value.cast("binary").alias("value"),
        F.lit(None).cast(_HEADERS).alias("headers"),
        _millis(frame, timestamp).alias("timestamp_ms"),
        F.lit(-1).alias("partition"),
        misfit.alias("misfit"),
    )


def _millis(frame: DataFrame, name: str | None) -> Any:
    if name is None:
        return F.lit(None).cast("bigint")
    kind = dict(frame.dtypes)[name]
    if kind in ("bigint", "int"):
        return F.col(quoted(name)).cast("bigint")
    if kind in ("timestamp", "timestamp_ntz", "date"):
        return F.unix_millis(F.col(quoted(name)).cast("timestamp"))
    if kind == "string":
        return F.unix_millis(F.try_to_timestamp(F.col(quoted(name))))
    raise PipelineError(f"column {name} is of type {kind}: no timestamp can be read from it")


def _names(text: str | None) -> list[str]:
    return [name for name in (text or "").split(",") if name]


def _say(text: str) -> None:
    print(f"replay: {text}", file=sys.stderr, flush=True)

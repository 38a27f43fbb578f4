"""A Delta table that the job `table` fills: rows and offsets in one commit of its log.

A commit carries the job's transaction (`txnAppId`, `txnVersion`) and its progress as
`userMetadata`. Delta rejects or skips a second transaction of the same number. The job reads its
progress from the history. If the log has been cleaned, it reads the table's properties and the rows
themselves. Uses SQL and DataFrames alone. Source: the Delta protocol's "Transaction Identifiers"
and "Commit Provenance Information".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from pipeline.options import as_spark_has_it, exactly
from pipeline.tables.column_changes import Growth
from pipeline.tables.progress import Progress, farthest, parsed
from pipeline.tables.sql_table import SqlTable
from pipeline.tables.table import (
    Size,
    another_writer,
    as_of,
    columns_of,
    forgotten,
    quoted,
    says,
)

PACKAGES = ("io.delta:delta-spark_2.13:4.0.0",)
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
# Delta reads the state of a table in fifty tasks, and VACUUM lists files in ten thousand: on a
# laptop, starting a task costs more than its work.
LOCAL_SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}

_ABSENT = ("DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND")
_CONFLICT = ("DELTA_CONCURRENT", "DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED")
# Column mapping gives columns other names in Delta's files if Parquet must not have theirs.
_MAPPED = "delta.columnMapping.mode"
_MAPPING = {_MAPPED: "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
_MAPPING_READERS = (
    "Spark and DuckDB read such a table, "
    "deltalake 1.6 reads every column as null, polars refuses it"
)
_WIDENS = "delta.enableTypeWidening"
_WIDENING_READERS = (
    "Spark with Delta 4 and DuckDB read such a table, deltalake 1.6 and polars refuse it"
)
_LAST_OF_PLANE = "\uffff"
_BARE = re.compile(r"[^ ,;{}()\n\t=]*")
_OF_COMMIT = ("version", "operation", "operationParameters", "operationMetrics", "userMetadata")
_HISTORY_FIRST, _HISTORY_ALL = 50, 1_000_000
# OPTIMIZE leaves files of at least this share of the target as they are.
_FULL = 0.75
# Once clustered by time, a group of so many files of the target's size stays as it is.
_CUBE = 4


class DeltaTable(SqlTable):
    """The Delta table in the folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str, say: Callable[[str], None] = print) -> None:
        path = path.rstrip("/")
        place = as_spark_has_it(path)
        super().__init__(spark, path, place, f"delta.{quoted(place)}", say)

    def exists(self) -> bool:
        """Return whether a Delta table is in the folder."""
        try:
            return self._spark.catalog.tableExists(self._name)
        except Exception as error:
            if says(error, _ABSENT):
                return False
            raise

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Make an empty table, clustered by time."""
        odd = odd_name(schema)
        if odd is not None:
            self._say_of_mapping(odd)
            properties = {**properties, **_MAPPING}
        by_time = "CLUSTER BY (`timestamp`)"
        if all(character <= _LAST_OF_PLANE for character in columns_of(schema)):
            self._create(schema, f"delta {by_time}", properties, _CONFLICT)
        else:
            # After such a name, Delta looks for CLUSTER BY at the wrong place of the statement.
            self._create(schema, "delta", properties, _CONFLICT)
            self._sql(f"ALTER TABLE {self._name} {by_time}")

    def progress(self) -> Progress | None:
        """Return the progress in the newest commit that has one; without any, that of properties
        and rows. Return None without a table. Raises PipelineError for a table that this job did
        not make."""
        if not self.exists():
            return None
        for limit in (_HISTORY_FIRST, _HISTORY_ALL):
            history = self._history(limit)
            progress = newest(history)
            if progress is not None:
                return progress
            if len(history) < limit:
                break
        return self._of_rows()

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows in one commit of Delta, and return their number. Raises PipelineError if another
        writer made the commit."""
        odd = odd_name(rows.schema)
        if odd is not None and _MAPPED not in self.properties():
            self._say_of_mapping(odd)
            self.remember(_MAPPING)
        rows = self._adapt(rows, progress.run, _CONFLICT)
        writer = rows.write.format("delta").mode("append").option("mergeSchema", "true")
        writer = writer.option("txnAppId", progress.owner).option("txnVersion", progress.run)
        try:
            writer.option("userMetadata", progress.text()).save(self._place)
        except Exception as error:
            if says(error, _CONFLICT):
                raise another_writer(self.path, progress.run) from error
            raise
        # If a transaction is in the log already, Delta skips its rows without an error.
        for commit in self._history(_HISTORY_FIRST):
            kept = parsed(commit.userMetadata)
            if kept is not None and kept.writer == progress.writer:
                return int((commit.operationMetrics or {}).get("numOutputRows") or 0)
        raise another_writer(self.path, progress.run)

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """Return the progress of all commits in the history, oldest first, up to the present
        version or the given one."""
        history = self._history(_HISTORY_ALL)
        if version is not None or time is not None:
            wanted = self._as_of(version, time)
            history = [row for row in history if row.version <= wanted]
        commits: list[Progress] = []
        for row in lineage(history):
            progress = parsed(row.userMetadata)
            if progress is not None:
                commits.append(progress)
        return commits[::-1]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Return the rows, of a version or a time by Delta's time travel. Raises PipelineError if
        the version is not in the history or its files were deleted."""
        reader = self._spark.read.format("delta")
        if version is None and time is None:
            return reader.load(self._place)
        wanted = self._as_of(version, time)
        rows = reader.option("versionAsOf", str(wanted)).load(self._place)
        self._check_files(rows, wanted)
        return rows

    def size(self) -> Size:
        """Return the size of the present version, from the table's log."""
        (row,) = self._sql(f"DESCRIBE DETAIL {self._name}").collect()
        return Size(row.numFiles, row.sizeInBytes)

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Merge small files by OPTIMIZE into files of about `target_bytes`. OPTIMIZE clusters by
        time the files that are not yet in a group that is large enough; with `everything`, all
        files."""
        for key, size in {
            "maxFileSize": target_bytes,
            "minFileSize": int(target_bytes * _FULL),
            "clustering.mergeStrategy.minCubeSize.threshold": _CUBE * target_bytes,
            "clustering.mergeStrategy.minCubeSize.targetCubeSize": 2 * _CUBE * target_bytes,
        }.items():
            self._spark.conf.set(f"spark.databricks.delta.optimize.{key}", str(size))
        self._sql(f"OPTIMIZE {self._name}{' FULL' if everything else ''}").collect()

    def forget(self, days: int) -> None:
        """Delete by VACUUM the files that only versions older than `days` days have."""
        key = "spark.databricks.delta.retentionDurationCheck.enabled"
        self._spark.conf.set(key, "false")
        self._sql(f"VACUUM {self._name} RETAIN {days * 24} HOURS").collect()

    def _say_of_mapping(self, name: str) -> None:
        self._say(
            f"{self.path}: the name {name!r} switches on Delta's column mapping for all columns: "
            f"{_MAPPING_READERS}; a --schema without the name, or --to iceberg, needs no mapping"
        )

    def _before_growth(self) -> None:
        if self.properties().get(_WIDENS) != "true":
            self.remember({_WIDENS: "true"})

    def _say_of_growth(self, growth: Growth) -> None:
        self._say(f"{self.path}: {growth}, by Delta's type widening: {_WIDENING_READERS}")

    def _as_of(self, version: str | None, time: str | None) -> int:
        times = F.unix_micros("timestamp").alias("at")
        history = self._sql(f"DESCRIBE HISTORY {self._name}").select("version", times).collect()
        made = [(row.version, row.at) for row in reversed(history)]
        return as_of(self.path, made, version, time)

    def _check_files(self, rows: DataFrame, version: int) -> None:
        """Raise PipelineError if VACUUM has deleted files of a version, which the log still has."""
        paths = [exactly(file) for file in rows.inputFiles()]
        try:
            if paths:
                self._spark.read.format("binaryFile").load(paths)
        except Exception as error:
            if says(error, ("PATH_NOT_FOUND",)):
                raise forgotten(self.path, version) from error
            raise

    def _last_run(self, kept: Progress) -> int:
        """Return the number of the job's last transaction in the checkpoints of the log, 0 if there
        is none."""
        try:
            files = f"{exactly(self._place)}/_delta_log/*.checkpoint*.parquet"
            log = self._spark.read.parquet(files)
            ours = log.where(F.col("txn.appId") == kept.owner)
            (row,) = ours.agg(F.max("txn.version").alias("run")).collect()
        except Exception as error:
            if says(error, (*_ABSENT, "UNRESOLVED_COLUMN", "UNABLE_TO_INFER_SCHEMA")):
                return 0
            raise
        return int(row.run or 0)

    def _history(self, limit: int) -> list[Row]:
        """Return the newest `limit` commits, newest first."""
        history = self._sql(f"DESCRIBE HISTORY {self._name} LIMIT {limit}")
        return history.select(*_OF_COMMIT).collect()


def odd_name(kind: DataType) -> str | None:
    """Return the first name of a column, or of a field inside one, that Parquet files of a Delta
    table cannot have; None if there is none."""
    if isinstance(kind, StructType):
        for field in kind:
            if not _BARE.fullmatch(field.name):
                return field.name
            if (odd := odd_name(field.dataType)) is not None:
                return odd
    elif isinstance(kind, ArrayType):
        return odd_name(kind.elementType)
    elif isinstance(kind, MapType):
        return odd_name(kind.valueType)
    return None


def newest(history: Sequence[Row]) -> Progress | None:
    """Return the progress of the present version, None if no commit has any. Its run is the
    greatest in the history, also of commits that a RESTORE reverted, because Delta keeps the number
    of the transaction."""
    commits = [kept for kept in (parsed(row.userMetadata) for row in history) if kept is not None]
    for row in lineage(history):
        progress = parsed(row.userMetadata)
        if progress is not None:
            return farthest(progress, {}, max(kept.run for kept in commits))
    return None


def lineage(history: Sequence[Row]) -> list[Row]:
    """Return the commits of the present version, newest first, without those that a RESTORE
    reverted, and without those before the table was replaced."""
    commits = []
    below: int | None = None
    for row in history:
        if below is not None and row.version > below:
            continue
        commits.append(row)
        if row.operation == "RESTORE":
            below = int(row.operationParameters.get("version") or -1)
        if "REPLACE" in row.operation:
            break
    return commits

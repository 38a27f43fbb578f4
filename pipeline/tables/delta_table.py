"""A Delta table that the job `table` fills: rows and offsets in one commit of its log.

A commit carries the job's transaction (`txnAppId`, `txnVersion`), which a second one of the same
number makes Delta refuse or skip, and its progress as `userMetadata`. It is found again in the
history; where the log has been cleaned, in the table's properties and the rows themselves. SQL and
DataFrames alone. Source: the Delta protocol's "Transaction Identifiers" and "Commit Provenance
Information".
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
# The state of a table is read in fifty tasks, and VACUUM lists files in ten thousand: on a laptop
# each costs more than it does.
LOCAL_SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}

_ABSENT = ("DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND")
_CONFLICT = ("DELTA_CONCURRENT", "DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED")
# Delta's files have names of their own for columns, where Parquet is not to have those.
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
# Files of at least this share of the target are left as they are.
_FULL = 0.75
# So many files of the target's size, once clustered by time, are not touched again.
_CUBE = 4


class DeltaTable(SqlTable):
    """The folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str, say: Callable[[str], None] = print) -> None:
        path = path.rstrip("/")
        place = as_spark_has_it(path)
        super().__init__(spark, path, place, f"delta.{quoted(place)}", say)

    def exists(self) -> bool:
        """Whether a Delta table lies there."""
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
            # Behind such a name Delta looks for CLUSTER BY at the wrong place of the statement.
            self._create(schema, "delta", properties, _CONFLICT)
            self._sql(f"ALTER TABLE {self._name} {by_time}")

    def progress(self) -> Progress | None:
        """As the newest commit tells; else as the properties and the rows do."""
        if not self.exists():
            return None
        for limit in (_HISTORY_FIRST, _HISTORY_ALL):
            history = self._history(limit)
            found = newest(history)
            if found is not None:
                return found
            if len(history) < limit:
                break
        return self._of_rows()

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows in one commit of Delta; return how many."""
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
        # Of a transaction that is there already Delta skips the rows and says nothing.
        for commit in self._history(_HISTORY_FIRST):
            kept = parsed(commit.userMetadata)
            if kept is not None and kept.writer == progress.writer:
                return int((commit.operationMetrics or {}).get("numOutputRows") or 0)
        raise another_writer(self.path, progress.run)

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """All that the history has, up to the present version or the one that is asked for."""
        history = self._history(_HISTORY_ALL)
        if version is not None or time is not None:
            wanted = self._as_of(version, time)
            history = [one for one in history if one.version <= wanted]
        found: list[Progress] = []
        for one in lineage(history):
            said = parsed(one.userMetadata)
            if said is not None:
                found.append(said)
        return found[::-1]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Delta's time travel; after the last commit it is the table as it is."""
        reader = self._spark.read.format("delta")
        if version is None and time is None:
            return reader.load(self._place)
        wanted = self._as_of(version, time)
        rows = reader.option("versionAsOf", str(wanted)).load(self._place)
        self._check_files(rows, wanted)
        return rows

    def size(self) -> Size:
        """From its log."""
        (row,) = self._sql(f"DESCRIBE DETAIL {self._name}").collect()
        return Size(row.numFiles, row.sizeInBytes)

    def merge(self, target_bytes: int, everything: bool) -> None:
        """OPTIMIZE: clusters by time what is not yet in a group of files that is large enough."""
        for key, size in {
            "maxFileSize": target_bytes,
            "minFileSize": int(target_bytes * _FULL),
            "clustering.mergeStrategy.minCubeSize.threshold": _CUBE * target_bytes,
            "clustering.mergeStrategy.minCubeSize.targetCubeSize": 2 * _CUBE * target_bytes,
        }.items():
            self._spark.conf.set(f"spark.databricks.delta.optimize.{key}", str(size))
        self._sql(f"OPTIMIZE {self._name}{' FULL' if everything else ''}").collect()

    def forget(self, days: int) -> None:
        """VACUUM."""
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
        """The log remembers versions whose files VACUUM has deleted."""
        paths = [exactly(one) for one in rows.inputFiles()]
        try:
            if paths:
                self._spark.read.format("binaryFile").load(paths)
        except Exception as error:
            if says(error, ("PATH_NOT_FOUND",)):
                raise forgotten(self.path, version) from error
            raise

    def _last_run(self, known: Progress) -> int:
        """The job's transaction as the log's checkpoints hold it; 0 where there is none."""
        try:
            files = f"{exactly(self._place)}/_delta_log/*.checkpoint*.parquet"
            log = self._spark.read.parquet(files)
            ours = log.where(F.col("txn.appId") == known.owner)
            (row,) = ours.agg(F.max("txn.version").alias("run")).collect()
        except Exception as error:
            if says(error, (*_ABSENT, "UNRESOLVED_COLUMN", "UNABLE_TO_INFER_SCHEMA")):
                return 0
            raise
        return int(row.run or 0)

    def _history(self, limit: int) -> list[Row]:
        """Newest first."""
        found = self._sql(f"DESCRIBE HISTORY {self._name} LIMIT {limit}")
        return found.select(*_OF_COMMIT).collect()


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
    """What the present version holds. Runs are counted on over those that a RESTORE took back:
    Delta keeps the transaction's number."""
    taken = [one for one in (parsed(row.userMetadata) for row in history) if one is not None]
    for row in lineage(history):
        found = parsed(row.userMetadata)
        if found is not None:
            return farthest(found, {}, max(one.run for one in taken))
    return None


def lineage(history: Sequence[Row]) -> list[Row]:
    """The commits of the present version, newest first: without those that a RESTORE took back,
    nor those before the table was made anew."""
    found = []
    below: int | None = None
    for row in history:
        if below is not None and row.version > below:
            continue
        found.append(row)
        if row.operation == "RESTORE":
            below = int(row.operationParameters.get("version") or -1)
        if "REPLACE" in row.operation:
            break
    return found

"""An Iceberg table that the job `table` fills: rows and offsets in one snapshot.

A run's snapshot is staged under the run's number as `wap.id`, with its progress among its
properties, and then published: Iceberg publishes a number once, so a second writer is refused.
Progress is found again among the ancestors of the present snapshot; where those have expired, in
the table's properties and the rows themselves. A table is a folder of a Hadoop catalog, which is
that folder's parent. SQL and DataFrames alone. Source: Iceberg's `WapUtil`, `CherryPickOperation`.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.options import as_spark_has_it
from pipeline.tables.progress import KEY, Progress, parsed
from pipeline.tables.sql_table import SqlTable
from pipeline.tables.table import Size, another_writer, as_of, literal, quoted, says

PACKAGES = ("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",)
SETTINGS = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}

LOCAL_SETTINGS: dict[str, str] = {}

_WAP = "spark.wap.id"
_CONFLICT = (
    "DuplicateWAPCommitException",
    "CommitFailedException",
    "AlreadyExistsException",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
)
_PROPERTIES = {
    "write.wap.enabled": "true",
    "write.spark.accept-any-schema": "true",
    "write.metadata.delete-after-commit.enabled": "true",
}


class IcebergTable(SqlTable):
    """The folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str, say: Callable[[str], None] = print) -> None:
        path = path.rstrip("/")
        place = as_spark_has_it(path)
        parent, _, name = place.rpartition("/")
        warehouse = f"{parent}/" if parent.endswith((":", "/")) else parent
        self._catalog = f"ottla_{hashlib.sha256(warehouse.encode()).hexdigest()[:12]}"
        super().__init__(spark, path, place, f"{self._catalog}.{quoted(name)}", say)
        self._argument = literal(quoted(name))
        for key, value in {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "hadoop",
            ".warehouse": warehouse,
            ".cache-enabled": "false",
        }.items():
            spark.conf.set(f"spark.sql.catalog.{self._catalog}{key}", value)

    def exists(self) -> bool:
        """Whether an Iceberg table lies there."""
        return self._spark.catalog.tableExists(self._name)

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """An empty table."""
        self._create(schema, "iceberg", {**_PROPERTIES, **properties}, _CONFLICT)

    def progress(self) -> Progress | None:
        """As the newest snapshot tells; else as the properties and the rows do."""
        if not self.exists():
            return None
        snapshots = self._snapshots()
        for one in lineage(snapshots, self._head()):
            found = said(one, snapshots)
            if found is not None:
                return found
        return self._of_rows()

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows in one snapshot, which is staged, then published; return how many."""
        rows = self._adapt(rows, progress.run, _CONFLICT)
        with self._staging(f"{progress.owner}:{progress.run}"):
            writer = rows.writeTo(self._name).option("mergeSchema", "true")
            writer = writer.option("check-ordering", "false")  # by name
            writer.option(f"snapshot-property.{KEY}", progress.text()).append()
        before = self.progress()
        if before is None or before.run >= progress.run:
            raise another_writer(self.path, progress.run)
        ((ours, summary),) = (
            (number, snapshot.summary)
            for number, snapshot in self._snapshots().items()
            if snapshot.summary.get(KEY) == progress.text()
        )
        try:
            self._call("cherrypick_snapshot", snapshot_id=str(ours))
        except Exception as error:
            if says(error, _CONFLICT):
                raise another_writer(self.path, progress.run) from error
            raise
        return int(summary.get("added-records") or 0)

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """All that have not expired, up to the present snapshot or the one that is asked for."""
        snapshots = self._snapshots()
        now = version is None and time is None
        head = self._head() if now else self._as_of(version, time)
        told = (said(one, snapshots) for one in lineage(snapshots, head))
        return [one for one in told if one is not None][::-1]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Iceberg's time travel; a version is a snapshot's id."""
        what = self._name
        if version is not None or time is not None:
            what += f" VERSION AS OF {self._as_of(version, time)}"
        return self._sql(f"SELECT * FROM {what}")  # noqa: S608 - quoted

    def size(self) -> Size:
        """From its manifests."""
        files = self._spark.table(f"{self._name}.files")
        of_all = F.coalesce(F.sum("file_size_in_bytes"), F.lit(0)).alias("size")
        (row,) = files.agg(F.count(F.lit(1)).alias("files"), of_all).collect()
        return Size(row.files, row["size"])

    def merge(self, target_bytes: int, everything: bool) -> None:
        """rewrite_data_files: what it takes is sorted by time."""
        options = {
            "target-file-size-bytes": str(target_bytes),
            "min-input-files": "2",
            "rewrite-all": "true" if everything else "false",
        }
        listed = ", ".join(literal(word) for pair in options.items() for word in pair)
        chosen = {"strategy": literal("sort"), "sort_order": literal("timestamp")}
        self._call("rewrite_data_files", options=f"map({listed})", **chosen)
        self._call("rewrite_manifests")

    def forget(self, days: int) -> None:
        """expire_snapshots: those staged and never published, too."""
        before = datetime.now(UTC) - timedelta(days=days)
        self._call("expire_snapshots", older_than=f"TIMESTAMP {literal(f'{before:%F %T}')}")

    def _as_of(self, version: str | None, time: str | None) -> int:
        made = F.unix_micros("made_current_at").alias("at")
        history = self._spark.table(f"{self._name}.history").select("snapshot_id", made)
        kept = sorted(history.collect(), key=lambda row: int(row.at))
        return as_of(self.path, [(row.snapshot_id, row.at) for row in kept], version, time)

    @contextlib.contextmanager
    def _staging(self, number: str) -> Iterator[None]:
        self._spark.conf.set(_WAP, number)
        try:
            yield
        finally:
            self._spark.conf.unset(_WAP)

    def _last_run(self, known: Progress) -> int:
        return last_run(lineage(self._snapshots(), self._head()))

    def _head(self) -> int | None:
        refs = self._spark.table(f"{self._name}.refs").where("name = 'main'").collect()
        return refs[0].snapshot_id if refs else None

    def _snapshots(self) -> dict[int, Row]:
        found = self._spark.table(f"{self._name}.snapshots")
        rows = found.select("snapshot_id", "parent_id", "summary").collect()
        return {row.snapshot_id: row for row in rows}

    def _call(self, procedure: str, **arguments: str) -> None:
        given = {"table": self._argument, **arguments}
        listed = ", ".join(f"{name} => {value}" for name, value in given.items())
        self._sql(f"CALL {self._catalog}.system.{procedure}({listed})").collect()


def lineage(snapshots: Mapping[int, Row], head: int | None) -> Sequence[Row]:
    """The present snapshot and its ancestors, newest first, as far as they are there."""
    found = []
    while head is not None and (one := snapshots.get(head)) is not None:
        found.append(one)
        head = one.parent_id
    return found


def said(one: Row, snapshots: Mapping[int, Row]) -> Progress | None:
    """The progress of a snapshot, or of the staged one that it published."""
    source = one.summary.get("source-snapshot-id")
    if source is not None and int(source) in snapshots:
        return parsed(snapshots[int(source)].summary.get(KEY))
    return parsed(one.summary.get(KEY))


def last_run(snapshots: Sequence[Row]) -> int:
    """The greatest run that these published, which their `wap.id` ends in; 0 where none did."""
    numbers = (
        str(one.summary.get(key) or "").rpartition(":")[2]
        for one in snapshots
        for key in ("wap.id", "published-wap-id")
    )
    return max((int(one) for one in numbers if one.isdigit()), default=0)

"""An Iceberg table that the job `table` fills: rows and offsets in one snapshot.

A run's snapshot is staged under the run's number as `wap.id`, with its progress among its
properties, and then published: Iceberg publishes a number once, so a second writer is rejected. The
job reads its progress from the ancestors of the present snapshot. If those have expired, it reads
the table's properties and the rows themselves. A table is a folder of a Hadoop catalog, which is
that folder's parent. Uses SQL and DataFrames alone. Source: Iceberg's `WapUtil`,
`CherryPickOperation`.
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
    """The Iceberg table in the folder `path`, local or a URI."""

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
        """Return whether an Iceberg table is in the folder."""
        return self._spark.catalog.tableExists(self._name)

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Make an empty table. Raises PipelineError if the folder holds other files, or if another
        writer makes the table."""
        self._create(schema, "iceberg", {**_PROPERTIES, **properties}, _CONFLICT)

    def progress(self) -> Progress | None:
        """Return the progress in the newest snapshot that has one; without any, that of properties
        and rows. Return None without a table. Raises PipelineError for a table that this job did
        not make."""
        if not self.exists():
            return None
        snapshots = self._snapshots()
        for snapshot in lineage(snapshots, self._head()):
            progress = said(snapshot, snapshots)
            if progress is not None:
                return progress
        return self._of_rows()

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Stage rows as a snapshot, publish the snapshot, and return the number of rows. Raises
        PipelineError if another writer published the run's number."""
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
        """Return the progress of all snapshots that have not expired, oldest first, up to the
        present snapshot or the given one."""
        snapshots = self._snapshots()
        now = version is None and time is None
        head = self._head() if now else self._as_of(version, time)
        commits = (said(snapshot, snapshots) for snapshot in lineage(snapshots, head))
        return [progress for progress in commits if progress is not None][::-1]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Return the rows, of a version or a time by Iceberg's time travel; a version is a
        snapshot's id. Raises PipelineError if there is no such snapshot."""
        what = self._name
        if version is not None or time is not None:
            what += f" VERSION AS OF {self._as_of(version, time)}"
        return self._sql(f"SELECT * FROM {what}")  # noqa: S608 - quoted

    def size(self) -> Size:
        """Return the size of the present snapshot, from its manifests."""
        files = self._spark.table(f"{self._name}.files")
        of_all = F.coalesce(F.sum("file_size_in_bytes"), F.lit(0)).alias("size")
        (row,) = files.agg(F.count(F.lit(1)).alias("files"), of_all).collect()
        return Size(row.files, row["size"])

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Merge small files by `rewrite_data_files` into files of about `target_bytes`, sorted by
        time; with `everything`, all files."""
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
        """Delete by `expire_snapshots` the snapshots older than `days` days, also staged ones that
        were never published."""
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

    def _last_run(self, kept: Progress) -> int:
        return last_run(lineage(self._snapshots(), self._head()))

    def _head(self) -> int | None:
        refs = self._spark.table(f"{self._name}.refs").where("name = 'main'").collect()
        return refs[0].snapshot_id if refs else None

    def _snapshots(self) -> dict[int, Row]:
        snapshots = self._spark.table(f"{self._name}.snapshots")
        rows = snapshots.select("snapshot_id", "parent_id", "summary").collect()
        return {row.snapshot_id: row for row in rows}

    def _call(self, procedure: str, **arguments: str) -> None:
        given = {"table": self._argument, **arguments}
        listed = ", ".join(f"{name} => {value}" for name, value in given.items())
        self._sql(f"CALL {self._catalog}.system.{procedure}({listed})").collect()


def lineage(snapshots: Mapping[int, Row], head: int | None) -> Sequence[Row]:
    """Return the snapshot `head` and its ancestors, newest first, without those that have
    expired."""
    ancestors = []
    while head is not None and (snapshot := snapshots.get(head)) is not None:
        ancestors.append(snapshot)
        head = snapshot.parent_id
    return ancestors


def said(snapshot: Row, snapshots: Mapping[int, Row]) -> Progress | None:
    """Return the progress of a snapshot, or of the staged snapshot that it published, None without
    any."""
    source = snapshot.summary.get("source-snapshot-id")
    if source is not None and int(source) in snapshots:
        return parsed(snapshots[int(source)].summary.get(KEY))
    return parsed(snapshot.summary.get(KEY))


def last_run(snapshots: Sequence[Row]) -> int:
    """Return the greatest run that these snapshots published, from the end of their `wap.id`; 0 if
    there is none."""
    numbers = (
        str(snapshot.summary.get(key) or "").rpartition(":")[2]
        for snapshot in snapshots
        for key in ("wap.id", "published-wap-id")
    )
    return max((int(number) for number in numbers if number.isdigit()), default=0)

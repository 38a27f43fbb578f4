"""A table of plain Parquet that the job `table` fills: a `LoadedTable` as a `Table`.

Parquet has no commit: the manifests name the files of the table. A program that reads the folder
itself may read half of a run while the run is put in place. Files stay as small as they were
written, and there are no older versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipeline.errors import PipelineError
from pipeline.tables.loaded_table import FOLDERS, LoadedTable, Manifest, layout
from pipeline.tables.progress import KEY, ROWS, Progress, parsed
from pipeline.tables.table import Size, no_versions

PACKAGES: tuple[str, ...] = ()
SETTINGS: dict[str, str] = {}
LOCAL_SETTINGS: dict[str, str] = {}


class ParquetTable:
    """The table of plain Parquet in the folder `path`, local or a URI."""

    def __init__(self, spark: SparkSession, path: str, say: Callable[[str], None] = print) -> None:
        """Open the folder. `say` is not used, because every reader of Parquet reads each table."""
        self.path = path.rstrip("/")
        self._table = LoadedTable(spark, self.path)
        self._properties: dict[str, str] | None = None

    def exists(self) -> bool:
        """Return whether a run has begun to write the table."""
        return self._table.exists()

    def create(self, schema: StructType, properties: Mapping[str, str]) -> None:
        """Keep the properties for the first manifest, which makes the table. Raises PipelineError
        if the folder holds other files."""
        self._table.check_folder()
        self.remember(properties)

    def properties(self) -> dict[str, str]:
        """Return the properties of the newest manifest that has some, with those to be kept."""
        if self._properties is None:
            kept = [
                manifest.properties for manifest in self._table.manifests() if manifest.properties
            ]
            self._properties = dict(kept[-1]) if kept else {}
        return self._properties

    def progress(self) -> Progress | None:
        """Return the progress in the last manifest, None without one, and put the files of its run
        in place. Raises PipelineError if the folder holds other files."""
        manifests = self._table.manifests()
        if not manifests:
            self._table.check_folder()
            return None
        self._table.finish_last()
        return _progress(manifests)

    def expect(self, columns: StructType) -> None:
        """Do nothing, because only the job's manifests say what the columns are."""

    def append(self, rows: DataFrame, progress: Progress) -> int:
        """Add rows with one manifest, and return their number. Raises PipelineError if another load
        has committed the same run."""
        ends = {partition: progress.ends[partition] for partition in progress.starts}
        manifest = self._table.write(
            layout(rows),
            progress.topic,
            progress.cluster_id,
            progress.starts,
            ends,
            {**self.properties(), KEY: progress.text()},
            run=progress.run,
        )
        return self._table.count(manifest)

    def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
        """Return the progress of all runs, oldest first. Raises PipelineError for a version or a
        time."""
        self._refuse_versions(version, time)
        manifests = self._table.manifests()
        return [_progress(manifests[:number]) for number in range(1, len(manifests) + 1)]

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Return the rows of committed runs, without the columns of the folders. Raises
        PipelineError for a version or a time."""
        self._refuse_versions(version, time)
        return self._table.read().drop(*FOLDERS)

    def size(self) -> Size:
        """Return the number of files, without their size, because they are never merged."""
        return Size(sum(len(manifest.files) for manifest in self._table.manifests()), None)

    def merge(self, target_bytes: int, everything: bool) -> None:
        """Raise PipelineError, because Parquet has no merge and no versions."""
        raise PipelineError(f"{self.path} is of plain Parquet, whose files are not merged")

    def remember(self, properties: Mapping[str, str]) -> None:
        """Keep the properties for the next manifest; each manifest has its own progress already."""
        self._properties = {**self.properties(), **properties}

    def forget(self, days: int) -> None:
        """Raise PipelineError, because Parquet has no merge and no versions."""
        raise no_versions(self.path)

    def _refuse_versions(self, version: str | None, time: str | None) -> None:
        if version is not None or time is not None:
            raise no_versions(self.path)


def _progress(manifests: list[Manifest]) -> Progress:
    """Return the progress in the last manifest; manifests of older versions keep none."""
    last = manifests[-1]
    kept = parsed((last.properties or {}).get(KEY))
    ends: dict[int, int] = {}
    for manifest in manifests:
        ends.update({int(partition): end for partition, end in manifest.ends.items()})
    return Progress(
        topic=last.topic,
        cluster_id=last.cluster_id,
        run=last.run,
        starts={int(partition): start for partition, start in last.starts.items()},
        ends=ends,
        of=ROWS if kept is None else kept.of,
        topic_id=None if kept is None else kept.topic_id,
        began={} if kept is None else kept.began,
        gaps=() if kept is None else kept.gaps,
        epochs={} if kept is None else kept.epochs,
    )
